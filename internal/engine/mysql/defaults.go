package mysql

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// The most files and the deepest nesting read for one server.
const (
	maxOptionFiles = 200
	maxIncludes    = 10 // as the server itself
)

// optionFile is one option file as it was found.
type optionFile struct {
	path     string
	modified time.Time
	lines    []line
	groups   []string // that it has, empty ones as well
	stat     host.Stat
	usual    bool // it is where every server looks, or root's files lead there from it: nobody but root chose its name
}

// optionFiles are all option files of one server, in the order it reads them.
type optionFiles struct {
	files  []optionFile
	errors []string // "file:line: reason"
	gaps   []string // files that are there and could not be read
	dirs   []includedDir
}

// fileReader reads option files as one server sees them.
type fileReader struct {
	h    host.Reader
	root string // of the server's mount namespace: "" or /proc/PID/root; the reader follows links within it
	out  optionFiles

	parsed  map[string]parsedFile // each file is read and parsed once, however often it is included
	left    int                   // lines that may still be kept
	stopped bool                  // a limit was reached, and it was said
}

// parsedFile is what is in one option file.
type parsedFile struct {
	lines  []line
	groups []string
	stat   host.Stat
	there  bool
}

// startPaths lists where a server looks for option files, from its command
// line and environment.
func startPaths(args []string, env map[string]string) []string {
	var only, extra string
	for _, a := range args {
		if a == "--no-defaults" {
			return nil
		}
		if v, ok := strings.CutPrefix(a, "--defaults-file="); ok {
			only = v
		}
		if v, ok := strings.CutPrefix(a, "--defaults-extra-file="); ok {
			extra = v
		}
	}
	if only != "" {
		return []string{only}
	}
	paths := usualPaths()
	for _, name := range []string{"MARIADB_HOME", "MYSQL_HOME"} {
		if dir := env[name]; path.IsAbs(dir) {
			paths = append(paths, dir+"/my.cnf")
			break
		}
	}
	if extra != "" {
		paths = append(paths, extra)
	}
	if home := env["HOME"]; path.IsAbs(home) {
		paths = append(paths, home+"/.my.cnf")
	}
	return paths
}

// usualPaths are where every server looks, whoever started it.
func usualPaths() []string { return []string{"/etc/my.cnf", "/etc/mysql/my.cnf"} }

// readOptionFiles reads the files and all they include, at most so many lines.
func readOptionFiles(ctx context.Context, h host.Reader, root string, paths []string, most int) optionFiles {
	r := &fileReader{h: h, root: root, parsed: map[string]parsedFile{}, left: most}
	for _, p := range paths {
		r.read(ctx, p, nil, slices.Contains(usualPaths(), p))
	}
	return r.out
}

func (r *fileReader) read(ctx context.Context, name string, within []string, usual bool) {
	if len(r.out.files) >= maxOptionFiles || len(r.parsed)+len(r.out.dirs) >= maxOptionFiles {
		r.stop(name + ": not read: it comes after too many others")
		return
	}
	found := r.parse(ctx, name)
	if !found.there {
		return
	}
	file := optionFile{path: name, modified: found.stat.Modified, stat: found.stat, groups: found.groups, usual: usual}
	// What stands before an include is read before it, so a file is cut there.
	start := 0
	for i, l := range found.lines {
		if l.include == "" {
			continue
		}
		r.keep(file, found.lines[start:i])
		start = i + 1
		r.include(ctx, file, l, append(slices.Clone(within), name))
	}
	r.keep(file, found.lines[start:])
}

// parse reads one file, the first time.
func (r *fileReader) parse(ctx context.Context, name string) parsedFile {
	if found, again := r.parsed[name]; again {
		return found
	}
	var found parsedFile
	text, err := r.h.ReadFile(ctx, r.root+name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, fs.ErrPermission) && r.h.About().Root:
		r.out.gaps = append(r.out.gaps, fmt.Sprintf("read %s: the user who started the server may not, and Plumb reads with its rights what a server names", name))
	case err != nil:
		r.out.gaps = append(r.out.gaps, fmt.Sprintf("read %s: %v", name, hint.Cause(err)))
	default:
		lines, bad, why, more := parseSome(text, r.left)
		if bad > 0 {
			r.fault(fmt.Sprintf("%s:%d: %s", name, bad, why))
		}
		if more {
			r.stop(fmt.Sprintf("%s: it has too many options to read them all", name))
		}
		found = parsedFile{lines: lines, groups: groupsOf(text), there: true}
		if st, err := r.h.Stat(ctx, r.root+name); err == nil {
			found.stat = st
		}
	}
	r.parsed[name] = found
	return found
}

