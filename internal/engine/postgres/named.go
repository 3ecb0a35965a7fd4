package postgres

import (
	"net/url"

	"plumb/internal/host/trust"
)

// Named is a server and a login, as a data source name gives them.
type Named struct {
	Network, Address         string // "unix" or "tcp"; socket file or host:port
	Host, Port               string // as a password file names them
	User, Password, Database string // "" for what is not given
	SSLMode                  string
}

// ReadDSN reads a URL: postgres://user:password@host:port/database. Its error
// does not repeat it.
func ReadDSN(dsn string) (Named, error) {
	t, err := Given(dsn)
	if err != nil {
		return Named{}, err
	}
	c, err := fromDSN(dsn)
	if err != nil {
		return Named{}, err
	}
	n := Named{Network: t.Network, Address: t.Address, User: c.user, Password: c.password, Database: c.database, SSLMode: c.sslmode}
	if u, err := url.Parse(dsn); err == nil {
		n.Host, n.Port = u.Hostname(), u.Port()
	}
	return n, nil
}

// PasswordFor finds a password in a password file: that of the first line
// that suits, as libpq does; "" for none.
func PasswordFor(text []byte, name, port, database, user string) string {
	for _, e := range parsePassfile(text) {
		suits := func(pattern, value string) bool { return pattern == "*" || pattern == value }
		if suits(e.host, name) && suits(e.port, port) && suits(e.database, database) && suits(e.user, user) {
			return e.password
		}
	}
	return ""
}

// Verified reports whether a data source name makes sure that it is the server
// it names who answers: over a network, by TLS with a verified certificate.
func Verified(dsn string) bool {
	n, err := ReadDSN(dsn)
	return err == nil && (n.Network == "unix" || trust.IsLoopback(n.Address) || n.SSLMode == "verify-full")
}
