package swap

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/change"
	engine "plumb/internal/engine/mysql"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/paths"
	"plumb/internal/observe"
	"plumb/internal/product"
	"plumb/internal/protect"
	"plumb/internal/provision"
	"plumb/internal/units"
)

// server is one that can be swapped.
type server struct {
	home   provision.Home
	places []place  // its data first
	loads  []string // arguments that load its plugins
	size   int64    // of all places, in bytes on their disks
}

// place is a directory of which the way back needs the content.
type place struct {
	dir   string
	kept  string // its content at the stop
	aside string // what the new server wrote, once the way back was gone
}

const byHand = "take a point (plumb snapshot), stop the server, exchange its packages, start it, and run mariadb-upgrade"

// read looks at the server, and refuses what could not be taken back.
func (s Swapper) read(ctx context.Context, h host.Reader, w provision.Swap) (out server, err error) {
	sv, _, err := s.Point.Describe(ctx, h, w.Stack, w.Home.Server)
	if err != nil {
		return out, err
	}
	out = server{home: w.Home}
	for _, check := range []func() error{
		func() error { return ofPackages(ctx, h, w.Home, sv) },
		func() error { return keepsOptions(ctx, h, w) },
		func() error { return alone(ctx, h, w.Home) },
		func() (err error) { out.loads, err = loaded(ctx, h, w.Home); return err },
		func() error { return owns(ctx, h, w.Home) },
		func() (err error) { out.places, err = places(sv, seriesOf(w.To.Version), w.At); return err },
		func() error { return cleared(ctx, h, out.places) },
		func() error { return out.measure(ctx, h) },
	} {
		if err := check(); err != nil {
			return out, err
		}
	}
	return out, nil
}

// ofPackages refuses a server that is not the one that Debian's packages start and stop.
func ofPackages(ctx context.Context, h host.Reader, home provision.Home, sv protect.Server) error {
	if sv.Flavor != product.MariaDB || !slices.Equal(sv.Program, []string{"/usr/sbin/mariadbd"}) {
		return change.Refuse(byHand, "its program is %s, not the one from Debian's packages", strings.Join(sv.Program, " "))
	}
	unit := product.PackagesOf(product.MariaDB).Service + ".service"
	switch systemd, err := host.RunsSystemd(ctx, h); {
	case err != nil:
		return err
	case systemd && home.Unit != unit:
		return change.Refuse(byHand, "it is started by %[2]q, not by %[1]s", unit, home.Unit)
	}
	line, err := h.ReadFile(ctx, "/proc/"+strconv.Itoa(home.PID)+"/cmdline")
	if err != nil {
		return fmt.Errorf("see how it was started: %w", err)
	}
	for word := range strings.SplitSeq(string(line), "\x00") {
		if name, _, _ := strings.Cut(word, "="); slices.Contains([]string{"--defaults-file", "--defaults-extra-file", "--defaults-group-suffix", "--no-defaults"}, name) {
			return change.Refuse(byHand, "it was started with %s, so its packages do not know its configuration", name)
		}
	}
	return nil
}

// keepsOptions refuses a server of which the next version would read other options than the present one.
func keepsOptions(ctx context.Context, h host.Reader, w provision.Swap) error {
	environ, err := engine.Environment(ctx, h, w.Home.PID)
	if err != nil {
		return fmt.Errorf("see which option groups it reads: %w", err)
	}
	if name := engine.Suffixed(environ); name != "" {
		return change.Refuse(byHand, "it was started with %s, so its packages do not know its configuration", name)
	}
	lines, err := engine.OfSeries(ctx, h, w.Stack, w.Home.PID, w.Home.Version, w.To.Version)
	if err != nil {
		return err
	}
	if len(lines) > 0 {
		next := "mariadb-" + seriesOf(w.To.Version)
		return change.Refuse("say them in ["+next+"] too, or in [mariadb], which every version reads",
			"%s would not read options that stand in groups of %s alone: %s", next, seriesOf(w.Home.Version), strings.Join(lines, ", "))
	}
	return nil
}

// alone refuses a server that others follow, or that is one of several.
func alone(ctx context.Context, h host.Reader, home provision.Home) error {
	count := func(query string) (int, error) {
		rows, err := h.Query(ctx, home.Target, query)
		if err != nil {
			return 0, fmt.Errorf("see who relies on it: %w", err)
		}
		return len(rows.Values), nil
	}
	for _, c := range []struct{ query, why, what string }{
		{"SHOW GLOBAL STATUS WHERE Variable_name = 'wsrep_cluster_size' AND Value > 0", "it is a node of a cluster", "bring one node after the other under the new version, by hand"},
		{"SELECT ID FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'", "replicas read from it, and one of an older version may not understand what a newer writes", "bring the replicas under the new version first"},
		{"XA RECOVER", "transactions are prepared in it, which a newer server may not take over", "commit or roll them back"},
		{engine.Elsewhere(true, home.Version), "tables of it have a DATA DIRECTORY of their own, which the copy would not hold", "ALTER TABLE … DATA DIRECTORY back into the data directory"},
	} {
		switch n, err := count(c.query); {
		case err != nil:
			return err
		case n > 0:
			return change.Refuse(c.what, "%s (%d)", c.why, n)
		}
	}
	return nil
}

