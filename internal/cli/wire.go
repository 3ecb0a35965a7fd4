package cli

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/engine/mongo"
	"plumb/internal/engine/mysql"
	"plumb/internal/engine/postgres"
	"plumb/internal/engine/proxysql"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/storage/block"
	"plumb/internal/storage/filesystem"
	"plumb/internal/storage/zfs"
	"plumb/internal/system/kernel"
	"plumb/internal/system/process"
)

// This file is the one list of adapters: a new engine or storage is a line
// in each of these functions.

// programs tells the process probe which program serves what. The names are
// the kernel's (/proc/PID/comm), at most 15 bytes.
func programs() map[string]string {
	return map[string]string{
		"mysqld": "mysql", "mariadbd": "mysql", "postgres": "postgres", "postmaster": "postgres",
		"mongod": "mongo", "mongos": "mongo", "proxysql": "proxysql",
	}
}

// phases lists the probes. Those of one phase run at the same time and see
// what the earlier phases saw.
func phases(cat *catalog.Catalog, g given) [][]observe.Probe {
	return [][]observe.Probe{
		{kernel.New(), process.New(programs()), block.Probe{}, filesystem.Probe{}, zfs.Probe{}},
		{mysql.NewProbe(cat, g.target("mysql")), postgres.NewProbe(cat, g.target("postgres")),
			mongo.Probe{Remote: g.address("mongo")}, proxysql.Probe{}},
	}
}

// dialers lists who opens sessions to which engine.
func dialers(g given) map[string]host.Dialer {
	return map[string]host.Dialer{
		"mysql":    mysql.Dialer{},
		"postgres": postgres.Dialer{},
		"mongo":    mongo.NewDialer(g.nameFor("mongo")),
		"proxysql": proxysql.Dialer{},
	}
}

// setters lists who sets the knobs of which kinds.
func setters(cat *catalog.Catalog, g given) []change.Setter {
	return []change.Setter{kernel.Setter{}, process.Setter{}, block.Setter{}, filesystem.Setter{}, zfs.Setter{}, mongo.NewSetter(mongo.Probe{Remote: g.address("mongo")}),
		mysql.NewSetter(cat, g.target("mysql")), postgres.NewSetter(cat, g.target("postgres"))}
}

// given is the server that --dsn names; the zero value when it names none.
type given struct {
	engine string
	dsn    string // in the form the engine's driver reads; it may hold a password
	at     host.Target
}

// target gives the server to the probe of its engine, and nil to the others.
func (g given) target(engine string) *host.Target {
	if g.engine != engine {
		return nil
	}
	return &g.at
}

// named is what a recording keeps of the server: everything but the login.
func (g given) named() host.Given {
	return host.Given{Engine: g.engine, Name: g.at.Name, Network: g.at.Network, Address: g.at.Address}
}

// givenOnTape is the server that --dsn named when a tape was recorded.
func givenOnTape(n host.Given) given {
	return given{engine: n.Engine, at: host.Target{Engine: n.Engine, Name: n.Name, Network: n.Network, Address: n.Address,
		Logins: []host.Login{{DSN: true}}}}
}

func (g given) address(engine string) string {
	if g.engine != engine {
		return ""
	}
	return g.at.Address
}

func (g given) nameFor(engine string) string {
	if g.engine != engine {
		return ""
	}
	return g.dsn
}

// verified reports whether nobody can pass for the server that was given.
func (g given) verified() bool {
	switch g.engine {
	case "mysql":
		return mysql.Verified(g.dsn)
	case "postgres":
		return postgres.Verified(g.dsn)
	}
	return mongo.Verified(g.dsn)
}

// readDSN tells the engine by the scheme; what the engine makes of the name is
// its own affair.
func readDSN(dsn string) (g given, err error) {
	if dsn == "" {
		return g, nil
	}
	if g.engine, g.dsn, err = engineOf(dsn); err != nil {
		return given{}, err
	}
	switch g.engine {
	case "mysql":
		g.at, err = mysql.Given(g.dsn)
	case "mongo":
		g.at.Address, err = mongoAddress(g.dsn)
	case "postgres":
		g.at, err = postgres.Given(g.dsn)
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
	scheme, _, ok := strings.Cut(dsn, "://")
	switch {
	case !ok:
		return "mysql", dsn, nil
	case scheme == "postgres" || scheme == "postgresql":
		return "postgres", dsn, nil
	case scheme == "mongodb" || scheme == "mongodb+srv":
		return "mongo", dsn, nil
	case scheme != "mysql" && scheme != "mariadb":
		return "", "", fmt.Errorf("no engine is known by %s://", scheme)
	}
	forDriver, err = mysql.OfURL(dsn)
	if err != nil {
		return "", "", fmt.Errorf("%w: want %s://user:password@host:port/ or %s://user:password@/?socket=/path", err, scheme, scheme)
	}
	return "mysql", forDriver, nil
}
