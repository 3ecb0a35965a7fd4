package mysql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// Setter sets the variables of MySQL, MariaDB and Percona Server: now with SET
// GLOBAL, and lastingly with SET PERSIST_ONLY or in an option file.
type Setter struct{ probe *Probe }

// NewSetter makes a setter that finds servers as the probe does; given is the
// server of a data source name or nil.
func NewSetter(c *catalog.Catalog, given *host.Target) *Setter { return &Setter{NewProbe(c, given)} }

// Kinds implements change.Setter.
func (s *Setter) Kinds() []string { return []string{"mysql"} }

// Recipe implements change.Setter.
func (s *Setter) Recipe(ctx context.Context, h host.Reader, seen *stack.Stack, w change.Want) (change.Recipe, error) {
	if w.Knob.Name == "log_bin" {
		return change.Recipe{}, &change.Refusal{Why: "log_bin cannot be set to ON or OFF: its option takes the name of the log, and log_bin = OFF would start a log called OFF",
			What: "write log_bin or skip_log_bin below [mysqld] into an option file, and restart the server"}
	}
	if w.Image {
		return imageRecipe(ctx, h, w)
	}
	a := &alteration{ctx: ctx, h: h, seen: seen, want: w, name: w.Knob.Name, thing: seen.Find(w.Knob.Of)}
	for _, in := range s.probe.servers(ctx, h, seen) {
		if in.name == w.Knob.Of.Name {
			a.in = in
		}
	}
	if a.in == nil || a.thing == nil || a.in.target.Address == "" {
		return change.Recipe{}, &change.Refusal{Why: fmt.Sprintf("%s cannot be reached from here", w.Knob.Of), What: "is it running? " + a.loginHint()}
	}
	a.ctx = a.in.reads(ctx)
	a.in.flavor, a.in.version = a.thing.Text("flavor"), a.thing.Text("version")
	a.in.groups = groups(a.in.flavor, a.in.version, a.in.suffix)
	for _, step := range []func() error{a.readVariable, a.readValue, a.rights} {
		if err := step(); err != nil {
			return change.Recipe{}, err
		}
	}
	return a.recipe()
}

func (a *alteration) loginHint() string {
	return observe.LoginHint(a.h, a.in != nil && a.in.process == nil)
}

// alteration is one variable of one server on its way to another value.
type alteration struct {
	ctx   context.Context
	h     host.Reader
	seen  *stack.Stack
	want  change.Want
	name  string // in lower case
	thing *stack.Thing
	in    *instance
	v     variable
	to    string // the value as the server shows it
	needs []string
	notes []string
}

// recipe puts the acts together: now, where the variable is dynamic, and then
// for the next start.
func (a *alteration) recipe() (change.Recipe, error) {
	r := change.Recipe{Effect: catalog.Now}
	switch {
	case a.v.static:
		r.Effect = catalog.Restart
		r.Waits, r.Restart = a.restart()
	case a.name == "innodb_buffer_pool_size":
		if err := a.poolSteps(&r); err != nil {
			return r, err
		}
	default:
		r.Acts = append(r.Acts, change.Act{Switch: a.global(a.to)})
	}
	if a.want.Passing {
		r.Notes, r.Needs = a.notes, a.needs
		return r, nil
	}
	lasts, acts, err := a.lasting()
	if err != nil {
		return r, err
	}
	if len(acts) == 0 && a.v.static {
		return r, &change.Refusal{Why: a.name + " is read only at startup, and no file that the next start reads can be changed from here", What: strings.Join(a.notes, "; ")}
	}
	r.Lasts, r.Acts = lasts, append(r.Acts, acts...)
	r.Notes, r.Needs = a.notes, a.needs
	return r, nil
}

// global sets a variable while the server runs.
func (a *alteration) global(to string) *change.Switch {
	t := a.in.target
	before := a.v.before()
	value := a.literal(to)
	if a.name == "innodb_tmpdir" { // '' is how its NULL is shown, and refused
		if to == "" {
			value = "NULL"
		}
		if a.v.value == "" {
			before = "NULL"
		}
	}
	return &change.Switch{
		On:      fmt.Sprintf("%s @@GLOBAL.%s", a.want.Knob.Of, a.name),
		Inspect: change.Inspection{Target: &t, Query: a.question()},
		After:   to,
		Do:      []change.Op{{Target: &t, Statement: "SET GLOBAL " + a.name + " = " + value}},
		Undo:    []change.Op{{Target: &t, Statement: "SET GLOBAL " + a.name + " = " + before}},
	}
}

