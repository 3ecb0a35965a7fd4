package fill

import (
	"context"
	"fmt"
	"strings"
	"time"

	"plumb/internal/await"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/product"
)

// patience is how long to wait for another load of the same workload: one
// that was killed lets go as soon as the server notices.
const patience = 10 * time.Second

// take takes hold of the database: nobody else loads the same workload, the
// tables are those of the plan or are made. It reports whether all is done
// already.
func (l *loader) take(ctx context.Context, lead *session) (done bool, err error) {
	if err := l.lock(ctx, lead); err != nil {
		return false, err
	}
	notes, err := l.lastNotes(ctx, lead)
	if err != nil {
		return false, err
	}
	state := stateOf(notes)
	if state.Settings != nil {
		if err := state.Matches(l.p.Settings); err != nil {
			return false, err
		}
		l.resumed = true
	}
	there, err := tablesThere(ctx, l.sql, lead)
	if err != nil {
		return false, err
	}
	if err := l.recall(notes, there); err != nil {
		return false, err
	}
	missing := l.missing()
	if state.Complete && len(missing) == 0 {
		return true, nil
	}
	return false, l.create(ctx, lead, state, missing, there)
}

// lock makes sure that nobody else loads the same; it is let go with the
// session.
func (l *loader) lock(ctx context.Context, lead *session) error {
	query := l.sql.Lock(noteTable, l.p.Workload)
	for until := time.Now().Add(patience); ; {
		rows, err := lead.Query(ctx, query)
		if err != nil {
			return err
		}
		if len(rows.Values) == 1 && host.Text(rows.Values[0], 0) == "1" {
			return l.letIn(ctx, lead)
		}
		if time.Now().After(until) {
			return hinted("wait for it; if it was killed, the server may still be busy with its last statement",
				"another %s is being loaded into this database", l.p.Workload)
		}
		if await.Pause(ctx, patience/50) != nil {
			return stopped(ctx, ctx.Err())
		}
	}
}

// letIn lets the other sessions of this load have the lock that they share.
func (l *loader) letIn(ctx context.Context, lead *session) error {
	if l.sql.Admit == nil {
		return nil
	}
	_, err := lead.Query(ctx, l.sql.Admit(noteTable, l.p.Workload))
	return err
}

// lastNotes reads the notes when nothing of an earlier load is under way any
// more.
func (l *loader) lastNotes(ctx context.Context, lead *session) ([]note, error) {
	if l.sql.AwaitNotes != "" {
		_, err := lead.Query(ctx, fmt.Sprintf(l.sql.AwaitNotes, noteTable, quoted(l.p.Workload)))
		if err != nil && !load.NoTable(err) {
			return nil, err
		}
	}
	return readNotes(ctx, lead, l.p.Workload)
}

// recall fits the notes of an earlier attempt to the plan.
func (l *loader) recall(notes []note, there map[string]bool) error {
	byName := map[string]*table{}
	for _, t := range l.tables {
		byName[t.Name] = t
	}
	for _, n := range notes {
		t := byName[n.name]
		switch {
		case n.kind == kindStep && n.name == links:
			l.steps[n.lo] = true
		case t == nil: // of more tables than are asked for now
		case n.kind == kindTable:
			t.made = true
		case n.kind == kindStep:
			t.steps[n.lo] = true
		case n.kind == kindRange:
			t.earlier = append(t.earlier, span{n.lo, n.hi})
		}
	}
	for _, t := range l.tables {
		if there[t.Name] && !t.made {
			return hinted("drop it, or use another database", "there is a table %s that this program did not make: it is not touched", t.Name)
		}
		if t.made && !there[t.Name] && len(t.earlier) > 0 {
			return hinted("cleanup first", "table %s was loaded, but somebody has dropped it since", t.Name)
		}
		var err error
		if t.open, err = gaps(t.Units, t.earlier); err != nil {
			return hinted("cleanup first", "the notes in %s about %s are wrong: %w", noteTable, t.Name, err)
		}
		for _, s := range t.earlier {
			l.meter.earlier += int64(t.perUnit * float64(s.hi-s.lo))
			l.meter.rowsEarlier += int64(t.rowsEach * float64(s.hi-s.lo))
		}
	}
	l.meter.bytes.Store(l.meter.earlier)
	l.meter.rows.Store(l.meter.rowsEarlier)
	return nil
}

// missing gives the tables of the plan that were never begun.
func (l *loader) missing() []*table {
	var out []*table
	for _, t := range l.tables {
		if !t.made {
			out = append(out, t)
		}
	}
	return out
}

// create makes the tables that are not there, each after a note that it is
// ours: so a table without a note is somebody else's, whenever we were killed.
func (l *loader) create(ctx context.Context, lead *session, state State, missing []*table, there map[string]bool) error {
	var first []string
	if state.Settings == nil {
		first = append(first, createNotes(l.sql), "BEGIN")
		for _, s := range l.p.Settings {
			first = append(first, note{kind: kindSetting, name: s.Name, detail: s.Value}.insert(l.p.Workload))
		}
		first = append(first, "COMMIT")
	}
	if state.Complete { // there are more tables now
		first = append(first, fmt.Sprintf("DELETE FROM %s WHERE workload = %s AND kind = '%s'", noteTable, quoted(l.p.Workload), kindDone))
	}
	for _, t := range missing {
		first = append(first, note{kind: kindTable, name: t.Name}.insert(l.p.Workload))
	}
	for _, t := range l.tables {
		if !there[t.Name] {
			first = append(first, t.Create)
		}
	}
	for _, query := range first {
		if err := lead.Exec(ctx, query); err != nil {
			return l.creating(err, query)
		}
	}
	return nil
}

func (l *loader) creating(err error, query string) error {
	if hasCode(err, []string{"42501", "1044", "1142"}) {
		return hinted("the user needs the right to create tables in this database", "%w", err)
	}
	what, _, _ := strings.Cut(query, "(")
	return fmt.Errorf("%s: %w", strings.TrimSpace(what), err)
}

// Cleanup drops the tables of a workload that Fill made, and its notes. It
// gives their names.
func Cleanup(ctx context.Context, s load.Server, workload string) ([]string, error) {
	l := &loader{s: s, sql: product.DialectOf(s.Engine()), p: Plan{Workload: workload}}
	lead, err := l.session(ctx)
	if err != nil {
		return nil, err
	}
	defer lead.close()
	if err := l.lock(ctx, lead); err != nil {
		return nil, err
	}
	notes, err := readNotes(ctx, lead, workload)
	if err != nil {
		return nil, err
	}
	state := stateOf(notes)
	if state.Settings == nil && len(state.Tables) == 0 {
		return nil, nil
	}
	drops := []string{}
	for _, t := range state.Tables {
		drops = append(drops, "DROP TABLE IF EXISTS "+t+l.sql.Cascade) // with the foreign keys of the others
	}
	// The notes go last: what is interrupted here can be done again.
	drops = append(drops, "DELETE FROM "+noteTable+" WHERE workload = "+quoted(workload))
	if err := lead.Exec(ctx, drops...); err != nil {
		return nil, err
	}
	rows, err := lead.Query(ctx, "SELECT COUNT(*) FROM "+noteTable)
	if err == nil && len(rows.Values) == 1 && host.Text(rows.Values[0], 0) == "0" {
		err = lead.Exec(ctx, "DROP TABLE "+noteTable)
	}
	return state.Tables, err
}
