package load

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/engine/dsn"
	"plumb/internal/hint"
	"plumb/internal/load"
	"plumb/internal/product"
)

// login says which server is put under load, with sysbench's options or one
// data source name.
type login struct {
	dsn     string
	driver  string
	my      place
	pg      place
	text    string // db-ps-mode
	ignore  []string
	isolate string
	timeout time.Duration
}

// place is one server in sysbench's options.
type place struct {
	host, socket, user, password, database, tls string
	port                                        int
}

func (l *login) flags(c *cobra.Command) {
	fl := c.Flags()
	shell.SecretVar(c, &l.dsn, "dsn", "", "the server, as a `URL`: mysql://user@host:3306/db or postgres://user@host/db; default: $PLUMB_DSN")
	fl.StringVar(&l.driver, "db-driver", "", "mysql or pgsql, if no other option says which")
	fl.StringVar(&l.my.host, "mysql-host", "", "`NAME` of the host")
	fl.IntVar(&l.my.port, "mysql-port", 3306, "its `PORT`")
	fl.StringVar(&l.my.socket, "mysql-socket", "", "`PATH` of the socket")
	fl.StringVar(&l.my.user, "mysql-user", "", "log in as `NAME`")
	fl.StringVar(&l.my.password, "mysql-password", "", "its `PASSWORD`; MYSQL_PWD and ~/.my.cnf do not show in ps")
	fl.StringVar(&l.my.database, "mysql-db", "sbtest", "the `DATABASE`")
	fl.StringVar(&l.my.tls, "mysql-ssl", "disabled", "disabled, preferred, required or verify")
	fl.StringVar(&l.pg.host, "pgsql-host", "", "`NAME` of the host, or directory of the socket")
	fl.IntVar(&l.pg.port, "pgsql-port", 5432, "its `PORT`")
	fl.StringVar(&l.pg.user, "pgsql-user", "", "log in as `NAME`")
	fl.StringVar(&l.pg.password, "pgsql-password", "", "its `PASSWORD`; PGPASSWORD and ~/.pgpass do not show in ps")
	fl.StringVar(&l.pg.database, "pgsql-db", "sbtest", "the `DATABASE`")
	fl.StringVar(&l.pg.tls, "pgsql-sslmode", "disable", "disable, prefer, require or verify-full")
	fl.StringVar(&l.text, "db-ps-mode", "auto", "auto for prepared statements, disable for the text protocol")
	fl.StringSliceVar(&l.ignore, "mysql-ignore-errors", nil, "`CODES` after which a transaction is tried again")
	fl.StringVar(&l.isolate, "isolation", "", "isolation `LEVEL` of the sessions: RC, RR or SER; default: the server's")
	fl.DurationVar(&l.timeout, "timeout", 10*time.Second, "for connecting")
	hide(c, "db-driver", "mysql-host", "mysql-port", "mysql-socket", "mysql-user", "mysql-password", "mysql-db", "mysql-ssl",
		"pgsql-host", "pgsql-port", "pgsql-user", "pgsql-password", "pgsql-db", "pgsql-sslmode", "db-ps-mode", "mysql-ignore-errors", "timeout")
	shell.Offer(c, map[string]shell.Words{
		"db-driver":  func() []string { return []string{"mysql", "pgsql"} },
		"db-ps-mode": func() []string { return []string{"auto", "disable"} },
		"isolation":  func() []string { return []string{"RC", "RR", "SER"} },
	})
}

// loginHelp is the part of a help page that stands for the hidden flags.
const loginHelp = `The server: --dsn, or sysbench's options: --mysql-socket, --mysql-host, -port,
-user, -password, -db, -ssl, or --pgsql-host, ...; --db-driver=pgsql.
A password is also taken from MYSQL_PWD, PGPASSWORD, ~/.my.cnf or ~/.pgpass. One
from a file goes only to a server of root or of the database's own account on this
machine, to one whose certificate is verified, or to another machine that you named.`

