package backup

import (
	"errors"
	"slices"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

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

// Who may write to the store can say in the place of the newest manifest that it was pruned: then the one before is the newest, and that is
// told. What a host that is trusted prunes is not.
func TestNewestIsHidden(t *testing.T) {
	w := newWorld(t)
	var ids []string
	for range 2 {
		res, err := w.Run(t.Context(), command("seq 10"))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, res.ID)
	}
	stranger, err := newKey("other")
	if err != nil {
		t.Fatal(err)
	}
	v := w.vault(t)
	var told []Found
	v.Doubt = func(f Found) { told = append(told, f) }
	for _, c := range []struct {
		by   note.Signer
		told int
	}{{stranger.sign, 1}, {w.Sign, 0}} {
		stone, err := manifest.SignStone(manifest.Stone{ID: ids[1], At: time.Now(), By: "db1", Going: true}, c.by)
		if err != nil {
			t.Fatal(err)
		}
		w.lay(t, manifest.Name(ids[1]), stone)
		told = nil
		m, err := v.Find(t.Context(), "latest", "")
		if err != nil || m.ID != ids[0] || len(told) != c.told || c.told > 0 && (told[0].ID != ids[1] || !errors.Is(told[0].Err, manifest.ErrStranger)) {
			t.Errorf("signed by %s: %s, %v, told: %+v", c.by.Name(), m.ID, err, told)
		}
	}
	if all, err := v.List(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
}
