package mysql

import (
	"errors"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// Named is a server and a login, as a data source name or an option file
// gives them. What is not given is empty.
type Named struct {
	Network, Address         string // "unix" or "tcp"; socket or host:port
	User, Password, Database string
	TLS                      string // as the driver names it: "", "true", "skip-verify", "preferred"
}

// ReadDSN reads a data source name of the driver:
// user:password@unix(/path)/database. Its error does not repeat it.
func ReadDSN(dsn string) (Named, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return Named{}, errors.New("want user:password@tcp(host:port)/database")
	}
	return Named{cfg.Net, cfg.Addr, cfg.User, cfg.Passwd, cfg.DBName, cfg.TLSConfig}, nil
}

// ClientLogin reads user, password and socket from the groups of an option
// file that every client program reads. Address is a socket or empty.
func ClientLogin(text []byte) Named {
	var n Named
	lines, _, _ := parseOptions(text)
	for _, o := range lines {
		if o.group != "client" && o.group != "client-mariadb" && o.group != "client-server" {
			continue
		}
		switch strings.ReplaceAll(strings.ToLower(o.name), "-", "_") {
		case "user":
			n.User = o.value
		case "password":
			n.Password = o.value
		case "socket":
			n.Network, n.Address = "unix", o.value
		}
	}
	return n
}