func (r *fileReader) keep(f optionFile, lines []line) {
	if len(lines) > r.left {
		r.stop(fmt.Sprintf("%s: there are too many options to read them all", f.path))
		lines = lines[:r.left]
	}
	r.left -= len(lines)
	f.lines = lines
	r.out.files = append(r.out.files, f)
}

// maxFaults bounds what is said of lines that are wrong.
const maxFaults = 100

// fault notes a line that the server does not take.
func (r *fileReader) fault(says string) {
	if len(r.out.errors) < maxFaults {
		r.out.errors = append(r.out.errors, says)
	}
}

// include reads what a line includes. The server stops at the tenth level,
// which is where includes in a circle end; once round is enough for us.
func (r *fileReader) include(ctx context.Context, from optionFile, l line, within []string) {
	if !path.IsAbs(l.include) {
		return // relative to the server's working directory, which is not known to be ours
	}
	if !l.dir {
		r.included(ctx, from, l, path.Clean(l.include), within)
		return
	}
	dir := path.Clean(l.include)
	if len(r.parsed)+len(r.out.dirs) >= maxOptionFiles {
		r.stop(dir + ": not read: it comes after too many others")
		return
	}
	found, err := r.h.Glob(ctx, host.Verbatim(r.root+dir)+"/*.cnf")
	if err != nil {
		r.out.gaps = append(r.out.gaps, fmt.Sprintf("list %s: %v", dir, hint.Cause(err)))
		return
	}
	d := includedDir{path: dir, by: from, begin: len(r.out.files)}
	for _, f := range found {
		d.last = dir + "/" + path.Base(f)
		r.included(ctx, from, l, d.last, within)
	}
	d.end = len(r.out.files)
	r.out.dirs = append(r.out.dirs, d)
}

func (r *fileReader) included(ctx context.Context, from optionFile, l line, name string, within []string) {
	if slices.Contains(within, name) || len(within) >= maxIncludes {
		r.fault(fmt.Sprintf("%s:%d: %s includes itself or lies too deep: it was not read again", from.path, l.number, name))
		return
	}
	_, roots := observe.Whose(nobodys(), from.path, from.stat)
	r.read(ctx, name, within, from.usual && roots)
}

// nobodys is a process of which nothing is known.
func nobodys() *stack.Thing { return stack.NewThing("process", "") }

// stop says once that something was left out for our own limit.
func (r *fileReader) stop(why string) {
	if !r.stopped {
		r.stopped = true
		r.out.gaps = append(r.out.gaps, why)
	}
}

// groups lists the option groups a server reads. version may be empty.
func groups(flavor, version, suffix string) []string {
	names := []string{"mysqld", "server"}
	if flavor == flavorMariaDB {
		names = append(names, "mariadb", "mariadbd", "client-server", "galera")
	}
	if version != "" {
		s := Series(version)
		names = append(names, "mysqld-"+s)
		if flavor == flavorMariaDB {
			names = append(names, "mariadb-"+s, "mariadbd-"+s)
		}
	}
	if suffix != "" {
		for _, n := range slices.Clone(names) {
			names = append(names, n+suffix)
		}
	}
	return names
}

// settings gives the assignments in the groups, in the order read. since maps
// each file to its time of change.
func (o optionFiles) settings(groups []string, known func(string) bool) []assigned {
	var out []assigned
	for _, f := range o.files {
		for _, l := range f.lines {
			if !slices.Contains(groups, l.group) {
				continue
			}
			a := canonical(l.name, l.value, l.bare, known)
			a.origin = stack.Origin{From: stack.FromFile, File: f.path, Line: l.number}
			out = append(out, a)
		}
	}
	return out
}

// changed gives the time a file was last changed; zero when not known.
func (o optionFiles) changed(name string) time.Time {
	for _, f := range o.files {
		if f.path == name {
			return f.modified
		}
	}
	return time.Time{}
}

// paths lists the files once each.
func (o optionFiles) paths() []string {
	var out []string
	for _, f := range o.files {
		if !slices.Contains(out, f.path) {
			out = append(out, f.path)
		}
	}
	return out
}
