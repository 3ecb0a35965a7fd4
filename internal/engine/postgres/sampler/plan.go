package sampler

import (
	"context"
	"encoding/json"
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

// Plan implements [sample.Planner]. What cannot be planned says why.
func (p Planner) Plan(ctx context.Context, h host.Reader, s *stack.Stack, of series.Statement) series.Plan {
	out := series.Plan{Of: of.Of, Statement: of.ID}
	if err := p.Server(s, of.Of).plan(ctx, h, of, p.Powerful, &out); err != nil {
		out.Why, out.Hint = err.Error(), hint.Of(err)
	}
	return out
}

// mostDatabases is in how many databases indexes are looked for, the largest first.
const mostDatabases = 8

// Indexes implements [sample.Planner]. What could not be read of one database
// does not hide the others.
func (p Planner) Indexes(ctx context.Context, h host.Reader, s *stack.Stack, of stack.Ref) (all []series.Index, err error) {
	v := p.Server(s, of)
	rows, err := v.Ask(ctx, h, fmt.Sprintf("SELECT datname FROM pg_database WHERE datallowconn AND NOT datistemplate AND has_database_privilege(datname, 'CONNECT') ORDER BY oid LIMIT %d", mostDatabases))
	if err != nil {
		return nil, err
	}
	for _, row := range rows.Values {
		some, err2 := v.Indexes(ctx, h, host.Text(row, 0))
		all, err = append(all, some...), errors.Join(err, err2)
	}
	return all, err
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

func (v *Server) plan(ctx context.Context, h host.Reader, of series.Statement, powerful bool, out *series.Plan) error {
	var ids [3]int64
	parts := strings.Split(of.ID, "/")
	for i := range ids {
		if len(parts) != len(ids) {
			return errors.New("it is no single statement")
		}
		var err error
		if ids[i], err = strconv.ParseInt(parts[i], 10, 64); err != nil {
			return errors.New("it is no single statement")
		}
	}
	t, err := v.learn(ctx, h)
	if err != nil {
		return err
	}
	if err := v.lacking(t); err != nil {
		return err
	}
	if t.major < 16 {
		return hint.With(fmt.Errorf("PostgreSQL %d keeps a statement without its values, and plans one without values only since 16 (EXPLAIN GENERIC_PLAN)", t.major), "EXPLAIN it by hand with values, or load auto_explain")
	}
	rows, err := v.Ask(ctx, h, statementQuery(t, ids[0], ids[1], ids[2]))
	if err != nil {
		return err
	}
	if len(rows.Values) != 1 {
		return errors.New("the server knows its text no more")
	}
	row := rows.Values[0]
	text := host.Text(row, 0)
	if !statement.Plannable(text, true) {
		return errors.New("it is no SELECT, INSERT, UPDATE, DELETE or MERGE that can surely be explained without running any of it")
	}
	if !powerful {
		rows, err := v.Ask(ctx, h, postgres.RightsQuery)
		if err != nil {
			return err
		}
		if postgres.Powerful(rows) {
			return hint.With(errors.New("explaining runs functions that others may have written, with the rights of our role, which can do more than read"),
				"let Plumb log in as a role that may only read (`plumb watch --grants`, and SELECT on the tables); or --plans-as-superuser, if you trust all who may create functions there")
		}
	}
	return v.explain(ctx, h, host.Text(row, 1), postgres.SearchPath(host.Text(row, 3), host.Text(row, 2)), text, out)
}

// explain asks in a session of its own. Errors of the server do not quote values:
// there are none in the text.
func (v *Server) explain(ctx context.Context, h host.Reader, database string, path []string, text string, out *series.Plan) error {
	target, err := v.Target(ctx, h)
	if err != nil {
		return err
	}
	rows, err := h.Query(ctx, postgres.ToPlan(target, database), postgres.Explain(path, text))
	for _, kind := range []error{host.ErrRefused, host.ErrDenied} {
		if errors.Is(err, kind) {
			return hint.With(fmt.Errorf("explain it in %s: %w", database, kind), "grant our role SELECT on the tables; of a change, the right to make it")
		}
	}
	if err != nil {
		return fmt.Errorf("explain it in %s: %w", database, err)
	}
	if len(rows.Values) != 1 {
		return errors.New("the server's plan is not one document")
	}
	out.By = "its general form, as the planner sees it without values"
	out.Steps, err = readPlan([]byte(host.Text(rows.Values[0], 0)))
	return err
}

// node is what is taken of a node of a plan: names of tables and indexes and the
// planner's numbers, and never a condition, which has constants in it.
type node struct {
	Type     string   `json:"Node Type"`
	Does     string   `json:"Operation"`
	Relation string   `json:"Relation Name"`
	Alias    string   `json:"Alias"`
	Index    string   `json:"Index Name"`
	Join     string   `json:"Join Type"`
	Strategy string   `json:"Strategy"`
	Rows     *float64 `json:"Plan Rows"`
	Cost     *float64 `json:"Total Cost"`
	Plans    []node   `json:"Plans"`
}

// readPlan reads a plan of EXPLAIN (FORMAT JSON).
func readPlan(text []byte) ([]series.PlanStep, error) {
	var all []struct{ Plan node }
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, errors.New("read the server's plan: it is no JSON of a plan")
	}
	var steps []series.PlanStep
	for _, p := range all {
		steps = p.Plan.steps(0, steps)
	}
	if len(steps) == 0 {
		return nil, errors.New("the server's plan has no step")
	}
	return steps, nil
}

// deepest is how deep plans are followed.
const deepest = 100

func (n node) steps(depth int, to []series.PlanStep) []series.PlanStep {
	if len(to) >= series.MostPlanSteps || depth > deepest || n.Type == "" {
		return to
	}
	does := n.Type
	if n.Type == "ModifyTable" && n.Does != "" {
		does = n.Does
	}
	if n.Join != "" && n.Join != "Inner" {
		does += ", " + n.Join
	}
	if n.Strategy == "Hashed" || n.Strategy == "Mixed" {
		does += ", " + n.Strategy
	}
	if n.Index != "" {
		does += " using " + n.Index
	}
	if n.Relation != "" {
		does += " on " + n.Relation
		if n.Alias != "" && n.Alias != n.Relation {
			does += " " + n.Alias
		}
	}
	to = append(to, series.PlanStep{Depth: depth, Does: does, Rows: n.Rows, Cost: n.Cost, Mark: n.Type == "Seq Scan" || n.Type == "Sort" || n.Type == "Materialize"})
	for _, inner := range n.Plans {
		to = inner.steps(depth+1, to)
	}
	return to
}
