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
	"plumb/internal/observe"
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
		if d.wins(last, a.in.flavor) && a.readable(d.path) && a.mayMake(d) {
			e := a.dropIn(d.path)
			return e, a.heeded(e.File)
		}
	}
	e := &change.Edit{Form: edit.OptionFile, Value: a.to}
	start := startPaths(a.in.args, nil)
	switch {
	case last != nil:
		e.File, e.Key = last.file, last.group+"/"+last.name
		e.Ours = path.Base(last.file) == dropIn
	case len(o.files) > 0:
		e.File, e.Key = o.files[len(o.files)-1].path, "mysqld/"+a.name
		if own := a.lastWithServerGroup(); own != "" {
			e.File = own
		}
	case len(start) == 0:
		return nil, &change.Refusal{Why: "the server was started with --no-defaults: it reads no option file", What: "start it with its option files, or add the option to its command line"}
	case path.IsAbs(start[0]) && !slices.Contains(usualPaths(), start[0]):
		return nil, &change.Refusal{Why: fmt.Sprintf("the server was started with the option file %s, which does not exist", start[0]), What: "create the file first: without it the next start fails"}
	default:
		e.File, e.Key = start[0], "mysqld/"+a.name
		e.Note = "Read by the server when it starts."
	}
	if !path.IsAbs(e.File) {
		return nil, &change.Refusal{Why: fmt.Sprintf("the server was started with the option file %s, relative to a directory that is not known", e.File), What: "give the full path on its command line"}
	}
	if err := a.mayEdit(e.File); err != nil {
		return nil, err
	}
	return e, a.heeded(e.File)
}

// mayEdit refuses a file that is an option file by the word of the server's
// command line alone. Anybody can start a server that names /etc/crontab.
func (a *alteration) mayEdit(file string) error {
	if a.in.process == nil {
		return nil // an image: nothing runs there
	}
	for _, f := range a.in.options.files {
		if f.path == file && !f.usual && !a.vouched(f) {
			return &change.Refusal{Why: fmt.Sprintf("%s belongs to user %d and contains no options of a server: only the server's command line names it as an option file", file, f.stat.UID),
				What: "if it is one, write the group [mysqld] into it"}
		}
	}
	return nil
}

// vouched tells whether a file is the server's user's own, or one of root's that
// itself says that it is for a server.
func (a *alteration) vouched(f optionFile) bool {
	own, roots := observe.Whose(a.in.process, f.path, f.stat)
	return own || roots && slices.ContainsFunc(f.groups, func(g string) bool { return slices.Contains(a.in.groups, g) })
}

// mayMake tells whether a file of ours may be made in a directory: where root's
// own option files have it included, or in one of the server's user, whose file it is then.
func (a *alteration) mayMake(d includedDir) bool {
	if a.in.process == nil {
		return true
	}
	_, roots := observe.Whose(a.in.process, d.by.path, d.by.stat)
	if roots && (d.by.usual || a.vouched(d.by)) {
		return true
	}
	st, err := a.h.Stat(a.ctx, d.path)
	own, _ := observe.Whose(a.in.process, d.path, st)
	return err == nil && own
}

// dropIn is an edit of our own file in a directory.
func (a *alteration) dropIn(dir string) *change.Edit {
	return &change.Edit{File: path.Join(dir, dropIn), Form: edit.OptionFile, Key: "mysqld/" + a.name, Value: a.to, Ours: true,
		Note: "Read by the server when it starts, after the other files of this directory."}
}

// beaten refuses when the command line sets the variable: it wins over files.
func (a *alteration) beaten() error {
	for _, set := range arguments(a.in.args, a.knows) {
		if set.name == a.name && !set.limit && !keeperOf(a.ctx, a.h, a.in, a.knows).handsOn(set, a.to) {
			return &change.Refusal{Why: fmt.Sprintf("the server was started with --%s on its command line, which overrides every option file", strings.ReplaceAll(a.name, "_", "-")),
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
		return &change.Refusal{Why: file + " is writable by everybody, so the server ignores it", What: "chmod o-w " + file}
	}
	return nil
}

// includedDir is a directory of which a server reads all option files.
type includedDir struct {
	path  string
	by    optionFile // that names it
	last  string     // the last file read there; "" for none
	begin int        // how many files were read before it
	end   int        // and when it was done
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
