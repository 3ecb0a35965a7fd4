package backup

import (
	"testing"
	"time"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
)

// BenchmarkList lists a store with 300 backups.
func BenchmarkList(b *testing.B) {
	w := newWorld(b)
	made, err := w.Run(b.Context(), command("seq 1000"))
	if err != nil {
		b.Fatal(err)
	}
	for n := range 299 {
		m := made.Manifest
		m.ID = manifest.NewID(time.Date(2026, 1, 1, n, 0, 0, 0, time.UTC), "0123abcd")
		text, err := manifest.Sign(m, w.Sign)
		if err == nil {
			_, err = w.Store.Put(b.Context(), manifest.Name(m.ID), text, store.Put{New: true})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	v := w.vault(b)
	b.ReportAllocs()
	for b.Loop() {
		all, err := v.List(b.Context())
		if err != nil || len(all) != 300 {
			b.Fatal(len(all), err)
		}
		for _, f := range all {
			if f.Err != nil {
				b.Fatal(f.Err)
			}
		}
	}
}
