package oltp

import (
	"fmt"
	"strings"

	"plumb/internal/load/durability"
)

// kind of statement. Of each, every table has its own.
type kind int

const (
	point kind = iota
	simple
	sum
	order
	distinct
	index
	nonIndex
	remove
	insert
	points // of the first table only
	ranges // likewise
	kinds
)

// text is a statement as sysbench has it.
func (c Config) text(k kind, table string) string {
	switch k {
	case point:
		return "SELECT c FROM " + table + " WHERE id=?"
	case simple:
		return "SELECT c FROM " + table + " WHERE id BETWEEN ? AND ?"
	case sum:
		return "SELECT SUM(k) FROM " + table + " WHERE id BETWEEN ? AND ?"
	case order:
		return "SELECT c FROM " + table + " WHERE id BETWEEN ? AND ? ORDER BY c"
	case distinct:
		return "SELECT DISTINCT c FROM " + table + " WHERE id BETWEEN ? AND ? ORDER BY c"
	case index:
		return "UPDATE " + table + " SET k=k+1 WHERE id=?"
	case nonIndex:
		return "UPDATE " + table + " SET c=? WHERE id=?"
	case remove:
		return "DELETE FROM " + table + " WHERE id=?"
	case insert:
		return "INSERT INTO " + table + " (id, k, c, pad) VALUES (?, ?, ?, ?)"
	case points:
		return "SELECT id, k, c, pad FROM " + table + " WHERE k IN (" + strings.Repeat("?, ", c.RandomPoints-1) + "?)"
	case ranges:
		return "SELECT count(k) FROM " + table + " WHERE k BETWEEN ? AND ?" + strings.Repeat(" OR k BETWEEN ? AND ?", c.Ranges-1)
	}
	return ""
}

// group is some statements of one kind on one table of an event's choice.
type group struct {
	kind kind
	n    int
}

// script is what an event is made of.
type script struct {
	groups      []group
	transaction bool
	writes      bool
	prepared    bool // insert and bulk_insert send text
}

func (c Config) script() script {
	reads := []group{{point, c.PointSelects}}
	if c.RangeSelects {
		reads = append(reads, group{simple, c.SimpleRanges}, group{sum, c.SumRanges}, group{order, c.OrderRanges}, group{distinct, c.Distinct})
	}
	writes := []group{{index, c.IndexUpdates}, {nonIndex, c.NonIndex}, {remove, c.DeleteInsert}}
	s := script{transaction: !c.SkipTrx, writes: true, prepared: true}
	switch c.Script {
	case "oltp_read_write":
		s.groups = append(reads, writes...)
	case "oltp_read_only":
		s.groups, s.writes = reads, false
	case "oltp_write_only":
		s.groups = writes
	case "oltp_point_select":
		s.groups, s.transaction, s.writes = []group{{point, 1}}, false, false
	case "oltp_update_index":
		s.groups, s.transaction = writes[:1], false
	case "oltp_update_non_index":
		s.groups, s.transaction = writes[1:2], false
	case "oltp_delete":
		s.groups, s.transaction = []group{{remove, 1}}, false
	case "select_random_points":
		s.groups, s.transaction, s.writes = []group{{points, 1}}, false, false
	case "select_random_ranges":
		s.groups, s.transaction, s.writes = []group{{ranges, 1}}, false, false
	default:
		s.transaction, s.prepared = false, false
	}
	if c.Ledger != nil && s.writes {
		s.transaction = true
	}
	return s
}

// deletesOnly tells oltp_delete from the scripts that insert again what they
// delete.
func (c Config) deletesOnly() bool { return c.Script == "oltp_delete" }

// needs lists the statements a session prepares, by kind: one for each of so
// many tables.
func (c Config) needs() (tables [kinds]int, total int) {
	for _, g := range c.script().groups {
		n := c.Tables
		if g.kind == points || g.kind == ranges {
			n = 1
		}
		if g.n == 0 {
			continue
		}
		tables[g.kind] = n
		if g.kind == remove && !c.deletesOnly() {
			tables[insert] = n
		}
	}
	for _, n := range tables {
		total += n
	}
	if c.Ledger != nil && c.script().writes {
		total++
	}
	return tables, total
}

// prepare makes all statements ready, as sysbench does before it starts.
func (w *work) prepare() error {
	need, _ := w.c.needs()
	for k, n := range need {
		for t := 1; t <= n; t++ {
			id, err := w.Session.Prepare(w.c.text(kind(k), tableName(t)))
			if err != nil {
				return missingTable(fmt.Errorf("prepare a statement: %w", err), tableName(t))
			}
			w.statements[k] = append(w.statements[k], id)
		}
	}
	if w.c.Ledger == nil || !w.script.writes {
		return nil
	}
	var err error
	w.ledger, err = w.Session.Prepare(durability.Insert)
	return err
}
