package sampler

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"plumb/internal/engine/mysql"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/product"
	"plumb/internal/series"
)

// digestsQuery reads the most expensive statements, with the texts of those that ran
// lately. The row without a digest holds what the table had no room for.
func digestsQuery() string {
	return fmt.Sprintf("SELECT SCHEMA_NAME, DIGEST, COUNT_STAR, SUM_TIMER_WAIT, SUM_ROWS_EXAMINED, SUM_ROWS_SENT + SUM_ROWS_AFFECTED, "+
		"UNIX_TIMESTAMP(FIRST_SEEN), IF(LAST_SEEN > NOW() - INTERVAL 20 SECOND, LEFT(DIGEST_TEXT, 300), NULL) FROM performance_schema.events_statements_summary_by_digest ORDER BY DIGEST IS NULL DESC, SUM_TIMER_WAIT DESC LIMIT %d",
		series.MostStatements-1)
}

// allQuery adds up all of them; it is asked when not all were listed.
const allQuery = "SELECT NULL, NULL, SUM(COUNT_STAR), SUM(SUM_TIMER_WAIT), SUM(SUM_ROWS_EXAMINED), SUM(SUM_ROWS_SENT + SUM_ROWS_AFFECTED), NULL, NULL " +
	"FROM performance_schema.events_statements_summary_by_digest"

// statements reads what statements cost since the server began to count them.
func (v *Server) statements(ctx context.Context, h host.Reader, b *series.Batch) error {
	t, err := v.learn(ctx, h)
	if err != nil {
		return err
	}
	if !t.schema {
		return hint.With(fmt.Errorf("statements of %s: the performance schema is off or not open to this user", v.Ref), schemaHint+"; "+grantsHint)
	}
	rows, err := v.Ask(ctx, h, digestsQuery())
	if err != nil {
		return err
	}
	b.Statements = statementsOf(v, rows)
	if err := v.prepared(ctx, h, t, b); err != nil {
		return err
	}
	if len(rows.Values) < series.MostStatements-1 {
		return nil
	}
	all, err := v.Ask(ctx, h, allQuery) // the row of the server's own rest is listed, and so not counted twice
	if err != nil {
		return err
	}
	if total := statementsOf(v, all); len(total) == 1 {
		if rest, some := series.Unlisted(total[0], b.Statements); some {
			b.Statements = append(b.Statements, rest)
		}
	}
	return nil
}

// preparedQuery asks how many of the statements were prepared ones.
const preparedQuery = "SHOW GLOBAL STATUS WHERE Variable_name IN ('com_stmt_execute', 'questions')"

// prepared says what part of the statements is not among those that are counted by their texts: MariaDB counts
// what is run by the binary protocol under no digest (tried with 10.11), which is all that many drivers send.
func (v *Server) prepared(ctx context.Context, h host.Reader, t traits, b *series.Batch) error {
	if t.flavor != product.MariaDB {
		return nil
	}
	rows, err := v.Ask(ctx, h, preparedQuery)
	if err != nil {
		return err
	}
	status := mysql.Pairs(rows)
	run, err := strconv.ParseFloat(status["com_stmt_execute"], 64)
	all, err2 := strconv.ParseFloat(status["questions"], 64)
	if err == nil && err2 == nil && all > 0 && run >= leastPrepared*all {
		b.Gap(v.Ref, fmt.Sprintf("%.0f %% of what this server ran since it started were prepared statements, which MariaDB counts under no text: the most expensive can be among them", 100*min(1, run/all)),
			"let clients send texts for a while, such as useServerPrepStmts=false of JDBC, or look at the slow log", series.Prepared)
	}
	return nil
}

// leastPrepared is the share of prepared statements that is worth a word.
const leastPrepared = 0.01

func statementsOf(v *Server, rows host.Rows) []series.Statement {
	var all []series.Statement
	for _, row := range rows.Values {
		var n [7]float64
		ok := true
		for i := 2; i < 6; i++ {
			var err error
			n[i], err = strconv.ParseFloat(host.Text(row, i), 64)
			ok = ok && err == nil
		}
		if !ok {
			continue
		}
		s := series.Statement{Of: v.Ref, Database: host.Text(row, 0), ID: host.Text(row, 1), Calls: n[2], Seconds: n[3] / 1e12, Examined: &n[4], Returned: &n[5]}
		s.Rest, s.Text = host.Cell(row, 1) == nil, bounded(host.Text(row, 7))
		if at, err := strconv.ParseFloat(host.Text(row, 6), 64); err == nil && at > 0 && at < 1e11 {
			s.Since = time.Unix(int64(at), 0).UTC()
		}
		if s.Rest {
			s.ID = "rest"
		} else {
			s.ID += "/" + s.Database // one digest is counted for each database
		}
		all = append(all, s)
	}
	return all
}

// isDigest: MD5 or SHA-256 in hex.
func isDigest(d string) bool {
	return (len(d) == 32 || len(d) == 64) && strings.Trim(d, "0123456789abcdef") == ""
}

// Texts gives the texts of statements by their id, as far as the server still
// has them. A digest's text holds no literal.
func (v *Server) Texts(ctx context.Context, h host.Reader, ids []string) (map[string]string, error) {
	texts := map[string]string{}
	list := []string{}
	for _, id := range ids {
		d, _, _ := strings.Cut(id, "/")
		if isDigest(d) && len(list) < series.MostSessions {
			list = append(list, "'"+d+"'")
		}
	}
	if len(list) == 0 {
		return texts, nil
	}
	rows, err := v.Ask(ctx, h, "SELECT SCHEMA_NAME, DIGEST, DIGEST_TEXT FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST IN ("+strings.Join(list, ", ")+")")
	if err != nil {
		return nil, err
	}
	for _, row := range rows.Values {
		texts[host.Text(row, 1)+"/"+host.Text(row, 0)] = bounded(host.Text(row, 2))
	}
	return texts, nil
}
