package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// Setter sets the settings of PostgreSQL servers: with ALTER SYSTEM and a
// reload, or in postgresql.conf where ALTER SYSTEM is switched off.
type Setter struct{ probe *Probe }

// NewSetter makes a setter that finds servers as the probe does; given is the
// server of a data source name or nil.
func NewSetter(c *catalog.Catalog, given *host.Target) *Setter {
	return &Setter{NewProbe(c, given)}
}

// Kinds implements change.Setter.
func (s *Setter) Kinds() []string { return []string{"postgres"} }

// Recipe implements change.Setter.
func (s *Setter) Recipe(ctx context.Context, h host.Reader, seen *stack.Stack, w change.Want) (change.Recipe, error) {
	if w.Image {
		return imageRecipe(ctx, h, w)
	}
	a := &alteration{ctx: ctx, h: h, catalog: s.probe.catalog, seen: seen, want: w, name: strings.ToLower(w.Knob.Name), thing: seen.Find(w.Knob.Of)}
	for _, in := range s.probe.servers(ctx, h, seen) {
		if in.name == w.Knob.Of.Name {
			a.in = in
		}
	}
	if a.in == nil || a.thing == nil || a.in.target.Address == "" {
		return change.Recipe{}, &change.Refusal{Why: fmt.Sprintf("%s cannot be reached from here", w.Knob.Of), What: "is it running? " + a.loginHint()}
	}
	a.ctx = a.in.reads(ctx)
	for _, step := range []func() error{a.readServer, a.readRow, a.possible, a.readValue, a.readFiles} {
		if err := step(); err != nil {
			return change.Recipe{}, err
		}
	}
	if !a.server.alters {
		return a.editRecipe()
	}
	return a.alterRecipe()
}

func (a *alteration) loginHint() string {
	return observe.LoginHint(a.h, a.in != nil && a.in.process == nil)
}

// alteration is one setting of one server on its way to another value.
type alteration struct {
	ctx     context.Context
	h       host.Reader
	catalog *catalog.Catalog
	seen    *stack.Stack
	want    change.Want
	name    string // in lower case
	thing   *stack.Thing
	in      *instance
	server  serverRow
	row     knobRow
	to      wanted
	lines   []assigned // what files assign to the setting, in their order
	needs   []string
	notes   []string
}

// ask reads from the server; what it refuses is a refusal.
func (a *alteration) ask(query string) ([][]*string, error) {
	rows, err := a.h.Query(a.ctx, a.in.target, query)
	if err == nil {
		return rows.Values, nil
	}
	if a.ctx.Err() != nil {
		return nil, err
	}
	return nil, &change.Refusal{Why: err.Error(), What: a.loginHint()}
}

func rowQuery(name string) string {
	return `SELECT lower(name) AS name, reset_val AS value, coalesce(unit, '') AS unit, context, vartype, source, min_val, max_val, ` +
		`array_to_string(enumvals, '|') AS enumvals FROM pg_settings WHERE lower(name) = ` + Literal(name)
}

// readRow reads what the server says of the setting.
func (a *alteration) readRow() error {
	rows, err := a.ask(rowQuery(a.name))
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		why := fmt.Sprintf("PostgreSQL %s has no setting %s", cmp.Or(a.thing.Text("version"), strconv.Itoa(a.server.major)), a.name)
		if removed := a.want.Fact.Knob.Removed; removed != "" {
			why += ": " + removed
		}
		return &change.Refusal{Why: why, What: "a setting of an extension is known once its library is loaded"}
	}
	at := func(i int) string { return host.Text(rows[0], i) }
	a.row = knobRow{value: at(1), unit: at(2), context: at(3), vartype: at(4), source: at(5), min: at(6), max: at(7)}
	if at(8) != "" {
		a.row.enum = strings.Split(at(8), "|")
	}
	return nil
}

// possible says why the setting cannot be set at all.
func (a *alteration) possible() error {
	switch {
	case a.row.context == "internal":
		return &change.Refusal{Why: a.name + " is fixed when the server is compiled or its data directory made", What: "initdb a new one and move the data"}
	case ofSession(a.name), slices.Contains([]string{"config_file", "data_directory", "allow_alter_system", "is_superuser", "session_authorization", "seed"}, a.name):
		return &change.Refusal{Why: a.name + " cannot be set with ALTER SYSTEM", What: "set it on the server's command line or in postgresql.conf"}
	case slices.Contains([]string{"primary_conninfo", "ssl_passphrase_command"}, a.name):
		return &change.Refusal{Why: a.name + " can contain a password, which Plumb does not handle", What: "set it with psql"}
	case a.row.source == "command line", a.row.source == "environment variable":
		return &change.Refusal{Why: fmt.Sprintf("the server was started with %s on its %s, which overrides every file", a.name, strings.Replace(a.row.source, " variable", "", 1)),
			What: "take it out of how the server is started (its unit, its container, pg_ctl -o), and restart it"}
	}
	return a.managed()
}

// readValue brings the value to the server's form.
func (a *alteration) readValue() (err error) {
	if a.to, err = wantedOf(a.want.Fact, a.row, a.want.To); err != nil {
		return err
	}
	if a.to.note != "" {
		a.notes = append(a.notes, a.to.note)
	}
	if err := a.readSpelling(); err != nil {
		return err
	}
	return a.standby()
}

// standby looks at the settings of which a standby needs as much as its primary.
func (a *alteration) standby() error {
	if !slices.Contains([]string{"max_connections", "max_worker_processes", "max_wal_senders", "max_prepared_transactions", "max_locks_per_transaction"}, a.name) {
		return nil
	}
	now, err := strconv.ParseFloat(a.row.value, 64)
	if err != nil || a.to.number == nil {
		return nil
	}
	replicas, _ := a.thing.Int("replicas")
	switch {
	case a.server.standby && *a.to.number < now:
		return &change.Refusal{Why: fmt.Sprintf("this is a standby, whose %s must not be lower than the primary's", a.name), What: "lower it on the primary first, then with psql here"}
	case !a.server.standby && replicas > 0 && *a.to.number > now:
		a.notes = append(a.notes, fmt.Sprintf("set %s on the standbys first: one with a lower value than the primary stops replaying", a.name))
	}
	return nil
}

// readSpelling lets the server spell a text, or a list of names, as it will
// show it.
func (a *alteration) readSpelling() error {
	if a.quoted() {
		rows, err := a.ask("SELECT " + onServer("quote_literal", a.to.text) + " AS words")
		if err == nil && len(rows) == 1 {
			a.to.literal = host.Text(rows[0], 0)
		}
		return err
	}
	if !isQuotedList(a.name, a.server.major) {
		return nil
	}
	names := splitNames(a.to.text)
	if len(names) == 0 {
		return &change.Refusal{Why: "an empty " + a.name + " is written wrongly by ALTER SYSTEM", What: "ALTER SYSTEM RESET " + a.name + ", or take it out of the file that sets it"}
	}
	for i, n := range names {
		names[i] = onServer("quote_ident", n)
	}
	rows, err := a.ask("SELECT " + strings.Join(names, " || ', ' || ") + " AS words")
	if err == nil && len(rows) == 1 {
		a.to.text = host.Text(rows[0], 0)
	}
	return err
}

// onServer calls a function with a text. Reading sessions take no backslash
// in a string, which servers understand differently: it goes as chr(92).
func onServer(function, text string) string {
	parts := strings.Split(text, `\`)
	for i, p := range parts {
		parts[i] = Literal(p)
	}
	return function + "(" + strings.Join(parts, " || chr(92) || ") + ")"
}
