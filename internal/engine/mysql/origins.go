package mysql

import (
	"slices"
	"strings"

	"plumb/internal/host"
	"plumb/internal/stack"
)

// ourOwn are the variables our session sets: see session.bound.
var ourOwn = []string{"lock_wait_timeout", "max_execution_time", "transaction_read_only"}

// readOrigins asks the server where each value comes from. MySQL 5.7 does not
// tell and gives an empty map.
func (l *look) readOrigins() map[string]origin {
	if l.isMariaDB() {
		// GLOBAL_VALUE_PATH is there since 10.5.
		rows, ok := l.query("SELECT VARIABLE_NAME, GLOBAL_VALUE_ORIGIN, GLOBAL_VALUE_PATH, DEFAULT_VALUE FROM information_schema.SYSTEM_VARIABLES")
		if !ok {
			return nil
		}
		return mariadbOrigins(rows)
	}
	if !AtLeast(l.in.version, "8.0") {
		return nil
	}
	rows, ok := l.query("SELECT VARIABLE_NAME, VARIABLE_SOURCE, VARIABLE_PATH FROM performance_schema.variables_info")
	if !ok {
		return nil
	}
	return mysqlOrigins(rows)
}

// mariadbOrigins reads information_schema.SYSTEM_VARIABLES.
func mariadbOrigins(rows host.Rows) map[string]origin {
	from := map[string]string{
		"CONFIG": stack.FromFile, "COMMAND-LINE": stack.FromCommand, "AUTO": stack.FromComputed,
		"SQL": stack.FromRuntime, "COMPILE-TIME": stack.FromDefault, "ENVIRONMENT": stack.FromCommand,
	}
	out := make(map[string]origin, len(rows.Values))
	for _, r := range rows.Values {
		if len(r) < 4 || r[0] == nil {
			continue
		}
		o := origin{from: from[host.Text(r, 1)], file: host.Text(r, 2)}
		if r[3] != nil {
			o.usual, o.tells = *r[3], true
		}
		if o.from != "" {
			out[strings.ToLower(*r[0])] = o
		}
	}
	return out
}

// mysqlOrigins reads performance_schema.variables_info.
func mysqlOrigins(rows host.Rows) map[string]origin {
	from := map[string]string{
		"COMPILED": stack.FromDefault, "GLOBAL": stack.FromFile, "SERVER": stack.FromFile, "EXPLICIT": stack.FromFile,
		"EXTRA": stack.FromFile, "USER": stack.FromFile, "LOGIN": stack.FromFile, "COMMAND_LINE": stack.FromCommand,
		"PERSISTED": stack.FromPersisted, "DYNAMIC": stack.FromRuntime,
	}
	out := make(map[string]origin, len(rows.Values))
	for _, r := range rows.Values {
		if len(r) < 3 || r[0] == nil {
			continue
		}
		if slices.Contains(ourOwn, strings.ToLower(*r[0])) {
			continue // it tells of this session, which we have bounded
		}
		if o := (origin{from: from[host.Text(r, 1)], file: host.Text(r, 2)}); o.from != "" {
			out[strings.ToLower(*r[0])] = o
		}
	}
	return out
}
