package prune

import (
	"testing"
)

// TestNewestBaseStays has newer dumps of the same server be all that the rules keep: the newest base stays with them, and an older one goes.
func TestNewestBaseStays(t *testing.T) {
	l := newLogged(t)
	l.binlog(t, 1, 2, 3)
	server := func(facts map[string]string) string {
		j := l.base(facts)
		j.Server = "mysql:3306"
		return l.run(t, j)
	}
	of := func(file string) map[string]string {
		return map[string]string{"mysql_version": "10.11.14-MariaDB", "base_binlog": file, "base_binlog_position": "120"}
	}
	server(of("binlog.000001"))
	base := server(of("binlog.000002"))
	var dumps []string
	for range 4 {
		dumps = append(dumps, server(nil))
	}
	l.prune(t, "last=2", 3)
	equal(t, "backups", l.there(t), []string{base, dumps[2], dumps[3]})
}
