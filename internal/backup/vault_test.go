package backup

import (
	"slices"
	"testing"
	"time"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/backup/store/storetest"
)

// The manifests of a store are read side by side, and listed in their order with what is wrong with them.
func TestListSideBySide(t *testing.T) {
	w := newWorld(t)
	began := time.Date(2026, 11, 26, 3, 0, 0, 0, time.UTC)
	var ids []string
	for n := range 20 {
		m := manifest.Manifest{ID: manifest.NewID(began.Add(time.Duration(n)*time.Hour), "0a0b0c0d"), Host: "db1", Plumb: "test", Began: began, Ended: began,
			Streams: []manifest.Stream{{Name: "x", Kind: manifest.Command, Chunk: 1}}}
		text, err := manifest.Sign(m, w.Sign)
		if n == 7 {
			text = []byte("trust me")
		}
		if err == nil {
			_, err = w.Store.Put(t.Context(), manifest.Name(m.ID), text, store.Put{})
		}
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.ID)
	}
	v := w.vault(t)
	v.Store = storetest.Meet(v.Store)
	all, err := v.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for n, f := range all {
		if (f.Err != nil) != (n == 7) {
			t.Errorf("%s: %v", f.ID, f.Err)
		}
		got = append(got, f.ID)
	}
	if !slices.Equal(got, ids) {
		t.Errorf("%v", got)
	}
}
