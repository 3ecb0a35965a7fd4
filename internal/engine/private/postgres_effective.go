package private

import (
	"context"
	"strings"

	engine "plumb/internal/engine/postgres"
	"plumb/internal/host"
	"plumb/internal/load"
)

// Effective implements lab.Engine: all parameters, a number with the unit it
// counts in: "16384 8kB".
func (postgresEngine) Effective(ctx context.Context, a load.Admin) (map[string]string, error) {
	rows, err := a.Query(ctx, "SELECT name, setting, unit FROM pg_settings")
	if err != nil {
		return nil, err
	}
	all := make(map[string]string, len(rows.Values))
	for _, row := range rows.Values {
		all[strings.ToLower(host.Text(row, 0))] = strings.TrimSpace(host.Text(row, 1) + " " + host.Text(row, 2))
	}
	return all, nil
}

// Set implements lab.Engine. The server takes a parameter that counts at start
// only without a word, and goes on as before: read it back. Sessions see the
// value with their next statement.
func (e postgresEngine) Set(setting, value string) (statement, after string, err error) {
	if err := e.setting(setting, value); err != nil {
		return "", "", err
	}
	value = strings.TrimSpace(value)
	text := engine.Literal(value)
	switch key := postgresName(setting); {
	case strings.EqualFold(value, "default"):
		text = "DEFAULT"
	case quotedList(key) && value != "": // one text would be one name
		var all []string
		for name := range strings.SplitSeq(value, ",") {
			all = append(all, engine.Literal(strings.Trim(strings.TrimSpace(name), `"`)))
		}
		text = strings.Join(all, ", ")
	}
	return "ALTER SYSTEM SET " + postgresName(setting) + " = " + text, "SELECT pg_reload_conf()", nil
}

// quotedList tells the parameters whose elements the server writes as quoted
// names.
func quotedList(key string) bool {
	return libraries(key) || key == "search_path" || key == "temp_tablespaces"
}
