package mysql

import "strings"

// Reads implements host.Dialer: only one SELECT or SHOW without side effects.
// It refuses more than it must, since only our own statements pass here.
func (Dialer) Reads(query string) bool {
	q := " " + strings.Join(strings.Fields(strings.ToLower(query)), " ") + " "
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
