package postgres

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/product"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// alterRecipe is ALTER SYSTEM and a reload, as one act: the undo must put
// postgresql.auto.conf back first and reload after that, which two acts that
// are undone in reverse could not.
func (a *alteration) alterRecipe() (change.Recipe, error) {
	if err := a.onlyUnread(); err != nil {
		return change.Recipe{}, err
	}
	op := func(statement string) change.Op {
		return change.Op{Target: &a.in.target, Statement: statement}
	}
	set, back, after := Literal(a.to.text), "{before:sql}", a.to.text
	switch {
	case isQuotedList(a.name, a.server.major):
		// The text before is a list of quoted names, which no placeholder can
		// turn into literals. Were it changed in between, the undo's last look would tell.
		before, _ := a.persisted()
		set, back = elements(a.to.text), elements(before.value)
	case a.quoted():
		back, after = "{before}", a.to.literal
	}
	alter := "ALTER SYSTEM SET " + settingName(a.name) + " = "
	again := op(reload)
	r := a.recipe()
	r.Lasts = "postgresql.auto.conf"
	r.Acts = []change.Act{{Switch: &change.Switch{
		On:       fmt.Sprintf("%s postgresql.auto.conf %s", a.want.Knob.Of, a.name),
		Inspect:  change.Inspection{Target: &a.in.target, Query: a.lookQuery()},
		After:    after,
		Do:       []change.Op{op(alter + set), again},
		Undo:     []change.Op{op(alter + back), again},
		UndoNone: []change.Op{op("ALTER SYSTEM RESET " + settingName(a.name)), again},
		Down:     a.down(),
		Patience: 3000,
	}}}
	if a.in.at != a.in.socket {
		r.Notes = append(r.Notes, "the server runs in a container, or with mounts of its own: undo finds it there as long as that process runs, and what lasts is the volume of its data directory")
	}
	return r, nil
}

// down says where the value lies while the server is down: with one that is
// too large it may not start, and then nobody can ask it to take it back.
func (a *alteration) down() *change.Down {
	if a.in.process == nil || a.in.data == "" || !a.in.local.Shared(a.ctx, a.h, a.in.data) {
		return nil
	}
	return &change.Down{File: a.in.data + autoFile, Form: edit.Postgresql, Key: a.name, Value: a.to.text, Quoted: a.quoted(), PID: a.in.data + "/postmaster.pid"}
}

// onlyUnread refuses when the file holds the value already and the server
// has not read it: a reload alone could not be undone.
func (a *alteration) onlyUnread() error {
	auto, ok := a.persisted()
	if !ok || auto.value != a.to.text || a.waits() || a.inForce() || a.overridden() {
		return nil
	}
	return &change.Refusal{Why: "postgresql.auto.conf already has this value, but the server has not read it", What: reload + " makes it read its files; plumb check shows what else that changes"}
}

// waits tells whether the setting needs a restart.
func (a *alteration) waits() bool { return a.row.context == "postmaster" }

// inForce tells whether a new session gets the wanted value already.
func (a *alteration) inForce() bool {
	if a.to.number != nil {
		n, err := strconv.ParseFloat(a.row.value, 64)
		return err == nil && n == *a.to.number
	}
	return a.row.value == a.to.text || a.row.value == a.to.shown
}

// ofRoles are the sources of values that count for one role or database.
var ofRoles = []string{"database", "user", "database user", "global"}

// overridden tells whether our own role has a value of its own.
func (a *alteration) overridden() bool { return slices.Contains(ofRoles, a.row.source) }

// quoted tells whether the state is read as a quoted string: a text may begin
// or end with blanks, which log_line_prefix usually does.
func (a *alteration) quoted() bool {
	return a.row.vartype == "string" && !isQuotedList(a.name, a.server.major)
}

// lookQuery asks what postgresql.auto.conf holds. Where the server's own
// spelling of the value is known, it tells as well when a file that holds the
// wanted value was not read yet.
func (a *alteration) lookQuery() string {
	name := Literal(a.name)
	column := "setting"
	if a.quoted() {
		column = "quote_literal(setting) AS setting"
	}
	file := "SELECT " + column + " FROM pg_file_settings WHERE lower(name) = " + name + " AND sourcefile LIKE '%" + autoFile + "' ORDER BY seqno DESC LIMIT 1"
	differs := ""
	switch {
	case a.waits() || a.overridden():
	case a.to.number != nil:
		differs = "s.reset_val::float8 <> " + strconv.FormatFloat(*a.to.number, 'f', -1, 64)
	case a.to.shown != "":
		differs = "s.reset_val <> " + Literal(a.to.shown)
	}
	if differs == "" {
		return file
	}
	return "SELECT CASE WHEN f.setting = " + Literal(a.to.text) + " AND s.source NOT IN ('" + strings.Join(ofRoles, "', '") + "', 'command line', 'environment variable') AND " + differs +
		" THEN f.setting || ' (not in force)' ELSE f.setting END AS setting FROM (" + file + ") AS f, pg_settings AS s WHERE lower(s.name) = " + name
}

// recipe is what both ways of setting have in common.
func (a *alteration) recipe() change.Recipe {
	r := change.Recipe{Effect: catalog.Reload, Needs: a.needs}
	a.beaten()
	switch a.row.context {
	case "postmaster":
		r.Effect = catalog.Restart
		r.Waits, r.Restart = a.restart()
		r.Shorten = []change.Op{{Target: &a.in.target, Statement: product.DialectOf(product.Postgres).Checkpoint}}
	case "backend", "superuser-backend":
		a.notes = append(a.notes, "sessions that are open keep the old value")
	}
	a.comeAlong()
	r.Notes = a.notes
	return r
}

// beaten notes which line of a file no longer counts.
func (a *alteration) beaten() {
	if !a.server.alters {
		return
	}
	for _, l := range slices.Backward(a.lines) {
		if l.origin.From == stack.FromFile {
			a.notes = append(a.notes, fmt.Sprintf("%s:%d, which sets %s, no longer counts: postgresql.auto.conf is read after it", l.origin.File, l.origin.Line, l.value))
			return
		}
	}
}

// comeAlong notes what others wrote into files and the reload brings in force.
func (a *alteration) comeAlong() {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(a.thing.Facts)) {
		fact := a.thing.Facts[name]
		if fact.Next != nil && name != a.want.Knob.Name && !a.onlyAtStart(name) {
			names = append(names, fmt.Sprintf("%s = %s", name, fact.Next.Value))
		}
	}
	if len(names) > 0 {
		a.notes = append(a.notes, "the server reads its files again, which hold what others wrote since: "+units.Some(names, 5))
	}
}

// onlyAtStart tells whether a reload leaves a setting as it is.
func (a *alteration) onlyAtStart(name string) bool {
	f := a.catalog.Fact("postgres", name)
	return slices.Contains(a.thing.List("pending_restart"), name) || f != nil && f.Knob != nil && f.Knob.Effect != catalog.Reload && f.Knob.Effect != catalog.Now
}

// settingName writes a setting's name. Those of extensions have a dot.
func settingName(name string) string {
	for part := range strings.SplitSeq(name, ".") {
		if part == "" || strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return Identifier(name)
		}
	}
	return name
}
