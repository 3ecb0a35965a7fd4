package backup

import (
	"errors"
	"strings"
	"testing"

	"filippo.io/age"

	"plumb/internal/backup/chunk"
	"plumb/internal/backup/manifest"
)

// A key that opens only a part of a chain is found out before anything is restored.
func TestKeyOfAPart(t *testing.T) {
	w, later := newWorld(t), newWorld(t).key
	run := func(guid string, base *manifest.Base) manifest.Manifest {
		t.Helper()
		j := command("seq 60000")
		j.Sources[0].Stream = manifest.Stream{Name: "tank/db", Kind: manifest.ZFS, GUID: guid, Base: base}
		j.Sources = append(j.Sources, Source{Stream: manifest.Stream{Name: "point", Kind: manifest.Point}, Text: []byte("told")})
		res, err := w.Run(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		return res.Manifest
	}
	full := run("10", nil)
	w.To = []age.Recipient{later.Recipient()}
	next := run("20", &manifest.Base{Backup: full.ID, GUID: "10"})
	r := Restore{Vault: w.vault(t), Do: w.Do, Keys: []age.Identity{w.key}}
	if err := r.opens(t.Context(), []manifest.Manifest{full, next}); !errors.Is(err, chunk.ErrKey) || !strings.Contains(err.Error(), next.ID) {
		t.Errorf("with one of two keys: %v", err)
	}
	r.Keys = append(r.Keys, later)
	if err := r.opens(t.Context(), []manifest.Manifest{full, next}); err != nil {
		t.Error(err)
	}
}
