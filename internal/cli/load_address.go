package cli

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"plumb/internal/engine/mysql"
	"plumb/internal/engine/postgres"
)

const dsnForms = "mysql://user@host:3306/db, mysql://user@/db?socket=/path or postgres://user@host:5432/db"

// addressOf reads a data source name.
func addressOf(dsn string) (address, error) {
	scheme, _, isURL := strings.Cut(dsn, "://")
	wrong := func(why string) error { return &usageError{"read --dsn: " + why, dsnForms} }
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
	u, err := url.Parse(dsn) // its error can hold the password
	if err != nil {
		return address{}, wrong("it is no URL")
	}
	password, _ := u.User.Password()
	at := address{engine: "mysql", user: u.User.Username(), password: password, database: strings.TrimPrefix(u.Path, "/"),
		hostname: u.Hostname(), tls: mysqlTLS(u.Query().Get("tls"))}
	if socket := u.Query().Get("socket"); socket != "" {
		at.network, at.address = "unix", socket
		return at, nil
	}
	if at.hostname == "" {
		return address{}, wrong("it names neither a host nor a socket")
	}
	at.network, at.address = "tcp", hostPort(at.hostname, cmp.Or(u.Port(), "3306"))
	return at, nil
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
// client programs look.
func (at *address) fillIn() {
	home, _ := os.UserHomeDir()
	if at.engine == "mysql" {
		text, _ := os.ReadFile(filepath.Join(home, ".my.cnf"))
		file := mysql.ClientLogin(text)
		at.password = cmp.Or(at.password, os.Getenv("MYSQL_PWD"))
		if at.user == "" || at.user == file.User {
			at.password = cmp.Or(at.password, file.Password)
		}
		at.user = cmp.Or(at.user, file.User)
		return
	}
	at.password = cmp.Or(at.password, os.Getenv("PGPASSWORD"))
	if at.password != "" {
		return
	}
	text, _ := os.ReadFile(cmp.Or(os.Getenv("PGPASSFILE"), filepath.Join(home, ".pgpass")))
	port := at.address[strings.LastIndexByte(at.address, ':')+1:]
	if at.network == "unix" {
		port = at.address[strings.LastIndexByte(at.address, '.')+1:]
	}
	at.password = postgres.PasswordFor(text, at.hostname, port, at.database, at.user)
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
	return nil, &usageError{fmt.Sprintf("TLS %q is not known", at.tls), "want disabled, required or verify"}
}
