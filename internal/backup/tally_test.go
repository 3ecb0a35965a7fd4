package backup

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"filippo.io/age"

	"plumb/internal/backup/manifest"
)

// heard is what a run told of how far it is.
type heard []Progress

func (h *heard) hear(p Progress) { *h = append(*h, p) }

// last gives what was told last. Nothing may go back, or beyond the total.
func (h heard) last(t *testing.T) (last Progress) {
	t.Helper()
	for _, p := range h {
		if p.Bytes <= last.Bytes || p.Skipped < last.Skipped || p.Skipped > p.Bytes || p.Total != h[0].Total || p.Total > 0 && p.Bytes > p.Total || p.Stream == "" {
			t.Fatalf("%+v comes after %+v", p, last)
		}
		last = p
	}
	return last
}

// Whatever a run does, it says how far it is of what: a backup does not know that, and all others do.
func TestProgress(t *testing.T) {
	w := newWorld(t)
	w.Workers = 1
	const line = "seq 60000"
	var told heard
	good := w.Store
	w.Store = dyingAfter(good, 4)
	if _, err := w.Run(t.Context(), command(line)); !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	w.Store, w.Doing = good, told.hear
	res, err := w.Run(t.Context(), command(line))
	if err != nil {
		t.Fatal(err)
	}
	bytes := res.Streams[0].Bytes
	if p := told.last(t); p != (Progress{Stream: "out", Bytes: bytes, Skipped: res.Skipped}) || res.Skipped == 0 {
		t.Errorf("a backup that goes on: %+v", p)
	}
	two, err := w.Run(t.Context(), command("seq 50000"))
	if err != nil {
		t.Fatal(err)
	}
	both := bytes + two.Streams[0].Bytes

	for _, percent := range []float64{0, 30, 100} {
		told = nil
		got, err := Verify{Vault: w.vault(t), Percent: percent, Doing: told.hear}.Run(t.Context(), res.Manifest, two.Manifest)
		if err != nil {
			t.Fatal(err)
		}
		if p := told.last(t); p.Bytes != p.Total || p.Total != got[0].Bytes+got[1].Bytes || percent == 100 && p.Total != both || percent == 0 && got[0].Read+got[1].Read != 4 {
			t.Errorf("%g %%: %+v of %+v", percent, p, got)
		}
	}

	told = nil
	r := Restore{Vault: w.vault(t), Do: w.Do, Keys: []age.Identity{w.key}, Doing: told.hear}
	if err := r.Command(t.Context(), res.Manifest, 0, "cat >/dev/null"); err != nil {
		t.Fatal(err)
	}
	if p := told.last(t); p != (Progress{Stream: "out", Bytes: bytes, Total: bytes}) {
		t.Errorf("a restore: %+v", p)
	}

	to, at := other(t)
	c := Copying{From: w.vault(t), To: to, Now: w.Now, Doing: told.hear}
	all := []manifest.Manifest{res.Manifest, two.Manifest}
	for _, skipped := range []int64{0, both, both - int64(w.Chunk)} {
		if skipped != 0 && skipped != both { // one chunk is gone, with the manifest
			for _, name := range []string{manifest.ChunkName(res.ID, 0, 1), manifest.Name(res.ID)} {
				if err := os.Remove(filepath.Join(at, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
		told = nil
		if _, err := c.Run(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		if p := told.last(t); p.Bytes != both || p.Total != both || p.Skipped != skipped {
			t.Errorf("a copy of which %d are there: %+v", skipped, p)
		}
	}
}
