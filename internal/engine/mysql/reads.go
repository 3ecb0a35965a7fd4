package mysql

import "strings"

// Reads implements host.Dialer: only one SELECT or SHOW without side effects,
// and XA RECOVER, which lists.
// It refuses more than it must, since only our own statements pass here.
func (Dialer) Reads(query string) bool {
	q := withoutNames(" " + strings.Join(strings.Fields(strings.ToLower(query)), " ") + " ")
	if q == " xa recover " {
		return true
	}
	if !strings.HasPrefix(q, " select ") && !strings.HasPrefix(q, " show ") {
		return false
	}
	for _, bad := range []string{";", "/*", "--", "#", " into ", " for update", " for share", " lock in ", ":=",
		"sleep", "benchmark", "get_lock", "release_", "load_file", "wait_", "nextval", "setval", "last_insert_id",
		"uuid", "encrypt", "gtid_sub", "binlog events", "relaylog events"} {
		if strings.Contains(q, bad) {
			return false
		}
	}
	return true
}

// withoutNames drops single words in single quotes, such as names of
// variables. A word with a quote on either side calls nothing, whatever the
// quotes mean to the server.
func withoutNames(q string) string {
	parts := strings.Split(q, "'")
	for i := 1; i < len(parts)-1; i++ {
		if strings.Trim(parts[i], "abcdefghijklmnopqrstuvwxyz0123456789_") == "" {
			parts[i] = ""
		}
	}
	return strings.Join(parts, "'")
}
