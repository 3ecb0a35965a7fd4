package sampler

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"plumb/internal/engine/mysql"
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
	Powerful bool // a person said that our user's rights may be used to explain texts of others
}

// Plan implements [sample.Planner].
func (p Planner) Plan(ctx context.Context, h host.Reader, s *stack.Stack, of series.Statement) (series.Plan, error) {
	return p.Server(s, of.Of).plan(ctx, h, of, p.Powerful)
}

// Indexes implements [sample.Planner].
func (p Planner) Indexes(ctx context.Context, h host.Reader, s *stack.Stack, of stack.Ref) ([]series.Index, error) {
	return p.Server(s, of).Indexes(ctx, h)
}

var _ sample.Planner = Planner{}

// tries is how often a session is looked for that still runs the statement when
// its plan was told: of most statements there is none.
const tries = 8

func (v *Server) plan(ctx context.Context, h host.Reader, of series.Statement, powerful bool) (series.Plan, error) {
	digest, database, _ := strings.Cut(of.ID, "/")
	if !isDigest(digest) {
		return series.Plan{}, errors.New("it is not a single statement")
	}
	t, err := v.learn(ctx, h)
	if err != nil {
		return series.Plan{}, err
	}
	if !t.schema {
		return series.Plan{}, hint.With(errors.New("which sessions run it is not known: the performance schema is off or not open to this user"), schemaHint)
	}
	texts, err := v.Texts(ctx, h, []string{of.ID})
	if err != nil {
		return series.Plan{}, err
	}
	l := sought{digest: digest, database: database, text: texts[of.ID], powerful: powerful}
	var missed error
	for range tries {
		ran, err := v.ranBy(ctx, h, l)
		if err != nil {
			return series.Plan{}, err
		}
		if l.ran == "" {
			l.ran = ran.text
		}
		if !ran.now {
			continue
		}
		var p series.Plan
		if p, missed = v.running(ctx, h, ran); missed == nil {
			return p, nil
		}
		if errors.Is(missed, context.DeadlineExceeded) || errors.Is(missed, host.ErrDenied) || errors.Is(missed, host.ErrLogin) {
			break // MariaDB's sessions do not answer while they wait for a lock, and MySQL wants all global rights for it
		}
	}
	p, err := v.byText(ctx, h, t, l)
	if err != nil && missed != nil {
		err = hint.With(fmt.Errorf("%w; of a session that runs it: %w", err, missed), hint.Of(err))
	}
	return p, err
}

// sought is the statement whose plan is wanted.
type sought struct {
	digest, database string
	text             string // without literals
	ran              string // as a session ran it last; "" when none is known
	powerful         bool   // our user's rights may be used
}

// ran is a session that runs a statement, or ran it last.
type ran struct {
	thread, event, session int64
	now                    bool
	text                   string // with its literals: shown to nobody
}

// ranBy finds a session that runs a statement, or else one that ran it last. Of
// what runs now MariaDB tells no digest: its words tell which statement it is.
func (v *Server) ranBy(ctx context.Context, h host.Reader, l sought) (r ran, err error) {
	rows, err := v.Ask(ctx, h, "SELECT e.THREAD_ID, e.EVENT_ID, t.PROCESSLIST_ID, e.END_EVENT_ID IS NULL AS runs, e.CURRENT_SCHEMA, e.SQL_TEXT, e.DIGEST "+
		"FROM performance_schema.events_statements_current e JOIN performance_schema.threads t ON t.THREAD_ID = e.THREAD_ID "+
		"WHERE e.DIGEST = '"+l.digest+"' OR e.DIGEST IS NULL AND e.END_EVENT_ID IS NULL ORDER BY runs DESC LIMIT 256")
	for _, row := range rows.Values {
		if host.Text(row, 4) != l.database || host.Cell(row, 6) == nil && !sample.SameWords(l.text, host.Text(row, 5)) {
			continue
		}
		for i, into := range []*int64{&r.thread, &r.event, &r.session} {
			*into, _ = strconv.ParseInt(host.Text(row, i), 10, 64)
		}
		r.now, r.text = host.Text(row, 3) == "1", host.Text(row, 5)
		return r, err
	}
	return r, err
}

