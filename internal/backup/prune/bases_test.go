package prune

import (
	"fmt"
	"maps"
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

// point backs up a point on ZFS of the server whose log is archived, taken in a segment, with facts besides.
func (l *logged) point(t *testing.T, n uint64, facts map[string]string) string {
	t.Helper()
	j := l.job("")
	j.Server, j.Point = "postgres:5432", fmt.Sprintf("20261126T12000%dZ-0001", n)
	j.Facts = map[string]string{"flavor": "postgres", "identity": "7", "timeline": "1", "lsn": wal.Text(n*segment + 40), "taken": l.Now().Add(-10 * 24 * time.Hour).UTC().Format(time.RFC3339Nano)}
	maps.Copy(j.Facts, facts)
	return l.run(t, j)
}

// Log is replayed onto points too: one that stays keeps what comes behind it, though a base begins later, and the newest stays itself.
func TestLogsGoWithPoints(t *testing.T) {
	l := newLogged(t)
	l.wal(t, 1, 1, 2, 3)
	old := l.point(t, 2, nil)
	l.wal(t, 1, 4, 5)
	l.point(t, 3, map[string]string{"mode": "crash"})
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
}

// A point onto which no log can be replayed, because it is of several moments or of a standby, or does not say where its server stood, is no
// base: it keeps none from staying, nor any log.
func TestPointsThatAreNoBases(t *testing.T) {
	for name, facts := range map[string]map[string]string{"several moments": {"mode": "backup-api"}, "a standby": {"mode": "crash", "applied": wal.Text(5*segment + 40)}, "an unknown place": {"mode": "crash", "lsn": ""}} {
		t.Run(name, func(t *testing.T) {
			l := newLogged(t)
			now := func() map[string]string {
				f := maps.Clone(facts)
				f["taken"] = l.Now().UTC().Format(time.RFC3339Nano)
				return f
			}
			l.wal(t, 1, 1, 2, 3, 4, 5)
			l.point(t, 1, now())
			j := l.pg(1, 3)
			j.Server = "postgres:5432"
			base := l.run(t, j)
			newest := l.point(t, 5, now())
			for range 3 {
				l.prune(t, "last=1", 0)
				l.pass(73 * time.Hour)
			}
			equal(t, "backups", l.there(t), []string{base, newest})
			equal(t, "pieces", l.pieces(t), []string{"1-3", "1-4", "1-5"})
		})
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
