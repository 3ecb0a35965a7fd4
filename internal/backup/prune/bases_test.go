package prune

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"plumb/internal/engine/postgres/wal"
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

// point backs up a point on ZFS of the server whose log is archived, taken in a segment; 0: where is not known.
func (l *logged) point(t *testing.T, n uint64) string {
	t.Helper()
	j := l.job("")
	j.Server, j.Point = "postgres:5432", fmt.Sprintf("20261126T12000%dZ-0001", n)
	j.Facts = map[string]string{"flavor": "postgres", "identity": "7", "timeline": "1", "taken": l.Now().Add(-10 * 24 * time.Hour).UTC().Format(time.RFC3339Nano)}
	if n > 0 {
		j.Facts["lsn"] = wal.Text(n*segment + 40)
	}
	return l.run(t, j)
}

// Log is replayed onto points too: one that stays keeps what comes behind it, though a base begins later, and the newest stays itself. One of
// which it is not known where it was taken keeps what was archived since a day before that, however late it was sent.
func TestLogsGoWithPoints(t *testing.T) {
	l := newLogged(t)
	l.wal(t, 1, 1, 2, 3)
	old := l.point(t, 2)
	l.wal(t, 1, 4, 5)
	l.point(t, 3)
	l.run(t, l.pg(1, 4))
	for range 2 {
		l.prune(t, "last=1", 0)
		l.pass(73 * time.Hour)
	}
	l.prune(t, "last=1", 0)
	equal(t, "there", l.pieces(t), []string{"1-3", "1-4", "1-5"})
	if left := strings.Join(l.there(t), " "); strings.Contains(left, old) {
		t.Errorf("there is %s", left)
	}
	l.wal(t, 1, 6)
	unknown := l.point(t, 0)
	l.run(t, l.pg(1, 6))
	l.run(t, l.pg(1, 6))
	for range 2 {
		l.prune(t, "last=1", 0)
		l.pass(73 * time.Hour)
	}
	equal(t, "there", l.pieces(t), []string{"1-3", "1-4", "1-5", "1-6"})
	if got := l.plan(t).Logs[0].Why; !strings.Contains(got, "where backup "+unknown+" begins is not known") {
		t.Errorf("it says %q", got)
	}
}

// The same of MariaDB: the log is kept from the file on in which the server stood. A point without a binary log needs none of it.
func TestBinaryLogsGoWithPoints(t *testing.T) {
	l := newLogged(t)
	l.binlog(t, 1, 2, 3)
	of := func(n int, facts map[string]string) string {
		j := l.job("")
		j.Server, j.Point, j.Facts = "mysql:3306", fmt.Sprintf("20261126T12000%dZ-0001", n), facts
		return l.run(t, j)
	}
	stood := func(n int) map[string]string {
		return map[string]string{"flavor": "mariadb", "binlog": fmt.Sprintf("binlog.%06d", n), "binlog_position": "120"}
	}
	of(1, stood(1))
	of(2, stood(2))
	l.run(t, l.maria(3))
	kept := of(3, map[string]string{"flavor": "mariadb"})
	for range 3 {
		l.prune(t, "last=2", 1)
		l.pass(73 * time.Hour)
	}
	equal(t, "there", l.pieces(t), []string{"2:0", "2:100", "3:0", "3:100"})
	if left := l.there(t); left[len(left)-1] != kept {
		t.Errorf("there is %s", left)
	}
}