// resolve reads the options of one command.
func (l *login) resolve(changed func(string) bool) (dsn.Address, error) {
	if !l.named(changed) {
		l.dsn = shell.OrEnvironment(l.dsn)
	}
	var at dsn.Address
	var err error
	switch {
	case l.dsn != "":
		at, err = dsn.AddressOf(l.dsn)
	case l.isPostgres(changed):
		at, err = l.postgres()
	case l.driver != "" && product.OfScheme(l.driver).Kind != product.MySQL:
		err = hint.Usage(fmt.Sprintf("--db-driver %s is not known", l.driver), "use mysql or pgsql")
	default:
		at, err = l.mysql(changed)
	}
	if err != nil {
		return at, err
	}
	if l.text != "auto" && l.text != "disable" {
		return at, hint.Usage(fmt.Sprintf("--db-ps-mode %s is not known", l.text), "use auto or disable")
	}
	home, _ := os.UserHomeDir()
	at.Fill(dsn.Home{Dir: home, Getenv: os.Getenv, ReadFile: os.ReadFile}, l.dsn != "" || at.Network == "tcp" || changed("mysql-socket") || changed("pgsql-host"))
	if at.User == "" && l.dsn != "" {
		at.User = systemUser()
	}
	at.User = cmp.Or(at.User, "sbtest") // as sysbench
	return at, nil
}

// named reports whether the command line names a server at all.
func (l *login) named(changed func(string) bool) bool {
	if l.dsn != "" {
		return true
	}
	for _, f := range []string{"db-driver", "mysql-host", "mysql-port", "mysql-socket", "mysql-user", "pgsql-host", "pgsql-port", "pgsql-user"} {
		if changed(f) {
			return true
		}
	}
	return false
}

// server makes the server that the options name. It does not connect.
func (v *verbs) server(l *login, changed func(string) bool) (load.Server, error) {
	at, err := l.resolve(changed)
	if err != nil {
		return nil, err
	}
	secure, err := at.Secure()
	if err != nil {
		return nil, err
	}
	level, err := dsn.Isolation(l.isolate)
	if err != nil {
		return nil, err
	}
	return v.Server(at.Engine, load.Login{Network: at.Network, Address: at.Address, User: at.User, Password: at.Password, Database: at.Database,
		TLS: secure, Text: l.text == "disable", RetryCodes: l.ignore, Timeout: l.timeout, Isolation: level, Secret: at.Secret}), nil
}

func (l *login) isPostgres(changed func(string) bool) bool {
	if l.driver != "" {
		return l.driver == "pgsql" || product.OfScheme(l.driver).Kind == product.Postgres
	}
	return changed("pgsql-host") || changed("pgsql-port") || changed("pgsql-user") || changed("pgsql-db")
}

func (l *login) postgres() (dsn.Address, error) {
	p := l.pg
	at := dsn.Address{Engine: product.Postgres, Hostname: cmp.Or(p.host, "localhost"), User: cmp.Or(p.user, os.Getenv("PGUSER")),
		Password: p.password, Database: p.database, TLS: p.tls}
	port := strconv.Itoa(p.port)
	if strings.HasPrefix(p.host, "/") {
		at.Network, at.Address, at.Hostname = "unix", strings.TrimSuffix(p.host, "/")+"/.s.PGSQL."+port, "localhost"
		return at, nil
	}
	at.Network, at.Address = "tcp", dsn.HostPort(at.Hostname, port)
	return at, nil
}

// mysql does what sysbench's client library does: localhost means the socket,
// unless a port is asked for.
func (l *login) mysql(changed func(string) bool) (dsn.Address, error) {
	p := l.my
	at := dsn.Address{Engine: product.MySQL, Hostname: cmp.Or(p.host, "localhost"), User: p.user, Password: p.password, Database: p.database, TLS: p.tls}
	if strings.Contains(at.Hostname, ",") {
		return at, hint.Usage("--mysql-host names several servers", "name one: a result for several servers together means nothing")
	}
	if p.socket != "" || at.Hostname == "localhost" && !changed("mysql-port") {
		at.Network, at.Address = "unix", cmp.Or(p.socket, mysqlSocket())
		return at, nil
	}
	at.Network, at.Address = "tcp", dsn.HostPort(at.Hostname, strconv.Itoa(p.port))
	return at, nil
}

// mysqlSocket is where client programs look for a local server.
func mysqlSocket() string {
	for _, path := range []string{"/run/mysqld/mysqld.sock", "/var/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock"} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return "/run/mysqld/mysqld.sock"
}

func systemUser() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "root"
}
