package fill

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/product"
)

// noteTable holds what has been loaded, beside the tables themselves.
const noteTable = "plumb_load"

// Kinds of notes.
const (
	kindSetting = "setting" // name, detail: its value
	kindTable   = "table"   // name: made by us, or about to be
	kindRange   = "range"   // name, lo, hi: these units are in
	kindStep    = "step"    // name, lo: statement number lo of After was done; of Links where name is links
	kindDone    = "done"    // everything is
	kindForm    = "form"    // lo: version of the form of the notes; formVersion where there is no such note
)

const formVersion = 1

const links = "(links)"

// note is one row of the table of notes.
type note struct {
	kind, name string
	lo, hi     int64
	detail     string
}

func createNotes(sql *product.Dialect) string {
	return "CREATE TABLE IF NOT EXISTS " + noteTable + ` (workload VARCHAR(32) NOT NULL, kind VARCHAR(16) NOT NULL, name VARCHAR(100) NOT NULL,
 lo BIGINT NOT NULL, hi BIGINT NOT NULL, detail VARCHAR(1000) NOT NULL,
 PRIMARY KEY (workload, kind, name, lo))` + sql.TableOptions // a note must go or stay with its rows
}

// insert gives the statement that adds a note.
func (n note) insert(workload string) string {
	return fmt.Sprintf("INSERT INTO %s (workload, kind, name, lo, hi, detail) VALUES (%s, %s, %s, %d, %d, %s)",
		noteTable, quoted(workload), quoted(n.kind), quoted(n.name), n.lo, n.hi, quoted(n.detail))
}

// quoted writes a text as a literal. Backslashes mean different things to
// different servers, and nothing of ours has one: see Plan.check.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// tablesThere lists the tables of the database.
func tablesThere(ctx context.Context, sql *product.Dialect, a load.Admin) (map[string]bool, error) {
	rows, err := a.Query(ctx, "SELECT table_name FROM information_schema.tables WHERE table_schema = "+sql.Schema)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, row := range rows.Values {
		there[host.Text(row, 0)] = true
	}
	return there, nil
}

// readNotes gives the notes of a workload, none when nothing was ever loaded.
func readNotes(ctx context.Context, a load.Admin, workload string) ([]note, error) {
	rows, err := a.Query(ctx, "SELECT kind, name, lo, hi, detail FROM "+noteTable+
		" WHERE workload = "+quoted(workload)+" ORDER BY kind, name, lo")
	if load.NoTable(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseNotes(rows)
}

// parseNotes reads the rows of the table of notes.
func parseNotes(rows host.Rows) ([]note, error) {
	var all []note
	for _, row := range rows.Values {
		n := note{kind: host.Text(row, 0), name: host.Text(row, 1), detail: host.Text(row, 4)}
		for i, v := range []*int64{&n.lo, &n.hi} {
			var err error
			if *v, err = strconv.ParseInt(host.Text(row, 2+i), 10, 64); err != nil {
				return nil, fmt.Errorf("read the notes in %s: %s %s: %w", noteTable, n.kind, n.name, err)
			}
		}
		if n.kind == kindForm && n.lo > formVersion {
			return nil, hint.Newer("the notes in "+noteTable+" are", int(n.lo), formVersion)
		}
		if n.lo < 0 || n.hi < n.lo {
			return nil, fmt.Errorf("read the notes in %s: %s %s has units %d to %d", noteTable, n.kind, n.name, n.lo, n.hi)
		}
		all = append(all, n)
	}
	return all, nil
}

// Look looks before a run whether the server has room for the sessions and
// their statements, 0 sessions asking nothing, and what was loaded. The caller
// closes the connection.
func Look(ctx context.Context, s load.Server, workload string, sessions, statements int) (load.Admin, State, error) {
	if sessions > 0 {
		if err := s.Room(ctx, sessions, statements); err != nil {
			return nil, State{}, err
		}
	}
	a, err := s.Admin(ctx)
	if err != nil {
		return nil, State{}, err
	}
	notes, err := readNotes(ctx, a, workload)
	if err != nil {
		_ = a.Close() // err says more
		return nil, State{}, err
	}
	return a, stateOf(notes), nil
}

func stateOf(notes []note) State {
	var s State
	for _, n := range notes {
		switch n.kind {
		case kindSetting:
			s.Settings = append(s.Settings, load.Setting{Name: n.name, Value: n.detail})
		case kindTable:
			s.Tables = append(s.Tables, n.name)
		case kindDone:
			s.Complete = true
		}
	}
	return s
}

// Matches tells whether the tables are those of these settings; the error
// says what differs, and its hint what to do.
func (s State) Matches(want []load.Setting) error {
	for _, w := range want {
		at := slices.IndexFunc(s.Settings, func(h load.Setting) bool { return h.Name == w.Name })
		switch {
		case at < 0:
			return hinted("cleanup removes the tables", "the tables were loaded without %s, but you asked for %s", w.Name, w.Value)
		case s.Settings[at].Value != w.Value:
			return hinted("ask for the same, or cleanup first", "the tables have %s %s, but you asked for %s", w.Name, s.Settings[at].Value, w.Value)
		}
	}
	return nil
}
