package backup

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"filippo.io/age"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/host/hosttest"
	"plumb/internal/store/dir"
)

// forgedPiece puts an object into a directory of backups that has the name of a piece of a log, as somebody can who writes there.
func forgedPiece(t *testing.T, place string, p archive.Piece) {
	t.Helper()
	entry := filepath.Join(place, p.Name())
	must(t, errors.Join(os.MkdirAll(filepath.Dir(entry), 0o700), os.WriteFile(entry, []byte("x"), 0o600)))
}

// archived has the host that has its key in a directory archive a piece of zeros, in the place of a forged one.
func archived(t *testing.T, place, state string, p archive.Piece) {
	t.Helper()
	must(t, os.Remove(filepath.Join(place, p.Name())))
	s, err := dir.Open(place)
	must(t, err)
	defer s.Close()
	sign, public, err := backup.HostKey(t.Context(), hosttest.LiveDoer(t), state, "db1")
	must(t, err)
	key, err := age.GenerateX25519Identity()
	must(t, err)
	k := archive.Keeper{Store: s, Sign: sign, Public: public, To: []age.Recipient{key.Recipient()}, Host: "db1", Plumb: "test", Now: time.Now}
	_, err = k.Keep(t.Context(), archive.Entry{Piece: p}, bytes.NewReader(make([]byte, p.To-p.From)))
	must(t, err)
}
