package postgres

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"plumb/internal/host"
)

// credentials are what one login comes to.
type credentials struct {
	user, password, database              string
	sslmode, sslcert, sslkey, sslrootcert string
}

var errDSN = errors.New("read the data source name: want postgres://user:password@host:port/database")

// Given makes the target of a data source name. The target holds no secret.
func Given(dsn string) (host.Target, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return host.Target{}, errDSN // url.Parse's error can hold the password
	}
	name, port := u.Hostname(), u.Port()
	if h := u.Query().Get("host"); h != "" {
		name = h
	}
	if p := u.Query().Get("port"); p != "" {
		port = p
	}
	if port == "" {
		port = "5432"
	}
	t := host.Target{Engine: "postgres", Network: "tcp", Address: net.JoinHostPort(name, port), Logins: []host.Login{{DSN: true}}}
	switch {
	case strings.HasPrefix(name, "/"):
		t.Network, t.Address = "unix", socketPath(name, port)
	case name == "":
		t.Address = net.JoinHostPort("localhost", port)
	}
	t.Name = "postgres:" + t.Address
	return t, nil
}

func socketPath(dir, port string) string { return strings.TrimSuffix(dir, "/") + "/.s.PGSQL." + port }

// credentialsFor reads what one login needs.
func credentialsFor(t host.Target, l host.Login, secret func(string) ([]byte, error)) (credentials, error) {
	if l.DSN {
		dsn, err := secret(host.SecretDSN)
		if err != nil {
			return credentials{}, fmt.Errorf("read the data source name: %w", err)
		}
		c, err := fromDSN(string(dsn))
		c.database = cmp.Or(l.Database, c.database) // a way into another one: see [In]
		return c, err
	}
	c := credentials{user: l.User, database: l.Database}
	if c.database == "" {
		c.database = "postgres"
	}
	if l.File == "" {
		return c, nil
	}
	text, err := secret(l.File)
	if err != nil {
		return c, fmt.Errorf("read login from %s: %w", l.File, err)
	}
	name, port, err := net.SplitHostPort(t.Address)
	if t.Network == "unix" {
		name, port, err = "localhost", t.Address[strings.LastIndexByte(t.Address, '.')+1:], nil
	}
	if err != nil {
		return c, fmt.Errorf("read the address %s: %w", t.Address, err)
	}
	for _, e := range parsePassfile(text) {
		general := e.database == "*" || e.database == "replication"
		if e.suits(name, port, l.User) && (general || l.Database == "" || l.Database == e.database) {
			c.user, c.password = e.user, e.password
			if !general {
				c.database = e.database
			}
			return c, nil
		}
	}
	return c, fmt.Errorf("read login from %s: no line for %s:%s that names a user", l.File, name, port)
}

func fromDSN(dsn string) (credentials, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return credentials{}, errDSN
	}
	q := u.Query()
	c := credentials{user: u.User.Username(), database: strings.TrimPrefix(u.Path, "/"), sslmode: q.Get("sslmode"),
		sslcert: q.Get("sslcert"), sslkey: q.Get("sslkey"), sslrootcert: q.Get("sslrootcert")}
	c.password, _ = u.User.Password()
	if v := q.Get("user"); v != "" {
		c.user = v
	}
	if v := q.Get("password"); v != "" {
		c.password = v
	}
	if c.user == "" {
		c.user = "postgres"
	}
	if c.database == "" {
		c.database = "postgres"
	}
	return c, nil
}

// passEntry is one line of a password file.
type passEntry struct{ host, port, database, user, password string }

func (e passEntry) suits(name, port, user string) bool {
	same := name == e.host || isLocal(name) && isLocal(e.host)
	return (e.host == "*" || same) && (e.port == "*" || e.port == port) && e.user != "*" && (user == "" || e.user == user)
}

func isLocal(name string) bool { return name == "localhost" || name == "127.0.0.1" || name == "::1" }

// parsePassfile reads host:port:database:user:password lines; a backslash
// takes the meaning from the next byte. Lines that are not whole are left out.
func parsePassfile(text []byte) []passEntry {
	var out []passEntry
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		var fields []string
		var field strings.Builder
		for i := 0; i < len(line); i++ {
			switch {
			case line[i] == '\\' && i+1 < len(line):
				i++
				field.WriteByte(line[i])
			case line[i] == ':' && len(fields) < 4:
				fields = append(fields, field.String())
				field.Reset()
			default:
				field.WriteByte(line[i])
			}
		}
		if fields = append(fields, field.String()); len(fields) == 5 {
			out = append(out, passEntry{fields[0], fields[1], fields[2], fields[3], fields[4]})
		}
	}
	return out
}
