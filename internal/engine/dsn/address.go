package dsn

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"plumb/internal/engine/mysql"
	"plumb/internal/engine/postgres"
	"plumb/internal/hint"
	"plumb/internal/host/trust"
	"plumb/internal/product"
)

const dsnForms = "mysql://user@host:3306/db, mysql://user@/db?socket=/path or postgres://user@host:5432/db"

// Address is where to log in as whom, whatever way it was given.
type Address struct {
	Engine, Network, Address      string
	User, Password, Database, TLS string
	Hostname                      string // as the user wrote it
	Secret                        trust.Secret
}

// AddressOf reads a data source name.
func AddressOf(dsn string) (Address, error) {
	wrong := func(err error) (Address, error) { return Address{}, hint.Usage("read --dsn: "+err.Error(), dsnForms) }
	engine, forDriver, err := engineOf(dsn)
	if err != nil {
		return wrong(err)
	}
	switch engine {
	case product.MySQL:
		n, err := mysql.ReadDSN(forDriver)
		if err != nil {
			return wrong(err)
		}
		at := Address{Engine: engine, Network: n.Network, Address: n.Address, User: n.User, Password: n.Password, Database: n.Database, TLS: mysqlTLS(n.TLS)}
		if forDriver != dsn && at.Network == "tcp" {
			at.Hostname = strings.Trim(at.Address[:strings.LastIndexByte(at.Address, ':')], "[]")
		}
		return at, nil
	case product.Postgres:
		n, err := postgres.ReadDSN(dsn)
		if err != nil {
			return wrong(err)
		}
		return Address{Engine: engine, Network: n.Network, Address: n.Address, Hostname: cmp.Or(n.Host, "localhost"),
			User: n.User, Password: n.Password, Database: n.Database, TLS: cmp.Or(n.SSLMode, "disable")}, nil
	}
	return wrong(errors.New("load knows no engine by " + dsn[:strings.Index(dsn, "://")+3]))
}

// HostPort joins a host and a port; an address of IPv6 gets its brackets.
func HostPort(name, port string) string {
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	return name + ":" + port
}

// mysqlTLS gives sysbench's word for the driver's.
func mysqlTLS(driver string) string {
	switch driver {
	case "true":
		return "verify"
	case "skip-verify":
		return "required"
	}
	return cmp.Or(driver, "disabled")
}

// Home is where the client programs look for what the command line does not
// give.
type Home struct {
	Dir      string // the user's own
	Getenv   func(string) string
	ReadFile func(string) ([]byte, error)
}

// Fill takes what the command line did not give from the places where the
// client programs look, and notes where the password is from. named tells that
// a person named the server: one that is only where servers usually are may be
// anybody's, whoever gave the password.
func (at *Address) Fill(from Home, named bool) {
	given := at.Password != ""
	file := ""
	if at.Engine == product.MySQL {
		file = filepath.Join(from.Dir, ".my.cnf")
		given = at.fromOptionFile(from, file) || given
	} else {
		file = cmp.Or(from.Getenv("PGPASSFILE"), filepath.Join(from.Dir, ".pgpass"))
		given = at.fromPasswordFile(from, file) || given
	}
	switch {
	case at.Password == "":
	case !given:
		at.Secret = trust.Secret{File: file, Named: named}
	case !named:
		at.Secret = trust.Secret{File: "the command line or the environment", Named: named}
	}
}

// fromOptionFile fills in what ~/.my.cnf and MYSQL_PWD have; given tells that
// the password was in the latter.
func (at *Address) fromOptionFile(from Home, name string) (given bool) {
	text, _ := from.ReadFile(name)
	file := mysql.ClientLogin(text)
	at.Password = cmp.Or(at.Password, from.Getenv("MYSQL_PWD"))
	given = at.Password != ""
	if at.User == "" || at.User == file.User {
		at.Password = cmp.Or(at.Password, file.Password)
	}
	at.User = cmp.Or(at.User, file.User)
	return given
}

// fromPasswordFile fills in what PGPASSWORD and ~/.pgpass have; given tells
// that the password was in the former.
func (at *Address) fromPasswordFile(from Home, name string) (given bool) {
	at.Password = cmp.Or(at.Password, from.Getenv("PGPASSWORD"))
	if at.Password != "" {
		return true
	}
	text, _ := from.ReadFile(name)
	port := at.Address[strings.LastIndexByte(at.Address, ':')+1:]
	if at.Network == "unix" {
		port = at.Address[strings.LastIndexByte(at.Address, '.')+1:]
	}
	at.Password = postgres.PasswordFor(text, at.Hostname, port, at.Database, at.User)
	return false
}

// Secure makes the TLS settings; nil for none.
func (at *Address) Secure() (*tls.Config, error) {
	if at.Network == "unix" {
		return nil, nil
	}
	switch strings.ToLower(at.TLS) {
	case "", "disabled", "disable", "false", "off", "preferred", "prefer", "allow":
		return nil, nil // sysbench's default; what is preferred must not differ from run to run
	case "required", "require", "on":
		return &tls.Config{InsecureSkipVerify: true}, nil //nolint:gosec // asked for: encrypted, the server not verified
	case "verify", "verify-full", "verify-ca", "verify_identity", "verify_ca", "true":
		return &tls.Config{ServerName: at.Hostname}, nil
	}
	return nil, hint.Usage(fmt.Sprintf("TLS %q is not known", at.TLS), "use disabled, required or verify")
}

// Isolation gives a level's full name.
func Isolation(word string) (string, error) {
	switch strings.ToUpper(strings.NewReplacer("-", "", " ", "", "_", "").Replace(word)) {
	case "":
		return "", nil
	case "RC", "READCOMMITTED":
		return "read committed", nil
	case "RR", "REPEATABLEREAD":
		return "repeatable read", nil
	case "SER", "SERIALIZABLE", "SERIALISABLE":
		return "serializable", nil
	case "RU", "READUNCOMMITTED":
		return "read uncommitted", nil
	}
	return "", hint.Usage("--isolation "+word+" is not known", "use RC, RR or SER")
}
