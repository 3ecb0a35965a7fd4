package redact

import (
	"slices"
	"strings"
)

// Rows redacts the answer to a query: the columns that hold passwords, the
// values of settings that do, and passwords inside other text. The given rows
// are not changed; cells without a secret are shared.
func Rows(query string, columns []string, values [][]*string) [][]*string {
	secret := make([]bool, len(columns))
	names, settings := -1, make([]bool, len(columns))
	for i, column := range columns {
		secret[i] = secretKey(strings.TrimLeft(column, "@"))
		if names < 0 && isNameColumn(column) {
			names = i
		}
		settings[i] = isValueColumn(column)
	}
	if len(columns) == 2 && names >= 0 {
		settings[1-names] = true
	}
	out := values
	for r, row := range values {
		hides := names >= 0 && names < len(row) && row[names] != nil && secretKey(*row[names])
		for c, cell := range row {
			if cell == nil || *cell == "" {
				continue
			}
			redacted := Mark
			hidden := c < len(columns) && (secret[c] || (hides && settings[c]))
			if !hidden {
				redacted = text(*cell, plain)
			}
			if redacted == *cell {
				continue
			}
			if &out[0] == &values[0] {
				out = slices.Clone(values)
			}
			if &out[r][0] == &values[r][0] {
				out[r] = slices.Clone(row)
			}
			out[r][c] = &redacted
		}
	}
	return out
}

// isNameColumn: SHOW VARIABLES, pg_settings, performance_schema.
func isNameColumn(column string) bool {
	lower := strings.ToLower(column)
	return slices.Contains([]string{"name", "key", "option", "parameter", "variable", "setting_name", "guc"}, lower) ||
		strings.Contains(lower, "variable_name")
}

func isValueColumn(column string) bool {
	lower := strings.ToLower(column)
	if slices.Contains([]string{"v", "val", "setting", "current_setting"}, lower) {
		return true
	}
	return (strings.Contains(lower, "value") || strings.HasSuffix(lower, "_val")) && !strings.HasPrefix(lower, "min_") && !strings.HasPrefix(lower, "max_")
}