// persisted keeps a value in mysqld-auto.cnf, which the next start reads after
// everything else.
func (a *alteration) persisted() change.Act {
	t := a.in.target
	before := a.v.before()
	return change.Act{Switch: &change.Switch{
		On:       fmt.Sprintf("%s persisted %s", a.want.Knob.Of, a.name),
		Inspect:  change.Inspection{Target: &t, Query: "SELECT VARIABLE_VALUE FROM performance_schema.persisted_variables WHERE VARIABLE_NAME = '" + a.name + "'"},
		After:    a.to,
		Do:       []change.Op{{Target: &t, Statement: "SET PERSIST_ONLY " + a.name + " = " + a.literal(a.to)}},
		Undo:     []change.Op{{Target: &t, Statement: "SET PERSIST_ONLY " + a.name + " = " + before}},
		UndoNone: []change.Op{{Target: &t, Statement: "RESET PERSIST IF EXISTS " + a.name}},
		Down:     &change.Down{Hint: "with --persisted-globals-load=OFF if it does not start with what mysqld-auto.cnf holds"},
	}}
}

// lasting finds what makes the value last. Without acts it does not, and a
// note says why.
func (a *alteration) lasting() (lasts string, acts []change.Act, err error) {
	switch {
	case a.v.noOption:
		a.notes = append(a.notes, "the next start forgets it: no option sets "+a.name)
		return "", nil, nil
	case a.persists():
		return "mysqld-auto.cnf, which the server reads last", []change.Act{a.persisted()}, nil
	case a.in.process == nil:
		a.notes = append(a.notes, "the next start forgets it: the option files are on another machine; run Plumb there")
		return "", nil, nil
	case a.in.local.Contained:
		a.notes = append(a.notes, "the next start forgets it: the option files are inside a container, where its image or its volume must hold the value")
		return "", nil, nil
	}
	e, err := a.edit()
	if err != nil {
		return "", nil, err
	}
	if !a.in.local.Shared(a.ctx, a.h, e.File) {
		a.notes = append(a.notes, "the next start forgets it: the server has mounts of its own, and what it reads as "+e.File+" is another file than here")
		return "", nil, nil
	}
	return e.File, []change.Act{{Edit: e}}, nil
}

// persists tells whether SET PERSIST_ONLY can keep the value.
func (a *alteration) persists() bool {
	if a.in.flavor == flavorMariaDB || !AtLeast(a.in.version, "8.0") || !persistible(a.name) ||
		slices.Contains(a.in.args, "--no-defaults") { // which has it pass over mysqld-auto.cnf too
		return false
	}
	load, known := a.thing.Get("persisted_globals_load")
	on, _ := Truth(load.String())
	return on || !known
}

// restart says what a variable that is read at start waits for.
func (a *alteration) restart() (waits string, ops []change.Op) {
	if a.in.process == nil || a.in.local.Contained {
		return "a restart of the server", nil
	}
	// The unit that begins a cluster must not be started anew.
	if unit := observe.OwnUnit(a.ctx, a.h, a.seen, a.in.process); unit != "" && !strings.Contains(unit, "bootstrap") {
		return "a restart of " + unit, []change.Op{{Argv: []string{"systemctl", "restart", unit}}}
	}
	return "a restart of the server", nil
}

// rights notes what the login lacks to set variables.
func (a *alteration) rights() error {
	rows, err := a.h.Query(a.ctx, a.in.target, "SHOW GRANTS FOR CURRENT_USER()")
	if err != nil {
		return nil // then the statement itself will say it, and be taken back
	}
	var all []string
	for _, row := range rows.Values {
		all = append(all, host.Text(row, 0))
	}
	if missing := missingRight(all, a.in.flavor, !a.want.Passing && a.persists()); missing != "" {
		a.needs = append(a.needs, fmt.Sprintf("%s, to set %s on %s", missing, a.name, a.want.Knob.Of))
	}
	return nil
}

// missingRight says which right a user lacks, by what SHOW GRANTS lists. With
// roles or administrative rights of MariaDB's it is left to the server to say.
// To persist, MySQL wants two rights and is not content with SUPER.
func missingRight(grants []string, flavor string, persists bool) string {
	all := strings.ToUpper(strings.Join(grants, "\n"))
	has := func(right string) bool { return strings.Contains(all, right) }
	unclear := slices.ContainsFunc(grants, func(g string) bool { return !strings.Contains(strings.ToUpper(g), " ON ") })
	switch {
	case unclear, has("ALL PRIVILEGES ON *.*"):
		return ""
	case flavor == flavorMariaDB:
		if has("SUPER") || has(" ADMIN") {
			return ""
		}
		return "SUPER"
	case !persists:
		if has("SUPER") || has("SYSTEM_VARIABLES_ADMIN") {
			return ""
		}
		return "SYSTEM_VARIABLES_ADMIN, or SUPER before 8.0"
	}
	var missing []string
	for _, right := range []string{"SYSTEM_VARIABLES_ADMIN", "PERSIST_RO_VARIABLES_ADMIN"} {
		if !has(right) {
			missing = append(missing, right)
		}
	}
	return strings.Join(missing, " and ")
}