// running asks for the plan by which a session runs a statement now. By the time
// it is told the session may run another one: then it is of no use.
func (v *Server) running(ctx context.Context, h host.Reader, r ran) (series.Plan, error) {
	steps, err := v.explain(ctx, h, "", fmt.Sprintf("FOR CONNECTION %d", r.session))
	if err != nil {
		return series.Plan{}, err
	}
	rows, err := v.Ask(ctx, h, fmt.Sprintf("SELECT 1 FROM performance_schema.events_statements_current WHERE THREAD_ID = %d AND EVENT_ID = %d AND END_EVENT_ID IS NULL", r.thread, r.event))
	if err != nil || len(rows.Values) != 1 {
		return series.Plan{}, errors.New("the session runs it no more")
	}
	return series.Plan{By: fmt.Sprintf("session %d, which runs it now", r.session), Steps: steps}, nil
}

// byText has a text explained that somebody ran.
func (v *Server) byText(ctx context.Context, h host.Reader, t traits, l sought) (series.Plan, error) {
	text, by, err := v.textOf(ctx, h, t, l)
	if err == nil {
		err = explainable(text)
	}
	if err == nil && !l.powerful {
		err = v.harmless(ctx, h, t)
	}
	if err != nil {
		return series.Plan{}, err
	}
	steps, err := v.explain(ctx, h, l.database, text)
	return series.Plan{By: by, Steps: steps}, v.Refused(err)
}

// textOf gives a text that the server kept of a statement, or else that of a session that ran it.
func (v *Server) textOf(ctx context.Context, h host.Reader, t traits, l sought) (text, by string, err error) {
	text, by = l.ran, "the text that a session ran last"
	if t.mariadb() || !mysql.AtLeast(t.version, "8.0.3") {
		return text, by, nil
	}
	rows, err := v.Ask(ctx, h, "SELECT SCHEMA_NAME, QUERY_SAMPLE_TEXT FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST = '"+l.digest+"' LIMIT 64")
	for _, row := range rows.Values {
		if kept := host.Text(row, 1); kept != "" && host.Text(row, 0) == l.database {
			text, by = kept, "a sample of it that the server kept"
		}
	}
	return text, by, err
}

// explainable is an error for a text that cannot be explained in a session of ours.
func explainable(text string) error {
	switch {
	case text == "":
		return hint.With(errors.New("no session is running it now, and its text is not known: this server keeps no samples"), "ask again while it runs; the consumer events_statements_current shows who does")
	case strings.HasSuffix(text, "...") || len(text) >= shortestCut:
		return errors.New("its text was cut by the server (performance_schema_max_sql_text_length)")
	case !statement.PlannableSelect(text):
		return hint.With(errors.New("only the text of a plain SELECT can be explained in a session that may not write"), "ask again while it runs")
	}
	return nil
}

// harmless is an error where our user can do more than read: explaining may run functions that others wrote.
func (v *Server) harmless(ctx context.Context, h host.Reader, t traits) error {
	rows, err := v.Ask(ctx, h, rightsQuery(t))
	if err == nil && mysql.Powerful(rows) {
		err = hint.With(mysql.ErrPowerful, "let Plumb log in as a user who may only read (`plumb watch --grants`, and SELECT on the tables); or --plans-as-superuser, if you trust all who may create functions and views there")
	}
	return err
}

// shortestCut is a little below the length at which a server cuts texts.
const shortestCut = 1020

func rightsQuery(t traits) string {
	if t.mariadb() || mysql.AtLeast(t.version, "8.0.19") {
		return mysql.RightsQuery + " UNION ALL SELECT 'ROLE' FROM information_schema.ENABLED_ROLES WHERE ROLE_NAME IS NOT NULL"
	}
	return mysql.RightsQuery
}

// explain asks one question of a session of its own.
func (v *Server) explain(ctx context.Context, h host.Reader, database, what string) ([]series.PlanStep, error) {
	t, err := v.Target(ctx, h)
	if err != nil {
		return nil, err
	}
	rows, err := h.Query(ctx, mysql.ToPlan(t, database), mysql.Explain(what))
	if err != nil {
		return nil, withoutText(err, what)
	}
	if len(rows.Values) != 1 {
		return nil, errors.New("the server's plan is not one document")
	}
	return readPlan([]byte(host.Text(rows.Values[0], 0)))
}

// withoutText keeps the statement out of an error: it has its literals in it, and
// a server's error quotes it.
func withoutText(err error, text string) error {
	if strings.HasPrefix(text, "FOR CONNECTION") {
		return err
	}
	for _, kind := range []error{host.ErrDenied, host.ErrDown, host.ErrLogin, host.ErrRefused, context.DeadlineExceeded} {
		if errors.Is(err, kind) {
			return fmt.Errorf("explain it: %w", kind)
		}
	}
	return errors.New("explain it: the server gave an error, which is not shown because it can quote the statement")
}
