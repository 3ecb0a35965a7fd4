package cli

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"plumb/internal/budget"
	"plumb/internal/catalog"
	"plumb/internal/engine/mysql"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
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
func phases(cat *catalog.Catalog, given map[string]*host.Target) [][]observe.Probe {
	return [][]observe.Probe{
		{kernel.New(), process.New(programs()), block.Probe{}, filesystem.Probe{}, zfs.Probe{}},
		{mysql.NewProbe(cat, given["mysql"])},
	}
}

// dialers lists who opens sessions to which engine.
func dialers() map[string]host.Dialer {
	return map[string]host.Dialer{"mysql": mysql.Dialer{}, "proxysql": mysql.Dialer{}}
}

// target reads --dsn: the engine is told by the scheme. It gives the server
// for its probe, and the name in the form the engine's driver reads.
func target(dsn string) (given map[string]*host.Target, forDriver string, err error) {
	if dsn == "" {
		return nil, "", nil
	}
	engine, forDriver, err := engineOf(dsn)
	if err != nil {
		return nil, "", err
	}
	var t host.Target
	switch engine {
	case "mysql":
		t, err = mysql.Given(forDriver)
	default:
		return nil, "", fmt.Errorf("no way to log in to %s yet", engine)
	}
	return map[string]*host.Target{engine: &t}, forDriver, err
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
	u, err := url.Parse(dsn)
	if err != nil || u.Hostname() == "" {
		return "", "", fmt.Errorf("not a URL of the form %s://user:password@host:port/", scheme)
	}
	port := u.Port()
	if port == "" {
		port = "3306"
	}
	password, _ := u.User.Password()
	address := u.Hostname()
	if strings.Contains(address, ":") {
		address = "[" + address + "]"
	}
	return "mysql", fmt.Sprintf("%s:%s@tcp(%s:%s)%s", u.User.Username(), password, address, port, "/"+strings.TrimPrefix(u.Path, "/")), nil
}

// look reads a whole machine through a reader.
func look(ctx context.Context, h host.Reader, cat *catalog.Catalog, given map[string]*host.Target) *stack.Stack {
	s := observe.Host(ctx, h, phases(cat, given)...)
	budget.Apply(s)
	return s
}
