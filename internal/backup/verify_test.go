package backup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/backup/manifest"
)

// TestVerifyGoesOn finds one backup damaged, and says of the other that it is well.
func TestVerifyGoesOn(t *testing.T) {
	w := newWorld(t)
	var all []manifest.Manifest
	for range 2 {
		res, err := w.Run(t.Context(), command("seq 60000"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, res.Manifest)
	}
	if err := os.Remove(filepath.Join(w.at, manifest.ChunkName(all[0].ID, 0, 3))); err != nil {
		t.Fatal(err)
	}
	got, err := Verify{Vault: w.vault(t), Percent: 100}.Run(t.Context(), all...)
	if err == nil || !strings.Contains(err.Error(), all[0].ID) || len(got) != 1 || got[0].ID != all[1].ID {
		t.Errorf("%+v, %v", got, err)
	}
	all[1].Streams[0].Base = &manifest.Base{Backup: all[0].ID}
	if got, err := (Verify{Vault: w.vault(t)}).Run(t.Context(), all...); len(got) > 0 || err == nil || !strings.Contains(err.Error(), all[1].ID+": it needs backup "+all[0].ID) {
		t.Errorf("%+v, %v", got, err)
	}
}
