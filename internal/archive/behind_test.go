package archive

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/backup/store/storetest"
)

// numbers is a product whose logs are files that are called by numbers, and whose bases say with which they begin.
type numbers struct{}

func (numbers) Stretches([]Piece) []Stretch    { return nil }
func (numbers) Places(log []Piece) []Place     { return make([]Place, len(log)) }
func (numbers) Knows(m manifest.Manifest) bool { return m.Facts["begins"] != "" }
func (numbers) Alone(m manifest.Manifest) (is, known bool) {
	return m.Facts["alone"] == "yes", m.Facts["alone"] != ""
}
func (numbers) Begins(m manifest.Manifest, log []Piece) (at Place, in []Piece, err error) {
	if m.Facts["begins"] == "?" {
		return at, log, errors.New("where it begins is not known")
	}
	for _, p := range log {
		if p.File == m.Facts["begins"] && p.Server == m.Server {
			in = append(in, p)
		}
	}
	return at, in, nil
}

// What is behind a base is told by the log of its server alone; of what is no base nothing is said, and nothing is asked of the store for it.
func TestBehind(t *testing.T) {
	w := newWorld(t)
	products := []Product{numbers{}}
	base := func(id, server, begins, alone string) manifest.Manifest {
		return manifest.Manifest{ID: id, Server: server, Facts: map[string]string{"begins": begins, "alone": alone}}
	}
	point := base("point", "s-1", "0003", "yes")
	point.Point = "20261126T120000Z-0001"
	all := []manifest.Manifest{base("here", "s-1", "0002", "no"), base("later", "s-1", "0003", "yes"), base("others", "s-2", "0002", ""), base("unclear", "s-1", "?", "yes"), {ID: "dump"}, point}
	got, err := w.Behind(t.Context(), products, all...)
	if err != nil || len(got) != 4 || got["here"].Log || got["here"].Archived {
		t.Errorf("of an archive without anything: %+v, %v", got, err)
	}
	if _, err := w.Keep(t.Context(), Entry{Piece: Piece{Server: "s-1", Series: "wal", File: "0002", To: 3}}, strings.NewReader("log")); err != nil {
		t.Fatal(err)
	}
	if got, err = w.Behind(t.Context(), products, all...); err != nil || len(got) != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	archived := map[string]bool{}
	for id, b := range got {
		archived[id] = b.Archived
		if !b.Log {
			t.Errorf("%s: %+v", id, b)
		}
	}
	if want := map[string]bool{"here": true, "later": false, "others": false, "unclear": false}; !maps.Equal(archived, want) {
		t.Errorf("%v", archived)
	}
	if got["others"].Alone != nil || *got["here"].Alone || !*got["later"].Alone {
		t.Errorf("%+v", got)
	}
	away := Shelf{Store: nil} // which would not survive a question
	if got, err := away.Behind(t.Context(), products, manifest.Manifest{ID: "dump"}, point); err != nil || len(got) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// The entries in which several bases begin are read side by side.
func TestBehindSideBySide(t *testing.T) {
	w := newWorld(t)
	var bases []manifest.Manifest
	for _, file := range []string{"0001", "0002", "0003"} {
		_, err := w.Keep(t.Context(), Entry{Piece: Piece{Server: "s-1", Series: "wal", File: file, To: 3}}, strings.NewReader("log"))
		must(t, err)
		bases = append(bases, manifest.Manifest{ID: "base " + file, Server: "s-1", Facts: map[string]string{"begins": file}})
	}
	w.Shelf.Store = storetest.Meet(w.Shelf.Store)
	got, err := w.Behind(t.Context(), []Product{numbers{}}, bases...)
	if err != nil || len(got) != 3 || !got["base 0001"].Archived || !got["base 0002"].Archived || !got["base 0003"].Archived {
		t.Errorf("%+v, %v", got, err)
	}
}

// The name of a piece is not that of one: who may write to the bucket, and has no key, makes no base look as if its log were archived. What
// lies there is named, and beside a piece that is believed it changes nothing.
func TestForgedBehind(t *testing.T) {
	w, stranger := newWorld(t), newWorld(t)
	stranger.Keeper.Store = w.Keeper.Store
	base := manifest.Manifest{ID: "base", Server: "s-1", Facts: map[string]string{"begins": "0002"}}
	of := func(series, file string) Piece { return Piece{Server: "s-1", Series: series, File: file, To: 3} }
	keep := func(w *world, p Piece) {
		t.Helper()
		_, err := w.Keep(t.Context(), Entry{Piece: p}, strings.NewReader("log"))
		must(t, err)
	}
	put := func(p Piece, text []byte) {
		t.Helper()
		_, err := w.Keeper.Store.Put(t.Context(), p.Name(), text, store.Put{})
		must(t, err)
	}
	behind := func() Behind {
		t.Helper()
		got, err := w.Behind(t.Context(), []Product{numbers{}}, base)
		must(t, err)
		return got["base"]
	}
	keep(w, of("wal", "0001"))
	real, _, err := w.Keeper.Store.Get(t.Context(), of("wal", "0001").Name(), make([]byte, MaxEntry))
	must(t, err)
	forged := of("a", "0002")
	for what, text := range map[string][]byte{"by nobody": []byte("trust me"), "that of another piece": real, "too much": make([]byte, MaxEntry+1)} {
		put(forged, text)
		if b := behind(); b.Archived || !strings.Contains(b.Doubt, forged.Name()) {
			t.Errorf("%s: %+v", what, b)
		}
	}
	must(t, w.Keeper.Store.Delete(t.Context(), forged.Name()))
	keep(stranger, forged)
	if b := behind(); b.Archived || !strings.Contains(b.Doubt, forged.Name()) || !strings.Contains(b.Doubt, "nobody whom this host trusts") {
		t.Errorf("a stranger's: %+v", b)
	}
	keep(w, of("wal", "0002"))
	if b := behind(); !b.Archived || b.Doubt != "" {
		t.Errorf("beside one that is believed: %+v", b)
	}
	w.Shelf.Trust, w.Shelf.Retired = nil, []manifest.Retired{{Verifier: w.Shelf.Trust[0], Until: time.Now().Add(time.Hour)}}
	if b := behind(); !b.Archived {
		t.Errorf("of a key that was given up since: %+v", b)
	}
}
