package postgres

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"plumb/internal/host"
	"plumb/internal/host/statement"
)

// PlannerEngine names the dialer of sessions that explain statements.
const PlannerEngine = "postgres plans"

// Planner opens sessions in which statements of others are explained. They are
// read-only and bounded as all are, and take nothing but EXPLAIN of one
// statement in its general form, without ANALYZE.
type Planner struct{ Dialer }

// Dial implements host.Dialer.
func (Planner) Dial(ctx context.Context, t host.Target, secret func(string) ([]byte, error)) (host.Session, error) {
	s, err := logIn(ctx, t, secret, (*session).bound)
	if err != nil {
		return nil, err
	}
	return planning{s, s}, nil
}

// planning keeps what a server says of a statement out of its errors. Not every literal is taken out of the text that is
// explained, and a function that the planner runs says what its owner likes.
type planning struct {
	host.Session
	host.Ender
}

// Query implements host.Session.
func (p planning) Query(ctx context.Context, query string, limits host.QueryLimits) (host.Rows, error) {
	rows, err := p.Session.Query(ctx, query, limits)
	e, ok := errors.AsType[said](err)
	if !ok {
		return rows, err
	}
	text := "the server gave SQLSTATE " + e.code
	if name := conditions[e.code]; name != "" {
		text += ", " + name
	}
	return rows, host.ErrorOf(host.KindOf(err), text+"; its message is not shown because it can quote values")
}

// conditions are what the manual calls the errors of a statement that is explained later, and by another role.
var conditions = map[string]string{
	"25006": "read_only_sql_transaction", "3F000": "invalid_schema_name", "42601": "syntax_error", "42703": "undefined_column", "42704": "undefined_object",
	"42804": "datatype_mismatch", "42883": "undefined_function", "42P01": "undefined_table", "42P02": "undefined_parameter", "42P18": "indeterminate_datatype",
	"55P03": "lock_not_available", "57014": "query_canceled", "P0001": "raise_exception",
}

// ToPlan gives the way to a session of a planner, in a database.
func ToPlan(t host.Target, database string) host.Target {
	t = In(t, database)
	t.Engine, t.Name = PlannerEngine, t.Name+" plans"
	return t
}

// Explain asks for the plan of a statement with parameters, under the search
// path that it ran under.
func Explain(path []string, text string) string {
	quoted := make([]string, len(path))
	for i, schema := range path {
		quoted[i] = Identifier(schema)
	}
	if len(quoted) == 0 {
		quoted = []string{`pg_catalog`}
	}
	return "SET LOCAL search_path = " + strings.Join(quoted, ", ") + "; EXPLAIN (GENERIC_PLAN, FORMAT JSON) " + text
}

const schemaName = `(?:pg_catalog|"(?:[^"\x00\\]|"")*")`

var explaining = regexp.MustCompile(`^SET LOCAL search_path = ` + schemaName + `(?:, ` + schemaName + `)*; EXPLAIN \(GENERIC_PLAN, FORMAT JSON\) `)

// Reads implements host.Dialer.
func (Planner) Reads(query string) bool {
	head := explaining.FindString(query)
	return head != "" && statement.Plannable(query[len(head):])
}

// RightsQuery asks whether the user can do more than read: itself, or through
// any role that it is a member of.
const RightsQuery = `SELECT count(*) FROM pg_roles r WHERE pg_has_role(current_user, r.oid, 'MEMBER') AND (r.rolsuper OR r.rolcreaterole OR r.rolreplication OR r.rolbypassrls
OR r.rolname IN ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files', 'pg_write_all_data', 'pg_signal_backend', 'pg_maintain', 'pg_create_subscription'))`

// Powerful tells it from an answer to [RightsQuery].
func Powerful(rows host.Rows) bool {
	return len(rows.Values) != 1 || host.Text(rows.Values[0], 0) != "0"
}

// SearchPath reads a setting search_path: "$user" stands for the role itself.
func SearchPath(setting, role string) []string {
	var out []string
	for _, part := range splitPath(setting) {
		if part == "$user" {
			part = role
		}
		if part != "" && !slices.Contains(out, part) {
			out = append(out, part)
		}
	}
	return out
}

// splitPath divides a list of names, which can be quoted.
func splitPath(setting string) []string {
	var out []string
	var name strings.Builder
	quoted, was := false, false
	end := func() {
		text := name.String()
		if !was {
			text = strings.ToLower(strings.TrimSpace(text))
		}
		out = append(out, text)
		name.Reset()
		was = false
	}
	for i := 0; i < len(setting); i++ {
		switch c := setting[i]; {
		case c == '"' && quoted && i+1 < len(setting) && setting[i+1] == '"':
			name.WriteByte('"')
			i++
		case c == '"':
			quoted = !quoted
			if quoted {
				was = true
				name.Reset()
			}
		case c == ',' && !quoted:
			end()
		case was && !quoted: // spaces behind a quoted name
		default:
			name.WriteByte(c)
		}
	}
	end()
	return out
}
