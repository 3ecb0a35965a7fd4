package mysql

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/stack"
)

// dropIn is the name of our option file in a directory that is included:
// the last one in the order of names.
const dropIn = "zz-plumb.cnf"

// place is a line that assigns the variable.
type place struct {
	file  string
	group string
	name  string // as written
	at    int    // which of the files read, from 0
}

// edit finds the option file in which a line decides, and the change to it.
func (a *alteration) edit() (*change.Edit, error) {
	o := a.in.options
	if err := a.beaten(); err != nil {
		return nil, err
	}
	if len(o.gaps) > 0 {
		return nil, &change.Refusal{Why: "not every option file can be read: " + strings.Join(o.gaps, "; "), What: filesHint(a.h)}
	}
	last := a.lastPlace()
	for _, d := range slices.Backward(o.dirs) {
		if d.wins(last, a.in.flavor) && a.readable(d.path) {
			e := a.dropIn(d.path)
			return e, a.heeded(e.File)
		}
	}
	e := &change.Edit{Form: edit.OptionFile, Value: a.to}
	switch {
	case last != nil:
		e.File, e.Key = last.file, last.group+"/"+last.name
		e.Ours = path.Base(last.file) == dropIn
	case len(o.files) > 0:
		e.File, e.Key = o.files[len(o.files)-1].path, "mysqld/"+a.name
		if own := a.lastWithServerGroup(); own != "" {
			e.File = own
		}
	case len(startPaths(a.in.args, nil)) == 0:
		return nil, &change.Refusal{Why: "the server was started with --no-defaults: it reads no option file", What: "start it with its option files, or add the option to its command line"}
	default:
		e.File, e.Key = startPaths(a.in.args, nil)[0], "mysqld/"+a.name
		e.Note = "Read by the server when it starts."
	}
	if !path.IsAbs(e.File) {
		return nil, &change.Refusal{Why: fmt.Sprintf("the server was started with the option file %s, relative to a directory that is not known", e.File), What: "give its command line the whole path"}
	}
	return e, a.heeded(e.File)
}

// dropIn is an edit of our own file in a directory.
func (a *alteration) dropIn(dir string) *change.Edit {
	return &change.Edit{File: path.Join(dir, dropIn), Form: edit.OptionFile, Key: "mysqld/" + a.name, Value: a.to, Ours: true,
		Note: "Read by the server when it starts, after the other files of this directory."}
}

// beaten refuses when the command line sets the variable: it wins over files.
func (a *alteration) beaten() error {
	known := func(name string) bool { return a.knows(name) }
	for _, set := range arguments(a.in.args, known) {
		if set.name == a.name && !set.limit {
			return &change.Refusal{Why: fmt.Sprintf("the server was started with --%s on its command line, which wins over every option file", strings.ReplaceAll(a.name, "_", "-")),
				What: "take it out of how the server is started (its unit, mysqld_safe, its container)"}
		}
	}
	return nil
}

func (a *alteration) knows(name string) bool {
	_, known := a.thing.Facts[name]
	return known || name == a.name
}

// lastPlace finds the line that decides now; nil when no file sets the variable.
func (a *alteration) lastPlace() *place {
	var found *place
	for i, f := range a.in.options.files {
		for _, l := range f.lines {
			if !slices.Contains(a.in.groups, l.group) {
				continue
			}
			if set := canonical(l.name, l.value, l.bare, a.knows); set.name == a.name && !set.limit {
				found = &place{file: f.path, group: l.group, name: plainName(l.name, set), at: i}
			}
		}
	}
	return found
}

// plainName is the option's name as edit looks it up: as written, without
// loose_, and in full where a prefix negates it.
func plainName(written string, set assigned) string {
	name := strings.TrimPrefix(strings.ReplaceAll(written, "-", "_"), "loose_")
	if strings.HasPrefix(name, "skip_") || strings.HasPrefix(name, "disable_") || strings.HasPrefix(name, "enable_") {
		return set.name
	}
	return name
}

// lastWithServerGroup is the last file that holds options of the server.
func (a *alteration) lastWithServerGroup() string {
	for _, f := range slices.Backward(a.in.options.files) {
		if slices.ContainsFunc(f.lines, func(l line) bool { return slices.Contains(a.in.groups, l.group) }) {
			return f.path
		}
	}
	return ""
}

// readable tells whether a directory is there and the server's user can list it.
func (a *alteration) readable(dir string) bool {
	st, err := a.h.Stat(a.ctx, dir)
	return err == nil && st.Mode.IsDir() && st.Mode.Perm()&0o005 == 0o005
}

// heeded refuses files that the server passes over.
func (a *alteration) heeded(file string) error {
	st, err := a.h.Stat(a.ctx, file)
	if err == nil && st.Mode.Perm()&0o002 != 0 {
		return &change.Refusal{Why: file + " can be written by everybody, so the server ignores it", What: "chmod o-w " + file}
	}
	return nil
}

// includedDir is a directory of which a server reads all option files.
type includedDir struct {
	path  string
	last  string // the last file read there; "" for none
	begin int    // how many files were read before it
	end   int    // and when it was done
}

// wins tells whether a file of ours in the directory is read after the line
// that decides now. MariaDB reads a directory in the order of names; MySQL
// promises no order, so there no other file of the directory may set it.
func (d includedDir) wins(decides *place, flavor string) bool {
	if decides == nil || decides.at < d.begin {
		return true
	}
	return decides.at < d.end && flavor == flavorMariaDB && path.Join(d.path, dropIn) >= d.last
}

// imageRecipe sets a variable in the option files of an unpacked image.
func imageRecipe(ctx context.Context, h host.Reader, w change.Want) (change.Recipe, error) {
	a := &alteration{ctx: ctx, h: h, want: w, name: w.Knob.Name}
	o := readOptionFiles(ctx, h, "", startPaths(nil, nil), maxOptions)
	a.in = &instance{options: o, groups: groups(flavorMariaDB, "", ""), flavor: flavorMariaDB}
	a.to = w.To.String()
	if b, ok := w.To.Bool(); ok {
		a.to = map[bool]string{true: "ON", false: "OFF"}[b]
	}
	a.thing = stack.NewThing("mysql", "")
	if len(o.files) == 0 && len(o.dirs) == 0 {
		return change.Recipe{}, &change.Refusal{Why: "the image has no option file of a server", What: "install the server in it first"}
	}
	e, err := a.edit()
	if err != nil {
		return change.Recipe{}, err
	}
	return change.Recipe{Effect: catalog.Restart, Lasts: e.File, Acts: []change.Act{{Edit: e}}}, nil
}
