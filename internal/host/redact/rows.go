package redact

import (
	"slices"
	"strings"
)

// Rows redacts the answer to a query: the columns that hold passwords, the
// values of settings that do, and passwords inside other text. The given rows
// are not changed; cells without a secret are shared.
func Rows(columns []string, values [][]*string) [][]*string {
	secret, settings, listing := make([]bool, len(columns)), make([]bool, len(columns)), false
	for i, column := range columns {
		secret[i] = secretKey(strings.TrimLeft(column, "@"))
		settings[i] = isValueColumn(column)
		listing = listing || isListingColumn(column)
	}
	if len(columns) == 2 && !listing && !settings[0] {
		settings[1] = true
	}
	monitor := isMonitor(columns)
	out := values
	for r, row := range values {
		name, known := secretName(row, settings)
		for c, cell := range row {
			if cell == nil || *cell == "" {
				continue
			}
			redacted := Mark
			hidden := c < len(columns) && (secret[c] || (name >= 0 && settings[c]) || (known && c != name && !isOriginColumn(columns[c])))
			if !hidden {
				redacted = text(*cell, plain)
			}
			if monitor && c == len(columns)-1 {
				redacted = counted(redacted)
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

// isMonitor: what SHOW ENGINE tells of a storage engine.
func isMonitor(columns []string) bool {
	return slices.EqualFunc(columns, []string{"type", "name", "status"}, strings.EqualFold)
}

// counted keeps of what a storage engine says of itself only its counters, where that is more than a
// line: the rest has texts of statements with their values, and rows of tables.
func counted(status string) string {
	if !strings.Contains(status, "\n") {
		return status
	}
	var kept strings.Builder
	for line := range strings.Lines(status) {
		for _, counter := range []string{"Trx id counter", "History list length", "Log sequence number", "Log flushed up to", "Last checkpoint at"} {
			if number, is := strings.CutPrefix(line, counter); is && strings.Trim(number, "0123456789 \r\n") == "" {
				kept.WriteString(line)
			}
		}
	}
	return kept.String()
}

// secretName finds the cell of a row that names a setting with a secret, and
// whether it is one of those that are surely settings and no table's name.
// The column is not asked: lower(name) and an alias are called anything.
func secretName(row []*string, settings []bool) (cell int, known bool) {
	for i, c := range row {
		if c == nil || (i < len(settings) && settings[i]) || !secretKey(*c) || strings.ContainsAny(*c, " \t\n=:/") {
			continue
		}
		return i, slices.Contains([]string{"ssl_passphrase_command", "report_password", "wsrep_sst_auth", "master_password", "s3_secret_key", "s3_access_key",
			"hashicorp_key_management_token", "file_key_management_filekey", "authentication_ldap_simple_bind_root_pwd",
			"authentication_ldap_sasl_bind_root_pwd", "admin-admin_credentials", "admin-stats_credentials", "admin-cluster_password",
			"mysql-monitor_password", "pgsql-monitor_password", "admin_credentials", "monitor_password"}, strings.ToLower(*c))
	}
	return -1, false
}

// isListingColumn: rows about tables, users and the like are not settings.
func isListingColumn(column string) bool {
	lower := strings.ToLower(column)
	for _, part := range []string{"table", "schema", "relname", "datname", "nspname", "database", "index", "usename", "user", "host"} {
		if strings.Contains(lower, part) {
			return true
		}
	}
	return false
}

// isOriginColumn: where a setting comes from is kept.
func isOriginColumn(column string) bool {
	lower := strings.ToLower(column)
	for _, part := range []string{"source", "origin", "path", "line", "unit", "context", "type", "applied", "error", "pending", "category", "desc", "seqno"} {
		if strings.Contains(lower, part) {
			return true
		}
	}
	return false
}

func isValueColumn(column string) bool {
	lower := strings.ToLower(column)
	if slices.Contains([]string{"v", "val", "setting", "current_setting"}, lower) {
		return true
	}
	return (strings.Contains(lower, "value") || strings.HasSuffix(lower, "_val")) && !strings.HasPrefix(lower, "min_") && !strings.HasPrefix(lower, "max_")
}
