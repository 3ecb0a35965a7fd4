package sampler

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/engine/postgres"
	"plumb/internal/host"
	"plumb/internal/series"
)

// indexesQuery lists the indexes of one database: what each is of, and how often
// it was read. Those of expressions and of a part of the rows have no key. After a
// crash all counters begin anew: of those of a database that is not told, of the background writer's it is.
const indexesQuery = `SELECT n.nspname || '.' || t.relname, c.relname, s.idx_scan,
i.indisunique OR i.indisprimary OR i.indisexclusion OR i.indisreplident OR NOT i.indisvalid,
CASE WHEN a.amname = 'btree' AND i.indpred IS NULL AND i.indexprs IS NULL THEN i.indkey::text END, i.indclass::text, i.indcollation::text, i.indoption::text,
(SELECT extract(epoch FROM greatest(coalesce(stats_reset, pg_postmaster_start_time()), (SELECT stats_reset FROM pg_stat_bgwriter))) FROM pg_stat_database WHERE datname = current_database())
FROM pg_stat_user_indexes s JOIN pg_index i ON i.indexrelid = s.indexrelid JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
JOIN pg_namespace n ON n.oid = t.relnamespace JOIN pg_am a ON a.oid = c.relam ORDER BY 1, 2 LIMIT 9000` // mostIndexes

// mostIndexes of a database are looked at.
const mostIndexes = 9000

// index is one of a table.
type index struct {
	table, name string
	needed      bool     // for more than reading
	keys        []string // column, operators, collation and order of each; none where it cannot be compared
	scans       float64
	since       time.Time
}

// Indexes tells which indexes of a database can be done without. What it could not
// look at is an error beside what it found.
func (v *Server) Indexes(ctx context.Context, h host.Reader, database string) ([]series.Index, error) {
	t, err := v.Target(ctx, h)
	if err != nil {
		return nil, err
	}
	rows, err := h.Query(ctx, postgres.In(t, database), indexesQuery)
	if err != nil {
		return nil, fmt.Errorf("list the indexes of %s in %s: %w", v.Ref, database, v.Refused(err))
	}
	if len(rows.Values) == mostIndexes {
		err = fmt.Errorf("list the indexes of %s in %s: only %d of them are looked at", v.Ref, database, mostIndexes)
	}
	var out []series.Index
	all, of := readIndexes(rows), map[string][]index{}
	for _, i := range all {
		of[i.table] = append(of[i.table], i)
	}
	for _, i := range all {
		x := series.Index{Of: v.Ref, Database: database, Table: i.table, Name: i.name}
		if i.needed {
			continue
		}
		if x.DoneBy = doneBy(i, of[i.table]); x.DoneBy != "" {
			out = append(out, x)
		}
		if x.DoneBy = ""; i.scans == 0 {
			x.Unread, x.Since = true, i.since
			out = append(out, x)
		}
	}
	return out, err
}

func readIndexes(rows host.Rows) []index {
	var all []index
	for _, row := range rows.Values {
		at := func(i int) string { return host.Text(row, i) }
		scans, err := strconv.ParseFloat(at(2), 64)
		if err != nil {
			continue
		}
		i := index{table: at(0), name: at(1), needed: at(3) == "t", scans: scans}
		columns, classes, collations, orders := strings.Fields(at(4)), strings.Fields(at(5)), strings.Fields(at(6)), strings.Fields(at(7))
		if n := len(classes); len(columns) == n && len(collations) == n && len(orders) == n { // more columns: some are only carried along
			for k := range n {
				i.keys = append(i.keys, strings.Join([]string{columns[k], classes[k], collations[k], orders[k]}, " "))
			}
		}
		if at, err := strconv.ParseFloat(at(8), 64); err == nil && at > 0 && at < 1e11 {
			i.since = time.Unix(int64(at), 0).UTC()
		}
		all = append(all, i)
	}
	return all
}

// doneBy gives the index of a table that begins with all that another is of; "" for none.
func doneBy(a index, beside []index) string {
	for _, b := range beside {
		if len(a.keys) == 0 || a.name == b.name || len(b.keys) < len(a.keys) || !slices.Equal(b.keys[:len(a.keys)], a.keys) {
			continue
		}
		if len(a.keys) < len(b.keys) || b.needed || b.name < a.name {
			return b.name // of two that are the same, the first stays
		}
	}
	return ""
}
