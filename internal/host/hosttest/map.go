// Package hosttest has what tests of parsers, probes and setters share: a handful
// of maps in place of a machine, machines that fail and die, and the catalogue.
//
// A map is a fake. It shows that a probe makes the right facts of a given text,
// not that a machine gives that text: for that, record a tape from a real
// server and replay it with taped.New.
package hosttest

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"plumb/internal/host"
)

// Map is a host.Reader that answers from its fields. The zero value is an
// empty machine: every file is missing and no command is found. It must not
// be changed while it is read.
//
// Errors in Errors win over every other field. Their key is the operation and
// its argument: "file /etc/fstab", "glob /sys/block/*", "stat /srv",
// "link /proc/1/exe", "statfs /srv", "run zpool list" or
// "query mysql:/run/mysqld/mysqld.sock SELECT 1".
type Map struct {
	Files   map[string]string      // path → content
	Links   map[string]string      // path → what the link says
	Stats   map[string]host.Stat   // path → stat
	Spaces  map[string]host.Statfs // path → statfs
	Globs   map[string][]string    // pattern → paths; patterns that are not here match Files, Links and Stats
	Outputs map[string]string      // command line, words joined by one space → standard output
	Queries map[string]host.Rows   // query, or target name + " " + query → rows
	Errors  map[string]error       // operation + " " + argument → error
	Who     host.About             // Taken defaults to 2026-01-02 03:04:05 UTC
}

var _ host.Reader = Map{}

// About implements host.Reader.
func (m Map) About() host.About {
	about := m.Who
	if about.Taken.IsZero() {
		about.Taken = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	}
	return about
}

// ReadFile implements host.Reader. It does not follow Links.
func (m Map) ReadFile(ctx context.Context, name string) ([]byte, error) {
	if err := m.fault(ctx, "file", name); err != nil {
		return nil, err
	}
	if text, ok := m.Files[name]; ok {
		return []byte(text), nil
	}
	return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
}

// Glob implements host.Reader. Directories above the paths in Files, Links
// and Stats count as there.
func (m Map) Glob(ctx context.Context, pattern string) ([]string, error) {
	if err := m.fault(ctx, "glob", pattern); err != nil {
		return nil, err
	}
	if found, ok := m.Globs[pattern]; ok {
		return slices.Clone(found), nil
	}
	var found []string
	for _, name := range m.paths() {
		matched, err := path.Match(pattern, name)
		if err != nil {
			return nil, fmt.Errorf("glob %s: %w", pattern, err)
		}
		if matched {
			found = append(found, name)
		}
	}
	return found, nil
}

// paths lists every path of the fake with the directories above it, sorted.
func (m Map) paths() []string {
	seen := map[string]bool{}
	add := func(name string) {
		for name != "/" && name != "." && !seen[name] {
			seen[name] = true
			name = path.Dir(name)
		}
	}
	for name := range m.Files {
		add(name)
	}
	for name := range m.Links {
		add(name)
	}
	for name := range m.Stats {
		add(name)
	}
	return slices.Sorted(maps.Keys(seen))
}

// Stat implements host.Reader. A path that is only in Files is a regular file
// of that size; a path above others is a directory.
func (m Map) Stat(ctx context.Context, name string) (host.Stat, error) {
	if err := m.fault(ctx, "stat", name); err != nil {
		return host.Stat{}, err
	}
	if stat, ok := m.Stats[name]; ok {
		return stat, nil
	}
	if text, ok := m.Files[name]; ok {
		return host.Stat{Size: int64(len(text)), Mode: 0o644, Resolved: name}, nil
	}
	if slices.Contains(m.paths(), name) {
		return host.Stat{Mode: fs.ModeDir | 0o755, Resolved: name}, nil
	}
	return host.Stat{}, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

// Readlink implements host.Reader.
func (m Map) Readlink(ctx context.Context, name string) (string, error) {
	if err := m.fault(ctx, "link", name); err != nil {
		return "", err
	}
	if to, ok := m.Links[name]; ok {
		return to, nil
	}
	return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrNotExist}
}

// Statfs implements host.Reader.
func (m Map) Statfs(ctx context.Context, name string) (host.Statfs, error) {
	if err := m.fault(ctx, "statfs", name); err != nil {
		return host.Statfs{}, err
	}
	if stat, ok := m.Spaces[name]; ok {
		return stat, nil
	}
	return host.Statfs{}, &fs.PathError{Op: "statfs", Path: name, Err: fs.ErrNotExist}
}

// Output implements host.Reader. It has no list of reading commands: that is
// host.Live's.
func (m Map) Output(ctx context.Context, argv ...string) ([]byte, error) {
	line := strings.Join(argv, " ")
	if err := m.fault(ctx, "run", line); err != nil {
		return nil, err
	}
	if text, ok := m.Outputs[line]; ok {
		return []byte(text), nil
	}
	return nil, fmt.Errorf("run %s: %w", line, host.ErrNoCommand)
}

// Query implements host.Reader. A query that is not in the map gives
// host.ErrDenied, the error a probe must always be ready for.
func (m Map) Query(ctx context.Context, t host.Target, query string) (host.Rows, error) {
	if err := m.fault(ctx, "query", t.Name+" "+query); err != nil {
		return host.Rows{}, err
	}
	if rows, ok := m.Queries[t.Name+" "+query]; ok {
		return rows, nil
	}
	if rows, ok := m.Queries[query]; ok {
		return rows, nil
	}
	return host.Rows{}, fmt.Errorf("query %s: %s: not in this fake: %w", t.Name, query, host.ErrDenied)
}

func (m Map) fault(ctx context.Context, op, arg string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s %s: %w", op, arg, err)
	}
	if err, ok := m.Errors[op+" "+arg]; ok {
		return fmt.Errorf("%s %s: %w", op, arg, err)
	}
	return nil
}

// Table makes the rows of a query: one line each, cells divided by tabs, the
// first line naming the columns. A cell \N is NULL.
func Table(lines ...string) host.Rows {
	var rows host.Rows
	for i, line := range lines {
		cells := strings.Split(line, "\t")
		if i == 0 {
			rows.Columns = cells
			continue
		}
		values := make([]*string, len(cells))
		for j := range cells {
			if cells[j] != `\N` {
				values[j] = &cells[j]
			}
		}
		rows.Values = append(rows.Values, values)
	}
	return rows
}
