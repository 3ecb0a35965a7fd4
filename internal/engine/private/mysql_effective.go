package private

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	engine "plumb/internal/engine/mysql"
	"plumb/internal/host"
	"plumb/internal/load"
)

// Effective implements lab.Engine: all global variables, by their names in
// lower case.
func (mysqlEngine) Effective(ctx context.Context, a load.Admin) (map[string]string, error) {
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
func (e mysqlEngine) Set(setting, value string) (statement, after string, err error) {
	if err := e.setting(setting, value); err != nil {
		return "", "", err
	}
	return fmt.Sprintf("SET GLOBAL %s = %s", mysqlName(setting), mysqlLiteral(strings.TrimSpace(value))), "", nil
}

// mysqlLiteral writes a value in SQL, where numbers have no suffixes.
func mysqlLiteral(value string) string {
	if strings.EqualFold(value, "default") {
		return "DEFAULT"
	}
	if n, ok := number(value); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return engine.Literal(value)
}
