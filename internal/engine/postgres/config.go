package postgres

import (
	"cmp"
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
	maxLines = 20_000 // that assign something
	maxBad   = 100    // that are told
)

// parseConfig reads the lines of a configuration file: name, an optional =,
// and a value, which may be quoted. bad names the lines that are neither;
// the server refuses to start with one.
func parseConfig(file string, text []byte) (lines []assigned, bad []string) {
	lines, bad, _ = parseSome(file, text, maxLines)
	return lines, bad
}

// parseSome reads at most so many assignments; more tells that there are others.
func parseSome(file string, text []byte, most int) (lines []assigned, bad []string, more bool) {
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		name, value, ok := edit.PostgresqlLine(line)
		switch {
		case !ok && len(bad) < maxBad:
			bad = append(bad, fmt.Sprintf("%s:%d: not a setting", file, n))
		case !ok || name == "":
		case len(lines) >= most:
			return lines, bad, true
		default:
			lines = append(lines, assigned{name, value, stack.Origin{From: stack.FromFile, File: file, Line: n}})
		}
	}
	return lines, bad, false
}

// Assignment is a setting and its value.
type Assignment [2]string

// Lines writes settings as lines of a configuration file. The server reads numbers and
// words in quotes as it does without.
func Lines(all []Assignment) string {
	var b strings.Builder
	quote := strings.NewReplacer(`\`, `\\`, `'`, `''`)
	for _, a := range all {
		b.WriteString(a[0] + " = '" + quote.Replace(a[1]) + "'\n")
	}
	return b.String()
}

// files are all lines the server would read at its next start, in order.
type files struct {
	most  int // lines that are kept; 0 for maxLines
	lines []assigned
	names []string
	bad   []string // lines and files that would stop the start

	parsed map[string]parsedFile // each file is read and parsed once, however often it is included
	opened int
	cut    string // what was left out for our own limits; "" for nothing
}

// parsedFile is what is in one configuration file, or why it is not known.
type parsedFile struct {
	lines []assigned
	err   error
}

// readConfig reads a configuration file with everything it includes. root is
// put before every path: the server's view of the machine.
func (f *files) readConfig(ctx context.Context, h host.Reader, root, name string, chain []string) error {
	found := f.parse(ctx, h, root, name)
	if found.err != nil {
		return found.err
	}
	f.names = append(f.names, name)
	chain = append(slices.Clone(chain), name)
	for _, l := range found.lines {
		if l.name != "include" && l.name != "include_if_exists" && l.name != "include_dir" {
			f.keep(l)
			continue
		}
		for _, included := range f.included(ctx, h, root, path.Dir(name), l) {
			at := fmt.Sprintf("%s:%d", l.origin.File, l.origin.Line)
			if slices.Contains(chain, included) || len(chain) > maxDepth {
				f.fault(at + ": includes without end")
				continue
			}
			if len(f.names) >= maxFiles || f.opened >= maxFiles {
				f.cutAt(included + ": not read: it comes after too many others")
				break
			}
			if err := f.readConfig(ctx, h, root, included, chain); err != nil && l.name != "include_if_exists" {
				f.fault(fmt.Sprintf("%s: %v", at, err))
			}
		}
	}
	return nil
}

// parse reads one file, the first time.
func (f *files) parse(ctx context.Context, h host.Reader, root, name string) parsedFile {
	if found, again := f.parsed[name]; again {
		return found
	}
	if f.parsed == nil {
		f.parsed = map[string]parsedFile{}
	}
	f.opened++
	var found parsedFile
	text, err := h.ReadFile(ctx, root+name)
	if err != nil {
		found.err = fmt.Errorf("read %s: %w", name, err)
	} else {
		lines, bad, more := parseSome(name, text, cmp.Or(f.most, maxLines))
		for _, b := range bad {
			f.fault(b)
		}
		if more {
			f.cutAt(name + ": it has too many settings to read them all")
		}
		found.lines = lines
	}
	f.parsed[name] = found
	return found
}

func (f *files) keep(l assigned) {
	if len(f.lines) >= cmp.Or(f.most, maxLines) {
		f.cutAt(l.origin.File + ": there are too many settings to read them all")
		return
	}
	f.lines = append(f.lines, l)
}

func (f *files) fault(says string) {
	if len(f.bad) < maxBad {
		f.bad = append(f.bad, says)
	}
}

func (f *files) cutAt(why string) { f.cut = cmp.Or(f.cut, why) }

// included gives the files one include line names. include_dir takes the
// files that end in .conf and do not begin with a dot, in the order of the C
// locale.
func (f *files) included(ctx context.Context, h host.Reader, root, dir string, l assigned) []string {
	name := Under(dir, l.value)
	if l.name != "include_dir" {
		return []string{name}
	}
	if f.opened++; f.opened > maxFiles {
		f.cutAt(name + ": not read: it comes after too many others")
		return nil
	}
	found, err := h.Glob(ctx, host.Verbatim(root+name)+"/*.conf")
	if err != nil {
		f.fault(fmt.Sprintf("%s:%d: %v", l.origin.File, l.origin.Line, err))
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

// Under gives a path that a setting names, which is below dir unless it is absolute.
func Under(dir, name string) string {
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
