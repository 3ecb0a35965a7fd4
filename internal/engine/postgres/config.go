package postgres

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/stack"
)

// assigned is one setting as a file or the command line gives it.
type assigned struct {
	name, value string
	origin      stack.Origin
}

// Limits of reading configuration files. The server allows ten levels.
const (
	maxDepth = 10
	maxFiles = 200
)

// parseConfig reads the lines of a configuration file: name, an optional =,
// and a value, which may be quoted. bad names the lines that are neither;
// the server refuses to start with one.
func parseConfig(file string, text []byte) (lines []assigned, bad []string) {
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		end := 0
		for end < len(line) && (line[end] == '_' || line[end] == '.' || line[end] == '$' || line[end] >= 0x80 || isAlnum(line[end])) {
			end++
		}
		name, rest := strings.ToLower(line[:end]), strings.TrimSpace(line[end:])
		if r, ok := strings.CutPrefix(rest, "="); ok {
			rest = strings.TrimSpace(r)
		}
		value, length, ok := edit.PostgresqlValue(rest)
		after := strings.TrimSpace(rest[length:])
		if name == "" || !ok || after != "" && after[0] != '#' {
			bad = append(bad, fmt.Sprintf("%s:%d: not a setting", file, n))
			continue
		}
		lines = append(lines, assigned{name, value, stack.Origin{From: stack.FromFile, File: file, Line: n}})
	}
	return lines, bad
}

func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// files are all lines the server would read at its next start, in order.
type files struct {
	lines []assigned
	names []string
	bad   []string // lines and files that would stop the start
}

// readConfig reads a configuration file with everything it includes. root is
// put before every path: the server's view of the machine.
func (f *files) readConfig(ctx context.Context, h host.Reader, root, name string, chain []string) error {
	text, err := h.ReadFile(ctx, root+name)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	f.names = append(f.names, name)
	lines, bad := parseConfig(name, text)
	f.bad = append(f.bad, bad...)
	chain = append(slices.Clone(chain), name)
	for _, l := range lines {
		if l.name != "include" && l.name != "include_if_exists" && l.name != "include_dir" {
			f.lines = append(f.lines, l)
			continue
		}
		for _, included := range f.included(ctx, h, root, path.Dir(name), l) {
			at := fmt.Sprintf("%s:%d", l.origin.File, l.origin.Line)
			if slices.Contains(chain, included) || len(chain) > maxDepth || len(f.names) >= maxFiles {
				f.bad = append(f.bad, at+": includes without end")
				continue
			}
			if err := f.readConfig(ctx, h, root, included, chain); err != nil && l.name != "include_if_exists" {
				f.bad = append(f.bad, fmt.Sprintf("%s: %v", at, err))
			}
		}
	}
	return nil
}

// included gives the files one include line names. include_dir takes the
// files that end in .conf and do not begin with a dot, in the order of the C
// locale.
func (f *files) included(ctx context.Context, h host.Reader, root, dir string, l assigned) []string {
	name := under(dir, l.value)
	if l.name != "include_dir" {
		return []string{name}
	}
	found, err := h.Glob(ctx, root+name+"/*.conf")
	if err != nil {
		f.bad = append(f.bad, fmt.Sprintf("%s:%d: %v", l.origin.File, l.origin.Line, err))
	}
	var out []string
	for _, file := range found {
		if !strings.HasPrefix(path.Base(file), ".") {
			out = append(out, strings.TrimPrefix(file, root))
		}
	}
	slices.Sort(out)
	return out
}

func under(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}

// last gives for each setting the line that wins.
func last(lines []assigned) map[string]assigned {
	out := make(map[string]assigned, len(lines))
	for _, l := range lines {
		out[l.name] = l
	}
	return out
}
