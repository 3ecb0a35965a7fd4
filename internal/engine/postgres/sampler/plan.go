package sampler

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"plumb/internal/engine/postgres"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/statement"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// Planner says how servers carry out statements, and which indexes can be done
// without.
type Planner struct {
	Finder
	Powerful bool // a person said that our role's rights may be used to explain texts of others
}

// Plan implements [sample.Planner].
func (p Planner) Plan(ctx context.Context, h host.Reader, s *stack.Stack, of series.Statement) (series.Plan, error) {
	return p.Server(s, of.Of).plan(ctx, h, of, p.Powerful)
}

// mostDatabases is in how many databases indexes are looked for, the oldest first.
const mostDatabases = 8

// Indexes implements [sample.Planner]. What could not be read of one database
// does not hide the others.
func (p Planner) Indexes(ctx context.Context, h host.Reader, s *stack.Stack, of stack.Ref) (all []series.Index, err error) {
	v := p.Server(s, of)
	rows, err := v.Ask(ctx, h, fmt.Sprintf("SELECT datname, count(*) OVER () FROM pg_database WHERE datallowconn AND NOT datistemplate AND has_database_privilege(datname, 'CONNECT') ORDER BY oid LIMIT %d", mostDatabases))
	if err != nil {
		return nil, err
	}
	for _, row := range rows.Values {
		some, err2 := v.Indexes(ctx, h, host.Text(row, 0))
		all, err = append(all, some...), errors.Join(err, err2)
	}
	return all, errors.Join(err, v.unlooked(rows))
}

// unlooked says how many databases were not looked into; nil: none.
func (v *Server) unlooked(databases host.Rows) error {
	if len(databases.Values) == 0 {
		return nil
	}
	n, err := strconv.Atoi(host.Text(databases.Values[0], 1))
	if left := n - len(databases.Values); err == nil && left > 0 {
		return fmt.Errorf("list the indexes of %s: only the %d oldest of its %d databases are looked into", v.Ref, len(databases.Values), n)
	}
	return err
}

var _ sample.Planner = Planner{}

// statementQuery gives the text of one statement, the role and database it ran
// as and in, and the search path that these are set to. A session can have set
// another one: nobody else knows that.
func statementQuery(t traits, query, role, database int64) string {
	return fmt.Sprintf(`SELECT s.query, d.datname, r.rolname, coalesce(
(SELECT substr(c, 13) FROM pg_db_role_setting p, unnest(p.setconfig) c WHERE c LIKE 'search_path=%%' AND p.setdatabase IN (0, s.dbid) AND p.setrole IN (0, s.userid) ORDER BY p.setrole = 0, p.setdatabase = 0 LIMIT 1),
(SELECT reset_val FROM pg_settings WHERE name = 'search_path'))
FROM %s s JOIN pg_database d ON d.oid = s.dbid JOIN pg_roles r ON r.oid = s.userid WHERE s.queryid = %d AND s.userid = %d AND s.dbid = %d LIMIT 1`,
		t.view(true), query, role, database)
}

// parseID reads the id of a statement: its own, the role's and the database's.
// What stands for several statements has none.
func parseID(id string) (query, role, database int64, ok bool) {
	parts := strings.Split(id, "/")
	if len(parts) != 3 {
		return 0, 0, 0, false
	}
	query, err := strconv.ParseInt(parts[0], 10, 64)
	role, err2 := strconv.ParseInt(parts[1], 10, 64)
	database, err3 := strconv.ParseInt(parts[2], 10, 64)
	return query, role, database, err == nil && err2 == nil && err3 == nil
}

func (v *Server) plan(ctx context.Context, h host.Reader, of series.Statement, powerful bool) (series.Plan, error) {
	g, err := v.generalForm(ctx, h, of.ID)
	if err == nil && !powerful {
		err = v.harmless(ctx, h)
	}
	if err != nil {
		return series.Plan{}, err
	}
	return v.explain(ctx, h, g)
}

// general is a statement as the server keeps it: without its values.
type general struct {
	text     string
	database string
	path     []string // schemas in which its names are looked up
}

// generalForm finds a statement that can be explained.
func (v *Server) generalForm(ctx context.Context, h host.Reader, id string) (g general, err error) {
	query, role, database, single := parseID(id)
	if !single {
		return g, errors.New("it is not a single statement")
	}
	t, err := v.learn(ctx, h)
	if err != nil {
		return g, err
	}
	if err := v.lacking(t); err != nil {
		return g, err
	}
	if t.major < 16 {
		return g, hint.With(fmt.Errorf("PostgreSQL %d keeps a statement without its values, and can plan one without values only since 16 (EXPLAIN GENERIC_PLAN)", t.major), "EXPLAIN it by hand with values, or load auto_explain")
	}
	rows, err := v.Ask(ctx, h, statementQuery(t, query, role, database))
	if err != nil {
		return g, err
	}
	if len(rows.Values) != 1 {
		return g, errors.New("the server knows its text no more")
	}
	row := rows.Values[0]
	g = general{text: host.Text(row, 0), database: host.Text(row, 1), path: postgres.SearchPath(host.Text(row, 3), host.Text(row, 2))}
	if !statement.Plannable(g.text) {
		return g, errors.New("it is not a SELECT, INSERT, UPDATE, DELETE or MERGE that can surely be explained without running any of it")
	}
	return g, nil
}

// harmless is an error where our role can do more than read: explaining may run functions that others wrote.
func (v *Server) harmless(ctx context.Context, h host.Reader) error {
	rows, err := v.Ask(ctx, h, postgres.RightsQuery)
	if err == nil && postgres.Powerful(rows) {
		err = hint.With(errors.New("explaining runs functions that others may have written, with the rights of our role, which can do more than read"),
			"let Plumb log in as a role that may only read (`plumb watch --grants`, and SELECT on the tables); or --plans-as-superuser, if you trust all who may create functions there")
	}
	return err
}

// explain asks in a session of its own.
func (v *Server) explain(ctx context.Context, h host.Reader, g general) (series.Plan, error) {
	target, err := v.Target(ctx, h)
	if err != nil {
		return series.Plan{}, err
	}
	rows, err := h.Query(ctx, postgres.ToPlan(target, g.database), postgres.Explain(g.path, g.text))
	for _, kind := range []error{host.ErrRefused, host.ErrDenied} {
		if errors.Is(err, kind) {
			return series.Plan{}, hint.With(fmt.Errorf("explain it in %s: %w", g.database, kind), "grant our role SELECT on the tables; of a change, the right to make it")
		}
	}
	if err != nil {
		return series.Plan{}, fmt.Errorf("explain it in %s: %w", g.database, err)
	}
	if len(rows.Values) != 1 {
		return series.Plan{}, errors.New("the server's plan is not one document")
	}
	steps, err := readPlan([]byte(host.Text(rows.Values[0], 0)))
	return series.Plan{By: "its general form, as the planner sees it without values", Steps: steps}, err
}