const pluginsQuery = "SELECT PLUGIN_NAME, PLUGIN_LIBRARY FROM information_schema.PLUGINS WHERE PLUGIN_LIBRARY > '' ORDER BY PLUGIN_NAME"

// loaded gives the arguments that load the plugins which the server has. Those that INSTALL brought stand in its data alone: a server that
// reads no such table, for it is in another directory or asks no accounts, would not know their settings, and end at the first of them.
func loaded(ctx context.Context, h host.Reader, home provision.Home) (args []string, err error) {
	rows, err := h.Query(ctx, home.Target, pluginsQuery)
	if err != nil {
		return nil, fmt.Errorf("see which plugins it has: %w", err)
	}
	for _, row := range rows.Values {
		args = append(args, "--plugin-load-add="+host.Text(row, 0)+"="+host.Text(row, 1))
	}
	return args, nil
}

// owns refuses a server that does not own its data directory: it is shut in its name.
func owns(ctx context.Context, h host.Reader, home provision.Home) error {
	st, err := h.Stat(ctx, home.Data)
	if err == nil && int(st.UID) != home.UID {
		err = change.Refuse("chown it to that user, as its packages do", "its data directory %s belongs to user %d, and it runs as %d", home.Data, st.UID, home.UID)
	}
	return err
}

// places gives the directories that are kept: the data, and what of them lies elsewhere.
func places(sv protect.Server, series, at string) (all []place, err error) {
	for _, d := range sv.Dirs {
		switch {
		case d.Link != "" || d.Role == "tablespace":
			return nil, change.Refuse(byHand, "its directory %s is elsewhere: changes there could not be undone", d.Path)
		case !slices.Contains([]string{"data", "redo", "undo", "doublewrite", "binlog", "relaylog"}, d.Role):
			continue
		case slices.ContainsFunc(all, func(p place) bool { return paths.Within(d.Path, p.dir) }):
			continue
		case slices.ContainsFunc(all, func(p place) bool { return paths.Within(p.dir, d.Path) }):
			return nil, change.Refuse(byHand, "its directory %s contains another of its directories", d.Path)
		}
		p := place{dir: d.Path, kept: d.Path + ".before-" + series, aside: path.Base(d.Path) + ".since-" + series}
		if at != "" {
			p.kept = path.Join(at, strings.ReplaceAll(strings.Trim(d.Path, "/"), "/", "-")+".before-"+series)
		}
		all = append(all, p)
	}
	if len(all) == 0 || all[0].dir != sv.Dir("data") {
		return nil, fmt.Errorf("where %s keeps its data is not known", sv.Ref)
	}
	return all, nil
}

// cleared refuses places in which an earlier way back has left what was written then: the next would have no name for it.
func cleared(ctx context.Context, h host.Reader, places []place) error {
	for _, p := range places {
		for _, left := range []string{path.Join(path.Dir(p.dir), p.aside), path.Join(p.dir, "."+p.aside)} {
			switch _, err := h.Stat(ctx, left); {
			case err == nil:
				return change.Refuse("move it away, or remove it once nobody needs it", "%s already exists, from an earlier --undo", left)
			case !errors.Is(err, fs.ErrNotExist):
				return fmt.Errorf("see whether an earlier way back has left something: %w", err)
			}
		}
	}
	return nil
}

// measure finds how much the places hold, and whether copies of them fit.
func (s *server) measure(ctx context.Context, h host.Reader) error {
	type device struct{ major, minor uint32 }
	want, have := map[device]int64{}, map[device]int64{}
	for _, p := range s.places {
		stored, err := observe.Stored(ctx, h, p.dir)
		if err != nil {
			return err
		}
		above := path.Dir(p.kept)
		st, err := h.Stat(ctx, above)
		if err != nil {
			return fmt.Errorf("see where the old data are kept: %w", err)
		}
		room, err := h.Statfs(ctx, above)
		if err != nil {
			return fmt.Errorf("check the free space at %s: %w", above, err)
		}
		on := device{uint32(st.DevMajor), uint32(st.DevMinor)}
		want[on] += stored
		have[on] = int64(room.AvailBytes)
		s.size += stored
		const more = 256 << 20 // what packages and the upgrade need
		if have[on] < want[on]+more {
			return hint.With(fmt.Errorf("the data are %s, but at %s only %s are free", units.Measured(float64(want[on])), above, units.Measured(float64(have[on]))),
				"--at DIR names a directory of root's with more room")
		}
	}
	return nil
}

var leading = regexp.MustCompile(`^(\d+)\.(\d+)`)

// seriesOf gives the first two numbers of a version, between which data are not exchanged without an upgrade.
func seriesOf(version string) string { return leading.FindString(version) }
