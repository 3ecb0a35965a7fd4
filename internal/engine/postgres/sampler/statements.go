package sampler

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"plumb/internal/engine/postgres"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/series"
)

// releaseOf reads the version of the extension: 1.10 is 110.
func releaseOf(text string) int {
	major, minor, _ := strings.Cut(text, ".")
	a, err := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	if err != nil || err2 != nil || b > 99 {
		return 0
	}
	return a*100 + b
}

// lacking says why there are no statements.
func (v *Server) lacking(t traits) error {
	why := fmt.Errorf("statements of %s: pg_stat_statements is not in the database that Plumb logs in to", v.Ref)
	switch {
	case !t.loaded:
		return hint.With(why, "add pg_stat_statements to shared_preload_libraries, restart, and CREATE EXTENSION pg_stat_statements in the database postgres")
	case t.extension == "":
		return hint.With(why, "CREATE EXTENSION pg_stat_statements in the database postgres")
	}
	return nil
}

// view is the extension's function: without texts, which are read from a file.
func (t traits) view(texts bool) string {
	return fmt.Sprintf("%s.pg_stat_statements(%t)", postgres.Identifier(t.extension), texts)
}

// info is the extension's view of itself, since 1.9.
func (t traits) info() string { return postgres.Identifier(t.extension) + ".pg_stat_statements_info" }

// costs are the columns that are added up. Bytes are the pages touched, and the
// WAL where it is counted.
func (t traits) costs() (spent, rows, bytes string) {
	spent, bytes = "total_time", "(shared_blks_hit + shared_blks_read + shared_blks_dirtied + shared_blks_written + temp_blks_read + temp_blks_written) * current_setting('block_size')::numeric"
	if t.release >= 108 { // of PostgreSQL 13
		spent, bytes = "total_exec_time", bytes+" + wal_bytes"
	}
	return spent, "rows", bytes
}

func statementsQuery(t traits) string {
	spent, rows, bytes := t.costs()
	since := "NULL"
	switch {
	case t.release >= 111: // of PostgreSQL 17
		since = "extract(epoch FROM min(stats_since))"
	case t.release >= 109: // of 14: not before all were reset last
		since = "(SELECT extract(epoch FROM stats_reset) FROM " + t.info() + ")"
	}
	return fmt.Sprintf("SELECT queryid, userid, dbid, sum(calls), sum(%s) AS spent, sum(%s), sum(%s), %s, (SELECT datname FROM pg_database WHERE oid = dbid) "+
		"FROM %s GROUP BY queryid, userid, dbid ORDER BY 5 DESC LIMIT %d", spent, rows, bytes, since, t.view(false), series.MostStatements-1)
}

// allQuery adds up all statements; it is asked when not all were listed.
func allQuery(t traits) string {
	spent, rows, bytes := t.costs()
	return fmt.Sprintf("SELECT NULL, NULL, NULL, sum(calls), sum(%s), sum(%s), sum(%s), NULL, NULL FROM %s", spent, rows, bytes, t.view(false))
}

// statements reads what statements cost since they began to be counted.
func (v *Server) statements(ctx context.Context, h host.Reader, b *series.Batch) error {
	t, err := v.learn(ctx, h)
	if err != nil {
		return err
	}
	if err := v.lacking(t); err != nil {
		return err
	}
	if t.release >= 109 { // of PostgreSQL 14
		_ = v.read(ctx, h, "SELECT dealloc AS statements_forgotten FROM "+t.info(), b) // whoever may not see it may not see the rest
	}
	rows, err := v.Ask(ctx, h, statementsQuery(t))
	if err != nil {
		return err
	}
	listed, hidden := v.statementsOf(rows)
	if hidden {
		return hint.With(fmt.Errorf("statements of other roles of %s are not shown to this one", v.Ref), "GRANT pg_read_all_stats TO it; "+grantsHint)
	}
	b.Statements = listed
	if len(rows.Values) < series.MostStatements-1 {
		return nil
	}
	all, err := v.Ask(ctx, h, allQuery(t))
	if err != nil {
		return err
	}
	if total, _ := v.statementsOf(all); len(total) == 1 {
		if rest, some := series.Unlisted(total[0], listed); some {
			b.Statements = append(b.Statements, rest)
		}
	}
	return nil
}

// texts reads the same with the texts of the most expensive. The server keeps those in
// a file, which can be large.
func (v *Server) texts(ctx context.Context, h host.Reader, b *series.Batch) error {
	if err := v.statements(ctx, h, b); err != nil {
		return err
	}
	var ids []string
	for _, s := range b.Statements[:min(len(b.Statements), series.MostSessions)] {
		ids = append(ids, s.ID)
	}
	texts, err := v.Texts(ctx, h, ids)
	for i, s := range b.Statements {
		b.Statements[i].Text = texts[s.ID]
	}
	return err
}

// statementsOf reads rows. hidden tells that the server keeps statements back.
func (v *Server) statementsOf(rows host.Rows) (all []series.Statement, hidden bool) {
	for _, row := range rows.Values {
		var n [4]float64
		ok := true
		for i := range n {
			var err error
			n[i], err = strconv.ParseFloat(host.Text(row, 3+i), 64)
			ok = ok && err == nil
		}
		if !ok {
			continue
		}
		s := series.Statement{Of: v.Ref, Database: host.Text(row, 8), Calls: n[0], Seconds: n[1] / 1e3, Returned: &n[2], Bytes: &n[3]}
		if host.Cell(row, 0) == nil {
			hidden = hidden || host.Cell(row, 1) != nil
			s.Rest, s.ID = true, series.UnlistedID
		} else {
			s.ID = host.Text(row, 0) + "/" + host.Text(row, 1) + "/" + host.Text(row, 2)
		}
		if at, err := strconv.ParseFloat(host.Text(row, 7), 64); err == nil && at > 0 && at < 1e11 {
			s.Since = time.UnixMilli(int64(at * 1e3)).UTC()
		}
		all = append(all, s)
	}
	return all, hidden
}

// Texts gives the texts of statements by their id, without literals, as far as
// the server still has them.
func (v *Server) Texts(ctx context.Context, h host.Reader, ids []string) (map[string]string, error) {
	texts := map[string]string{}
	t, err := v.learn(ctx, h)
	if err == nil {
		err = v.lacking(t)
	}
	if err != nil {
		return nil, err
	}
	list := []string{}
	for _, id := range ids {
		q, _, _ := strings.Cut(id, "/")
		if _, err := strconv.ParseInt(q, 10, 64); err == nil && len(list) < series.MostSessions {
			list = append(list, q)
		}
	}
	if len(list) == 0 {
		return texts, nil
	}
	rows, err := v.Ask(ctx, h, fmt.Sprintf("SELECT queryid, userid, dbid, left(query, %d) FROM %s WHERE queryid IN (%s)", longestText, t.view(true), strings.Join(list, ", ")))
	if err != nil {
		return nil, err
	}
	for _, row := range rows.Values {
		texts[host.Text(row, 0)+"/"+host.Text(row, 1)+"/"+host.Text(row, 2)] = shown(host.Text(row, 3))
	}
	return texts, nil
}
