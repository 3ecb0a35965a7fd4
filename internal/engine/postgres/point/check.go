package point

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/protect"
)

// Reached implements protect.Starter.
func (e Engine) Reached(_ context.Context, _ load.Admin, c protect.Copy, recovered protect.Position) (protect.Check, error) {
	return protect.Check{What: "recovered at least to " + c.Position.LSN, Wrong: e.Same(c.Position, recovered)}, nil
}

// Check implements protect.Starter. All of it reads: what amcheck needs is made in a
// transaction that is rolled back.
func (Engine) Check(ctx context.Context, a load.Admin, c protect.Copy, full bool) (all []protect.Check, err error) {
	names, err := Databases(ctx, a)
	if err != nil {
		return all, err
	}
	for _, name := range names {
		found, err := checkDatabase(ctx, c, name, full)
		if all = append(all, found...); err != nil {
			return all, fmt.Errorf("check database %s: %w", name, err)
		}
	}
	return all, nil
}

// Databases lists those that somebody can use.
func Databases(ctx context.Context, a load.Admin) (names []string, err error) {
	rows, err := a.Query(ctx, "SELECT datname FROM pg_database WHERE datallowconn AND datconnlimit <> -2 ORDER BY oid")
	for _, row := range rows.Values {
		names = append(names, host.Text(row, 0))
	}
	return names, err
}

// looking is the look at one database.
type looking struct {
	ctx      context.Context
	a        load.Admin
	database string
	full     bool
	amcheck  string // its schema, quoted; "" where it is not to be had
	heap     bool   // it checks tables, too
	compares bool   // and indexes with their tables
}

func checkDatabase(ctx context.Context, c protect.Copy, database string, full bool) (all []protect.Check, err error) {
	a, err := Dial(ctx, c, database)
	if err != nil {
		return nil, err
	}
	defer a.Close() // and with it the transaction
	l := looking{ctx: ctx, a: a, database: database, full: full}
	if err := l.begin(c.Purpose != protect.ForReplica); err != nil {
		return nil, err
	}
	for _, look := range []func() (protect.Check, error){l.read, l.indexes, l.tables} {
		found, err := look()
		if found.What != "" {
			all = append(all, found)
		}
		if err != nil {
			return all, err
		}
	}
	return all, a.Exec(ctx, "ROLLBACK")
}

// begin finds amcheck, or makes it for this transaction.
func (l *looking) begin(make bool) error {
	const installed = "SELECT quote_ident(n.nspname), EXISTS (SELECT 1 FROM pg_proc WHERE pronamespace = n.oid AND proname = 'verify_heapam'), " +
		"EXISTS (SELECT 1 FROM pg_proc WHERE pronamespace = n.oid AND proname = 'bt_index_check' AND pronargs > 1) " +
		"FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE extname = 'amcheck'"
	if err := l.a.Exec(l.ctx, "BEGIN"); err != nil {
		return err
	}
	rows, err := l.a.Query(l.ctx, installed)
	if err == nil && len(rows.Values) == 0 && make {
		if _, err := l.alone("CREATE EXTENSION amcheck SCHEMA pg_catalog"); err != nil {
			return nil // it is not installed on this machine
		}
		rows, err = l.a.Query(l.ctx, installed)
	}
	if err == nil && len(rows.Values) == 1 {
		row := rows.Values[0]
		l.amcheck, l.heap, l.compares = host.Text(row, 0), host.Text(row, 1) == "t", host.Text(row, 2) == "t"
	}
	return err
}

// alone runs a statement whose failure leaves the transaction as it was.
func (l *looking) alone(statement string) (host.Rows, error) {
	if err := l.a.Exec(l.ctx, "SAVEPOINT plumb"); err != nil {
		return host.Rows{}, err
	}
	rows, err := l.a.Query(l.ctx, statement)
	if err != nil {
		return rows, cmp.Or(l.a.Exec(l.ctx, "ROLLBACK TO plumb"), err)
	}
	return rows, l.a.Exec(l.ctx, "RELEASE plumb")
}

// these picks relations of some kinds; without full, those of the system.
func (l *looking) these(where string) ([]string, []string, error) {
	if !l.full {
		where += " AND c.oid < 16384"
	}
	rows, err := l.a.Query(l.ctx, "SELECT c.oid, c.oid::regclass::text FROM pg_class c LEFT JOIN pg_am am ON am.oid = c.relam "+
		"WHERE c.relpersistence <> 't' AND "+where+" ORDER BY c.oid")
	var oids, names []string
	for _, row := range rows.Values {
		oids, names = append(oids, host.Text(row, 0)), append(names, host.Text(row, 1))
	}
	return oids, names, err
}

const mostWrong = 3 // things that are told of one look

// each asks a question for each relation. An error, and what it answers in a column of that
// name, is wrong.
func (l *looking) each(what, where string, ask func(oid, name string) string) (protect.Check, error) {
	oids, names, err := l.these(where)
	if err != nil {
		return protect.Check{}, err
	}
	check := protect.Check{What: fmt.Sprintf("%s %s in database %s", what, strconv.Itoa(len(oids)), l.database)}
	var wrong []string
	for i, oid := range oids {
		rows, err := l.alone(ask(oid, names[i]))
		if l.ctx.Err() != nil {
			return check, l.ctx.Err()
		}
		switch {
		case err != nil:
			wrong = append(wrong, names[i]+": "+err.Error())
		case slices.Equal(rows.Columns, []string{"wrong"}) && len(rows.Values) > 0:
			wrong = append(wrong, names[i]+": "+host.Text(rows.Values[0], 0))
		}
		if len(wrong) >= mostWrong {
			break
		}
	}
	check.Wrong = strings.Join(wrong, "; ")
	return check, nil
}

// read reads every page of tables, their parts that are kept elsewhere, and
// materialized views; where there are checksums, each is compared.
func (l *looking) read() (protect.Check, error) {
	return l.each("read tables:", "c.relkind IN ('r', 'm', 't') AND c.relpersistence = 'p'", func(_, name string) string { return "SELECT count(*) FROM ONLY " + name })
}

// indexes compares B-trees with their order, and with full with their tables.
func (l *looking) indexes() (protect.Check, error) {
	if l.amcheck == "" {
		return protect.Check{}, nil
	}
	all := ""
	if l.full && l.compares {
		all = ", true"
	}
	return l.each("bt_index_check of indexes:", "am.amname = 'btree' AND c.relkind = 'i' AND EXISTS (SELECT 1 FROM pg_index i WHERE i.indexrelid = c.oid AND i.indisvalid AND i.indisready)",
		func(oid, _ string) string {
			return "SELECT " + l.amcheck + ".bt_index_check(" + oid + "::regclass" + all + ")"
		})
}

// tables looks at the rows of tables and at what they refer to.
func (l *looking) tables() (protect.Check, error) {
	if !l.heap || !l.full {
		return protect.Check{}, nil
	}
	return l.each("verify_heapam of tables:", "c.relkind IN ('r', 'm', 't') AND am.amname = 'heap' AND c.relpersistence = 'p'", func(oid, _ string) string {
		return "SELECT msg || coalesce(' (block ' || blkno || ')', '') AS wrong FROM " + l.amcheck + ".verify_heapam(" + oid + "::regclass, on_error_stop => true) LIMIT 1"
	})
}
