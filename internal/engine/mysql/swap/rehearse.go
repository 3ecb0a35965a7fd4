package swap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	engine "plumb/internal/engine/mysql"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/product"
	"plumb/internal/protect"
	"plumb/internal/protect/instance"
	"plumb/internal/provision"
	"plumb/internal/provision/rehearsal"
	"plumb/internal/system/packages"
)

var _ rehearsal.Rehearser = Swapper{}

// Release implements rehearsal.Rehearser.
func (s Swapper) Release(ctx context.Context, h host.Reader, w provision.Swap) (rehearsal.Release, error) {
	loads, err := loaded(ctx, h, w.Home)
	if err != nil {
		return nil, err
	}
	n := next{server: server{home: w.Home, loads: loads}, dir: dirOf(w.Home, seriesOf(w.To.Version))}
	return release{n, w.To.Version, path.Join(n.dir, packages.Programs)}, nil
}

// release is the new version, by programs that lie below a directory as they will below the root.
type release struct {
	next    next
	version string
	dir     string
}

// Possible implements rehearsal.Release. The server of a copy does not read that configuration.
func (r release) Possible(ctx context.Context, d host.Streamer) error {
	return rehearsal.Typed(ctx, d, r.next.configured().Argv)
}

// Becomes implements rehearsal.Release.
func (r release) Becomes(ctx context.Context, h host.Reader, c *instance.Copy) (protect.Server, error) {
	sv := c.Server
	program := path.Join(r.dir, "usr/sbin/mariadbd")
	if _, err := h.Stat(ctx, program); err != nil {
		return sv, err
	}
	var libraries []string
	for _, pattern := range []string{"/usr/lib/*-linux-gnu", "/lib/*-linux-gnu"} {
		found, err := h.Glob(ctx, r.dir+pattern)
		if err != nil {
			return sv, err
		}
		libraries = append(libraries, found...)
	}
	sv.Program, sv.Version = []string{program}, r.version
	sv.Product = product.Release{Flavor: product.MariaDB, Version: r.version}.String()
	sv.Env = nil
	if libraries != nil {
		sv.Env = []string{"LD_LIBRARY_PATH=" + strings.Join(libraries, ":")}
	}
	sv.Settings = maps.Clone(sv.Settings)
	for _, name := range []string{"plugin_dir", "lc_messages_dir", "character_sets_dir"} { // they lie below the other
		delete(sv.Settings, name)
	}
	sv.Settings["basedir"] = path.Join(r.dir, "usr")
	return sv, nil
}

// Upgrade implements rehearsal.Release. The server of a copy has no TLS, which clients since 11.4 want on a socket too.
func (r release) Upgrade(ctx context.Context, d host.Streamer, c protect.Copy) error {
	argv := slices.Concat(c.Server.As(d.About().Root), []string{"env", "LC_ALL=C"}, c.Server.Env,
		[]string{path.Join(r.dir, "usr/bin/mariadb-upgrade"), "--no-defaults", "--skip-ssl", "--socket=" + path.Join(c.Run, "mysqld.sock"), "--user=root"})
	var said tail
	if _, err := d.Pipe(ctx, host.Pipe{Argv: argv, Out: &said}); err != nil {
		return fmt.Errorf("mariadb-upgrade: %w\n%s", err, said)
	}
	return nil
}

// tail keeps the end of what is written to it.
type tail []byte

func (t *tail) Write(p []byte) (int, error) {
	*t = append(*t, p...)
	*t = (*t)[max(0, len(*t)-2000):]
	return len(p), nil
}

// Sums implements rehearsal.Release.
func (release) Sums(ctx context.Context, a load.Admin, _ protect.Copy) (map[string]string, error) {
	rows, err := a.Query(ctx, "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED', 'SEQUENCE') "+
		"AND TABLE_SCHEMA NOT IN ('information_schema', 'performance_schema', 'mysql', 'sys') AND ENGINE NOT IN ('FEDERATED', 'SPIDER', 'CONNECT') ORDER BY 1, 2")
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	if rows.Cut {
		return nil, errors.New("list the tables: there are more than can be listed")
	}
	sums := map[string]string{}
	for _, row := range rows.Values {
		name := engine.Identifier(host.Text(row, 0)) + "." + engine.Identifier(host.Text(row, 1))
		sum, err := a.Query(ctx, "CHECKSUM TABLE "+name+" EXTENDED")
		if err != nil {
			return nil, fmt.Errorf("sum up the table %s: %w", name, err)
		}
		if len(sum.Values) != 1 || host.Text(sum.Values[0], 1) == "" {
			return nil, fmt.Errorf("sum up the table %s: it cannot be read", name)
		}
		sums[name] = host.Text(sum.Values[0], 1)
	}
	return sums, nil
}

// Notes implements rehearsal.Release: what mariadb-upgrade leaves to do, the checks find.
func (release) Notes(context.Context, load.Admin, protect.Copy) ([]string, error) { return nil, nil }
