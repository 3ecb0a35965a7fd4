package metrics

import (
	"cmp"
	"maps"
	"slices"

	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/view/metrics/naming"
)

// aboutStatements adds the most expensive statements of each server since they are
// counted, without what Plumb itself asks. Their texts hold no literals.
func (e *Exporter) aboutStatements(fs *families) {
	if e.o.Statements == 0 {
		return
	}
	texts := e.texts()
	for _, s := range e.looks() {
		if e.fresh(s.came, latePeriods*s.last.Every) {
			e.statementsOf(fs, s.last.Statements, texts)
		}
	}
}

// looks gives of each server the source that counted its statements last. Where two
// count them, such as one that reads the texts too, the older look would let counters fall.
func (e *Exporter) looks() map[stack.Ref]*source {
	last := map[stack.Ref]*source{}
	for _, name := range slices.Sorted(maps.Keys(e.sources)) {
		s := e.sources[name]
		if len(s.last.Statements) == 0 {
			continue
		}
		of := s.last.Statements[0].Of
		if was := last[of]; was == nil || !s.came.Before(was.came) {
			last[of] = s
		}
	}
	return last
}

// statementKey is what a statement is known by, whichever source counted it.
type statementKey struct {
	of           stack.Ref
	database, id string
}

func keyOfStatement(s series.Statement) statementKey { return statementKey{s.Of, s.Database, s.ID} }

// texts are those that any source gave.
func (e *Exporter) texts() map[statementKey]string {
	all := map[statementKey]string{}
	for _, s := range e.sources {
		for _, st := range s.last.Statements {
			if st.Text != "" {
				all[keyOfStatement(st)] = st.Text
			}
		}
	}
	return all
}

func (e *Exporter) statementsOf(fs *families, counted []series.Statement, texts map[statementKey]string) {
	var costliest []series.Statement
	for _, st := range counted {
		st.Text = cmp.Or(st.Text, texts[keyOfStatement(st)])
		if st.ID != series.UnlistedID && !st.Own() {
			costliest = append(costliest, st)
		}
	}
	slices.SortFunc(costliest, func(a, b series.Statement) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.ID, b.ID))
	})
	for _, st := range costliest[:min(len(costliest), e.o.Statements)] {
		l := []naming.Label{label("database", naming.Clean(st.Database)), naming.ServerLabel(st.Of), label("statement", naming.Clean(st.ID))}
		fs.counter("plumb_statement_calls_total", "calls of a statement since it is counted", st.Calls, l...)
		fs.counter("plumb_statement_seconds_total", "time in a statement, all calls together", st.Seconds, l...)
		if st.Examined != nil {
			fs.counter("plumb_statement_examined_rows_total", "rows that a statement read", *st.Examined, l...)
		}
		if st.Returned != nil {
			fs.counter("plumb_statement_returned_rows_total", "rows that a statement sent or changed", *st.Returned, l...)
		}
		if st.Text != "" {
			fs.gauge("plumb_statement_info", "the text of a statement, without literals; always 1", 1, append(l, label("text", naming.Clean(st.Text)))...)
		}
	}
}
