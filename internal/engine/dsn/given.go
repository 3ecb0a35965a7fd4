package dsn

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"plumb/internal/engine/mongo"
	"plumb/internal/engine/mysql"
	"plumb/internal/engine/postgres"
	"plumb/internal/host"
	"plumb/internal/product"
)

// Given is the server that a data source name names; the zero value when it names none.
type Given struct {
	Engine string
	DSN    string // in the form the engine's driver reads; it may hold a password
	At     host.Target
}

// Target gives the server to the probe of its engine, and nil to the others.
func (g Given) Target(engine string) *host.Target {
	if g.Engine != engine {
		return nil
	}
	return &g.At
}

// Named is what a recording keeps of the server: everything but the login.
func (g Given) Named() host.Given {
	return host.Given{Engine: g.Engine, Name: g.At.Name, Network: g.At.Network, Address: g.At.Address}
}

// OnTape is the server that was named when a tape was recorded.
func OnTape(n host.Given) Given {
	return Given{Engine: n.Engine, At: host.Target{Engine: n.Engine, Name: n.Name, Network: n.Network, Address: n.Address,
		Logins: []host.Login{{DSN: true}}}}
}

// Address is that of the server, to its engine, and "" to the others.
func (g Given) Address(engine string) string {
	if g.Engine != engine {
		return ""
	}
	return g.At.Address
}

// NameFor is the data source name, to its engine, and "" to the others.
func (g Given) NameFor(engine string) string {
	if g.Engine != engine {
		return ""
	}
	return g.DSN
}

// Verified reports whether nobody can pass for the server that was given.
func (g Given) Verified() bool {
	switch g.Engine {
	case product.MySQL:
		return mysql.Verified(g.DSN)
	case product.Postgres:
		return postgres.Verified(g.DSN)
	}
	return mongo.Verified(g.DSN)
}

// Read tells the engine by the scheme; what the engine makes of the name is
// its own affair.
func Read(dsn string) (g Given, err error) {
	if dsn == "" {
		return g, nil
	}
	if g.Engine, g.DSN, err = engineOf(dsn); err != nil {
		return Given{}, err
	}
	switch g.Engine {
	case product.MySQL:
		g.At, err = mysql.Given(g.DSN)
	case product.Mongo:
		g.At.Address, err = mongoAddress(g.DSN)
	case product.Postgres:
		g.At, err = postgres.Given(g.DSN)
	}
	return g, err
}

// mongoAddress gives the first host of a MongoDB URL. The driver reads the
// rest.
func mongoAddress(dsn string) (string, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Hostname() == "" {
		return "", errors.New("want mongodb://user:password@host:port/") // url's error can hold the password
	}
	first, _, _ := strings.Cut(u.Host, ",")
	if u.Port() == "" && !strings.Contains(first, ":") {
		first += ":27017"
	}
	return first, nil
}

// engineOf tells the engine of a data source name, and turns the URL form of
// MySQL into the one its driver reads.
func engineOf(dsn string) (engine, forDriver string, err error) {
	scheme, _, isURL := strings.Cut(dsn, "://")
	engine = product.OfScheme(scheme).Kind
	switch {
	case !isURL:
		return product.MySQL, dsn, nil
	case engine == "":
		return "", "", fmt.Errorf("no engine is known by %s://", scheme)
	case engine != product.MySQL:
		return engine, dsn, nil
	}
	forDriver, err = mysql.OfURL(dsn)
	if err != nil {
		return "", "", fmt.Errorf("%w: want %s://user:password@host:port/ or %s://user:password@/?socket=/path", err, scheme, scheme)
	}
	return engine, forDriver, nil
}
