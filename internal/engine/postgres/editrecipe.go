package postgres

import (
	"context"
	"fmt"
	"path"
	"strings"

	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// dropIn is the name of Plumb's own file in an include directory. It sorts
// after those that begin with digits, as packages' do.
const dropIn = "zz-plumb.conf"

// editRecipe sets a value in the configuration files, for a server on which
// ALTER SYSTEM is switched off (17 and later).
func (a *alteration) editRecipe() (change.Recipe, error) {
	const off = "allow_alter_system is off"
	if auto, ok := a.persisted(); ok {
		return change.Recipe{}, &change.Refusal{Why: off + ", and " + auto.origin.File + ", which is read last, sets it to " + auto.value,
			What: "take it out there with ALTER SYSTEM RESET, for which allow_alter_system must be on for a moment"}
	}
	if a.in.process == nil {
		return change.Recipe{}, &change.Refusal{Why: off + ", and the server's files are on another machine", What: "run plumb on the server's host"}
	}
	if a.server.configFile == "" {
		return change.Recipe{}, &change.Refusal{Why: off + ", and role " + a.server.role + " may not see where the configuration file is", What: "GRANT pg_read_all_settings to it"}
	}
	place, err := placeFor(a.ctx, a.h, a.in.root, a.server.configFile, a.name)
	if err != nil {
		return change.Recipe{}, err
	}
	if err := a.vouched(place); err != nil {
		return change.Recipe{}, err
	}
	again := change.Op{Target: &a.in.target, Statement: reload}
	place.file = a.in.local.Path(a.ctx, a.h, place.file)
	act := place.edit(a.name, a.to.text)
	act.Edit.Apply = &again
	r := a.recipe()
	r.Lasts = place.file
	r.Acts = []change.Act{act}
	return r, nil
}

// vouched refuses a file that is PostgreSQL's by the word of the server alone:
// anybody can start one that says it is configured by /etc/crontab. The file
// must be the server's user's, or root's under its usual name, or named by that.
func (a *alteration) vouched(p place) error {
	whose := func(name string) (own, roots bool) {
		st, err := a.h.Stat(a.ctx, a.in.root+name)
		if err != nil {
			return false, false
		}
		return observe.Whose(a.in.process, a.in.root+name, st)
	}
	main := a.server.configFile
	own, roots := whose(main)
	if roots && path.Base(main) == "postgresql.conf" {
		return nil
	}
	at := p.file
	if p.ours {
		at = path.Dir(p.file)
	}
	if target, _ := whose(at); own && target {
		return nil
	}
	return &change.Refusal{Why: fmt.Sprintf("%s does not belong to the user that the server runs as: only the server claims it as its own", at), What: "set it there by hand"}
}

// place is where an assignment must stand to be the last one.
type place struct {
	file string // as the server names it
	ours bool
}

func (p place) edit(name, value string) change.Act {
	e := &change.Edit{File: p.file, Form: edit.Postgresql, Key: name, Value: value, Ours: p.ours}
	if p.ours {
		e.Note = "Read by the include_dir of postgresql.conf."
	}
	return change.Act{Edit: e}
}

// placeFor finds the file in which an assignment wins: the drop-in of an
// include directory, unless something read later assigns the setting; then
// where that stands. Without such a directory it is the main file.
func placeFor(ctx context.Context, h host.Reader, root, main, name string) (place, error) {
	var f files
	if err := f.readConfig(ctx, h, root, main, nil); err != nil {
		return place{}, &change.Refusal{Why: err.Error(), What: "run as root"}
	}
	if f.cut != "" {
		return place{}, &change.Refusal{Why: f.cut, What: "set it by hand"}
	}
	if len(f.bad) > 0 {
		return place{}, &change.Refusal{Why: "the server would ignore its files, because of " + strings.Join(f.bad[:min(len(f.bad), 3)], "; "), What: "correct the file first"}
	}
	winner, assigned := last(f.lines)[name]
	dir, line := includeDir(ctx, h, root, main)
	switch o := winner.origin; {
	case dir == "" && assigned:
		return place{file: o.File}, nil
	case dir == "":
		return place{file: main}, nil
	case !assigned, o.File == main && o.Line < line, path.Dir(o.File) == dir && path.Base(o.File) <= dropIn:
		return place{file: path.Join(dir, dropIn), ours: true}, nil
	}
	return place{file: winner.origin.File}, nil
}

// includeDir gives the last include directory of the main file and the line
// that names it.
func includeDir(ctx context.Context, h host.Reader, root, main string) (dir string, line int) {
	text, err := h.ReadFile(ctx, root+main)
	if err != nil {
		return "", 0
	}
	lines, _ := parseConfig(main, text)
	for _, l := range lines {
		if l.name == "include_dir" {
			dir, line = Under(path.Dir(main), l.value), l.origin.Line
		}
	}
	return dir, line
}

// persistedIn tells what a postgresql.auto.conf assigns.
func persistedIn(ctx context.Context, h host.Reader, file, name string) (assigned, bool) {
	text, err := h.ReadFile(ctx, file)
	if err != nil {
		return assigned{}, false
	}
	lines, _ := parseConfig(file, text)
	a, ok := last(lines)[name]
	a.origin.From = stack.FromPersisted
	return a, ok
}
