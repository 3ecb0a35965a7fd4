package mysql

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"plumb/internal/host"
	"plumb/internal/host/statement"
)

// PlannerEngine names the dialer of sessions that explain statements.
const PlannerEngine = "mysql plans"

// Planner opens sessions in which statements of others are explained. They are
// read-only and bounded as all are, and take nothing but EXPLAIN: of a text that
// only reads, or of what a session runs now.
type Planner struct{}

// ToPlan gives the way to a session of a planner, in a database.
func ToPlan(t host.Target, database string) host.Target {
	t.Engine, t.Name = PlannerEngine, t.Name+" plans/"+database
	t.Logins = slices.Clone(t.Logins)
	for i := range t.Logins {
		t.Logins[i].Database = database
	}
	return t
}

// explain is how each question begins.
const explain = "EXPLAIN FORMAT=JSON "

// Explain asks for the plan of a statement.
func Explain(text string) string { return explain + text }

var ofSession = regexp.MustCompile(`^FOR CONNECTION [0-9]+$`)

// Reads implements host.Dialer.
func (Planner) Reads(query string) bool {
	text, ok := strings.CutPrefix(query, explain)
	return ok && (ofSession.MatchString(text) || statement.PlannableSelect(text))
}

// Dial implements host.Dialer.
func (Planner) Dial(ctx context.Context, t host.Target, secret func(string) ([]byte, error)) (host.Session, error) {
	s, err := logIn(t, secret, func(cfg *mysql.Config) (*session, error) {
		cfg.DBName = t.Logins[0].Database
		return begin(ctx, cfg, (*session).planning)
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// explainForm has plans written in the form that is read. MySQL has others since 8.3.
const explainForm = "SET SESSION explain_json_format_version = 1"

// Opens implements host.Opener.
func (Planner) Opens() []string { return append(bounds(), explainForm) }

// planning bounds the session, and has plans written in the form that is read.
func (s *session) planning(ctx context.Context) error {
	if err := s.bound(ctx); err != nil {
		return err
	}
	_, err := s.conn.ExecContext(ctx, explainForm)
	if code(err) == unknownVariable {
		return nil
	}
	return err
}

// harmless are the rights of a user who can do no harm where a function that
// somebody else wrote runs with them.
var harmless = []string{"USAGE", "SELECT", "PROCESS", "SHOW VIEW", "SHOW DATABASES", "REPLICATION CLIENT", "BINLOG MONITOR", "SLAVE MONITOR", "REPLICA MONITOR"}

// RightsQuery asks for the rights that the user has on the whole server.
const RightsQuery = "SELECT PRIVILEGE_TYPE FROM information_schema.USER_PRIVILEGES WHERE REPLACE(GRANTEE, '''', '') = CURRENT_USER()"

// ErrPowerful says that a user has rights that must not come into the hands of
// whoever wrote the functions of a statement.
var ErrPowerful = errors.New("explaining runs functions that others may have written, with the rights of our user")

// Powerful tells from an answer to [RightsQuery] whether a user can do more than read.
func Powerful(rows host.Rows) bool {
	for _, row := range rows.Values {
		if !slices.Contains(harmless, strings.ToUpper(host.Text(row, 0))) {
			return true
		}
	}
	return len(rows.Values) == 0 // nothing is known of it
}
