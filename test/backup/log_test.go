package backup

import (
	"testing"
	"time"

	"filippo.io/age"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/host/hosttest"
	"plumb/internal/rule"
	"plumb/internal/store/dir"
)

// TestBaseIsJudgedByItsLog has check say of a real server whether the log behind its newest base is archived. The base is two hours old by a clock
// that is put back, and a name that nobody signed is no log: in test/archive a server archives.
func TestBaseIsJudgedByItsLog(t *testing.T) {
	g := newGuarded(t)
	do, state, place := hosttest.LiveDoer(t), g.lib+"/backups", t.TempDir()
	s, err := dir.Open(place)
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	key, err := age.GenerateX25519Identity()
	must(t, err)
	b := backup.Backup{Do: do, Store: s, Dir: state, Host: "db1", Plumb: "test", To: []age.Recipient{key.Recipient()}, Words: []string{key.Recipient().String()},
		Now: func() time.Time { return time.Now().Add(-2 * time.Hour) }}
	b.Sign, b.Public, err = backup.HostKey(t.Context(), do, state, b.Host)
	must(t, err)
	_, err = b.Run(t.Context(), backup.Job{Name: "base", Server: g.name, Facts: map[string]string{"mysql_version": "10.11.14-MariaDB", "base_binlog": "binlog.000002", "base_binlog_position": "4"},
		Sources: []backup.Source{{Stream: manifest.Stream{Name: "base", Kind: manifest.Command}, Text: []byte("a base")}}})
	must(t, err)
	list := func() { g.plumb(0, "backup", "list", "--from", "file://"+place, "--note") }
	list()
	g.says(map[string]rule.Outcome{"base-without-log": rule.Fires})
	piece := archive.Piece{Server: "mysql", Series: "20261127T000000Z-abcd1234", File: "binlog.000002", To: 100}
	forgedPiece(t, place, piece)
	list()
	g.says(map[string]rule.Outcome{"base-without-log": rule.Fires})
	archived(t, place, state, piece)
	list()
	g.says(map[string]rule.Outcome{"base-without-log": rule.Quiet})
}
