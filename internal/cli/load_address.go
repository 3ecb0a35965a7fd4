package cli

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"plumb/internal/engine/mysql"
	"plumb/internal/engine/postgres"
	"plumb/internal/hint"
	"plumb/internal/host/trust"
)

const dsnForms = "mysql://user@host:3306/db, mysql://user@/db?socket=/path or postgres://user@host:5432/db"

// addressOf reads a data source name.
func addressOf(dsn string) (address, error) {
	scheme, _, isURL := strings.Cut(dsn, "://")
	wrong := func(why string) error { return hint.Usage("read --dsn: "+why, dsnForms) }
	switch {
	case !isURL:
		n, err := mysql.ReadDSN(dsn)
		if err != nil {
			return address{}, wrong(err.Error())
		}
		return address{engine: "mysql", network: n.Network, address: n.Address, user: n.User, password: n.Password, database: n.Database, tls: mysqlTLS(n.TLS)}, nil
	case scheme == "postgres" || scheme == "postgresql":
		n, err := postgres.ReadDSN(dsn)
		if err != nil {
			return address{}, wrong(err.Error())
		}
		return address{engine: "postgres", network: n.Network, address: n.Address, hostname: cmp.Or(n.Host, "localhost"),
			user: n.User, password: n.Password, database: n.Database, tls: cmp.Or(n.SSLMode, "disable")}, nil
	case scheme != "mysql" && scheme != "mariadb":
		return address{}, wrong("load knows no engine by " + scheme + "://")
	}
	forDriver, err := mysql.OfURL(dsn)
	if err != nil {
		return address{}, wrong(err.Error())
	}
	at, err := addressOf(forDriver)
	if at.network == "tcp" {
		at.hostname = strings.Trim(at.address[:strings.LastIndexByte(at.address, ':')], "[]")
	}
	return at, err
}

// hostPort joins a host and a port; an address of IPv6 gets its brackets.
func hostPort(name, port string) string {
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

// fillIn takes what the command line did not give from the places where the
// client programs look, and notes where the password is from. named tells that
// a person named the server: one that is only where servers usually are may be
// anybody's, whoever gave the password.
func (at *address) fillIn(named bool) {
	given := at.password != ""
	home, _ := os.UserHomeDir()
	file := ""
	if at.engine == "mysql" {
		file = filepath.Join(home, ".my.cnf")
		given = at.fromOptionFile(file) || given
	} else {
		file = cmp.Or(os.Getenv("PGPASSFILE"), filepath.Join(home, ".pgpass"))
		given = at.fromPasswordFile(file) || given
	}
	switch {
	case at.password == "":
	case !given:
		at.secret = trust.Secret{File: file, Named: named}
	case !named:
		at.secret = trust.Secret{File: "the command line or the environment", Named: named}
	}
}

// fromOptionFile fills in what ~/.my.cnf and MYSQL_PWD have; given tells that
// the password was in the latter.
func (at *address) fromOptionFile(name string) (given bool) {
	text, _ := os.ReadFile(name)
	file := mysql.ClientLogin(text)
	at.password = cmp.Or(at.password, os.Getenv("MYSQL_PWD"))
	given = at.password != ""
	if at.user == "" || at.user == file.User {
		at.password = cmp.Or(at.password, file.Password)
	}
	at.user = cmp.Or(at.user, file.User)
	return given
}

// fromPasswordFile fills in what PGPASSWORD and ~/.pgpass have; given tells
// that the password was in the former.
func (at *address) fromPasswordFile(name string) (given bool) {
	at.password = cmp.Or(at.password, os.Getenv("PGPASSWORD"))
	if at.password != "" {
		return true
	}
	text, _ := os.ReadFile(name)
	port := at.address[strings.LastIndexByte(at.address, ':')+1:]
	if at.network == "unix" {
		port = at.address[strings.LastIndexByte(at.address, '.')+1:]
	}
	at.password = postgres.PasswordFor(text, at.hostname, port, at.database, at.user)
	return false
}

// secure makes the TLS settings; nil for none.
func (at *address) secure() (*tls.Config, error) {
	if at.network == "unix" {
		return nil, nil
	}
	switch strings.ToLower(at.tls) {
	case "", "disabled", "disable", "false", "off", "preferred", "prefer", "allow":
		return nil, nil // sysbench's default; what is preferred must not differ from run to run
	case "required", "require", "on":
		return &tls.Config{InsecureSkipVerify: true}, nil //nolint:gosec // asked for: encrypted, the server not verified
	case "verify", "verify-full", "verify-ca", "verify_identity", "verify_ca", "true":
		return &tls.Config{ServerName: at.hostname}, nil
	}
	return nil, hint.Usage(fmt.Sprintf("TLS %q is not known", at.tls), "want disabled, required or verify")
}
