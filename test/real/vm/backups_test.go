package vm

import (
	_ "embed" // the script
	"path/filepath"
	"testing"

	"filippo.io/age"
)

//go:embed guest/backups_zfs.sh
var backupsOfZFS string

// TestBackupsOnOpenZFS backs a MariaDB up twice, of which the second goes on from a bookmark, loses its pool, and starts a server on
// what comes back. One of the two datasets is encrypted, and both come back below another one that is, too.
func TestBackupsOnOpenZFS(t *testing.T) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "key.txt"), key.String()+"\n", 0o600)
	write(t, filepath.Join(dir, "recipients.txt"), key.Recipient().String()+"\n", 0o644)
	for _, release := range Releases() {
		t.Run(release, func(t *testing.T) {
			typed(t, release, pointsLibrary+backupsOfZFS, []string{filepath.Join(dir, "key.txt"), filepath.Join(dir, "recipients.txt")},
				"bookmarks after the first: 2", "the first point is gone: 0", "bookmarks after the second: 0, 2", "built on the first: 1",
				"its properties are told: 1", "received as it was: 1, keys unavailable", "below an encrypted dataset: vault/secret, vault/secret/restored/log", "back: whole, orders 2", "left: clones 0")
		})
	}
}
