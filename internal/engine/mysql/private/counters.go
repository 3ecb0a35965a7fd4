package private

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/load"
)

// Effective implements lab.Engine: all global variables, by their names in
// lower case.
func (Engine) Effective(ctx context.Context, a load.Admin) (map[string]string, error) {
	return pairs(ctx, a, "SHOW GLOBAL VARIABLES")
}

// pairs reads an answer of names and values.
func pairs(ctx context.Context, a load.Admin, query string) (map[string]string, error) {
	rows, err := a.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	all := make(map[string]string, len(rows.Values))
	for _, row := range rows.Values {
		name, value := host.Cell(row, 0), host.Cell(row, 1)
		if name != nil && value != nil {
			all[strings.ToLower(*name)] = *value
		}
	}
	return all, nil
}

// Set implements lab.Engine. A variable that is read at start only is refused
// by the server. Sessions keep the values they began with of variables that
// also exist in sessions: the load must connect anew.
func (Engine) Set(setting, value string) (statement, after string, err error) {
	if err := validSetting(setting, value); err != nil {
		return "", "", err
	}
	return fmt.Sprintf("SET GLOBAL %s = %s", canonical(setting), literal(strings.TrimSpace(value))), "", nil
}

// literal writes a value in SQL, where numbers have no suffixes.
func literal(value string) string {
	if strings.EqualFold(value, "default") {
		return "DEFAULT"
	}
	if n, ok := number(value); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(value) + "'"
}

// Counters implements lab.Engine.
func (Engine) Counters(ctx context.Context, a load.Admin) (map[string]float64, error) {
	status, err := pairs(ctx, a, "SHOW GLOBAL STATUS")
	if err != nil {
		return nil, err
	}
	all := map[string]float64{}
	for name, counter := range map[string]string{"server written": "innodb_data_written", "server read": "innodb_data_read",
		"server fsyncs": "innodb_data_fsyncs", "server redo written": "innodb_os_log_written"} {
		if n, ok := number(status[counter]); ok {
			all[name] = n
		}
	}
	return all, nil
}
