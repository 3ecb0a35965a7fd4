package sampler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/engine/mysql"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/series"
)

// mostIndexes are looked at.
const mostIndexes = 9000

func indexesQuery() string {
	return fmt.Sprintf("SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, MIN(NON_UNIQUE), MIN(INDEX_TYPE), "+
		"GROUP_CONCAT(CONCAT(COALESCE(COLUMN_NAME, '?'), '(', COALESCE(SUB_PART, ''), ')') ORDER BY SEQ_IN_INDEX SEPARATOR ','), COUNT(*) "+
		"FROM information_schema.STATISTICS WHERE TABLE_SCHEMA NOT IN %s GROUP BY 1, 2, 3 LIMIT %d", mysql.OwnSchemas, mostIndexes)
}

// unreadQuery lists the indexes that no statement has used. Only tables that
// were opened since the server started are in it.
func unreadQuery() string {
	return fmt.Sprintf("SELECT OBJECT_SCHEMA, OBJECT_NAME, INDEX_NAME FROM performance_schema.table_io_waits_summary_by_index_usage "+
		"WHERE INDEX_NAME IS NOT NULL AND COUNT_STAR = 0 AND OBJECT_SCHEMA NOT IN %s LIMIT %d", mysql.OwnSchemas, mostIndexes)
}

// foreignQuery lists columns of foreign keys, whose indexes the server reads without
// counting it.
func foreignQuery() string {
	return fmt.Sprintf("SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE "+
		"WHERE REFERENCED_TABLE_NAME IS NOT NULL AND TABLE_SCHEMA NOT IN %s LIMIT %d", mysql.OwnSchemas, mostIndexes)
}

const instrumentQuery = "SELECT ENABLED, (SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Uptime') " +
	"FROM performance_schema.setup_instruments WHERE NAME = 'wait/io/table/sql/handler'"

// index is one of a table.
type index struct {
	schema, table, name string
	unique, tree        bool
	columns             []string
}

// Indexes tells which indexes can be done without. What it could not look at is
// an error beside what it found.
func (v *Server) Indexes(ctx context.Context, h host.Reader) ([]series.Index, error) {
	t, err := v.learn(ctx, h)
	if err != nil {
		return nil, err
	}
	rows, err := v.Ask(ctx, h, indexesQuery())
	if err != nil && !errors.Is(err, host.ErrTooLarge) {
		return nil, fmt.Errorf("list the indexes of %s: %w", v.Ref, err)
	}
	var cut error
	if err != nil || len(rows.Values) == mostIndexes {
		cut = fmt.Errorf("list the indexes of %s: only %d of them are looked at", v.Ref, len(rows.Values))
	}
	all := readIndexes(rows)
	out := v.redundant(all)
	if !t.schema {
		return out, errors.Join(cut, hint.With(fmt.Errorf("which indexes of %s are not read: the performance schema is off or not open to this user", v.Ref), schemaHint))
	}
	unread, err := v.unread(ctx, h, all)
	if err != nil {
		return out, errors.Join(cut, fmt.Errorf("which indexes of %s are not read: %w", v.Ref, err))
	}
	return append(out, unread...), cut
}

func readIndexes(rows host.Rows) []index {
	var all []index
	for _, row := range rows.Values {
		at := func(i int) string { return host.Text(row, i) }
		columns := strings.Split(at(5), ",")
		if strconv.Itoa(len(columns)) != at(6) || !strings.HasSuffix(at(5), ")") || strings.Contains(at(5), "?") {
			continue // cut short by group_concat_max_len, or of an expression
		}
		all = append(all, index{at(0), at(1), at(2), at(3) == "0", at(4) == "BTREE", columns})
	}
	return all
}

// redundant finds indexes whose columns another one of the table begins with. One
// that keeps rows unique does more than that.
func (v *Server) redundant(all []index) []series.Index {
	of := map[[2]string][]index{}
	for _, i := range all {
		of[[2]string{i.schema, i.table}] = append(of[[2]string{i.schema, i.table}], i)
	}
	var out []series.Index
	for _, a := range all {
		for _, b := range of[[2]string{a.schema, a.table}] {
			if a.name == b.name || a.unique || !a.tree || !b.tree || !begins(b.columns, a.columns) {
				continue
			}
			if len(a.columns) == len(b.columns) && !b.unique && a.name < b.name {
				continue // of two that are the same, the first stays
			}
			out = append(out, series.Index{Of: v.Ref, Database: a.schema, Table: a.table, Name: a.name, DoneBy: b.name})
			break
		}
	}
	return out
}

func begins(columns, with []string) bool {
	return len(columns) >= len(with) && slices.Equal(columns[:len(with)], with)
}

// unread finds indexes that nothing has read. Those that keep rows unique, or
// that a foreign key needs, are needed all the same.
func (v *Server) unread(ctx context.Context, h host.Reader, all []index) ([]series.Index, error) {
	state, err := v.Ask(ctx, h, instrumentQuery)
	if err != nil {
		return nil, err
	}
	if len(state.Values) != 1 || host.Text(state.Values[0], 0) != "YES" {
		return nil, errors.New("the instrument wait/io/table/sql/handler is off")
	}
	uptime, _ := strconv.ParseFloat(host.Text(state.Values[0], 1), 64)
	since := time.Now().Add(-time.Duration(uptime) * time.Second).UTC().Truncate(time.Second)
	foreign, err := v.Ask(ctx, h, foreignQuery())
	if err != nil {
		return nil, err
	}
	if len(foreign.Values) == mostIndexes {
		return nil, fmt.Errorf("only %d columns of foreign keys are looked at, and there are more", mostIndexes)
	}
	keys := map[[3]string]bool{}
	for _, row := range foreign.Values {
		keys[[3]string{host.Text(row, 0), host.Text(row, 1), host.Text(row, 2) + "()"}] = true
	}
	rows, err := v.Ask(ctx, h, unreadQuery())
	if err != nil {
		return nil, err
	}
	known := map[[3]string]index{}
	for _, i := range all {
		known[[3]string{i.schema, i.table, i.name}] = i
	}
	var out []series.Index
	for _, row := range rows.Values {
		i, ok := known[[3]string{host.Text(row, 0), host.Text(row, 1), host.Text(row, 2)}]
		if ok && !i.unique && !keys[[3]string{i.schema, i.table, i.columns[0]}] {
			out = append(out, series.Index{Of: v.Ref, Database: i.schema, Table: i.table, Name: i.name, Unread: true, Since: since})
		}
	}
	return out, nil
}
