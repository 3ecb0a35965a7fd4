package archive

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"plumb/internal/backup/manifest"
)

// numbers is a product whose logs are files that are called by numbers, and whose bases say with which they begin.
type numbers struct{}

func (numbers) Stretches([]Piece) []Stretch    { return nil }
func (numbers) Places(log []Piece) []Place     { return make([]Place, len(log)) }
func (numbers) Knows(m manifest.Manifest) bool { return m.Facts["begins"] != "" }
func (numbers) Alone(m manifest.Manifest) (is, known bool) {
	return m.Facts["alone"] == "yes", m.Facts["alone"] != ""
}
func (numbers) Begins(m manifest.Manifest, log []Piece) (at Place, there bool, err error) {
	if m.Facts["begins"] == "?" {
		return at, true, errors.New("where it begins is not known")
	}
	for _, p := range log {
		there = there || p.File == m.Facts["begins"] && p.Server == m.Server
	}
	return at, there, nil
}

// What is behind a base is told by the log of its server alone; of what is no base nothing is said, and nothing is asked of the store for it.
func TestBehind(t *testing.T) {
	w := newWorld(t)
	products := []Product{numbers{}}
	base := func(id, server, begins, alone string) manifest.Manifest {
		return manifest.Manifest{ID: id, Server: server, Facts: map[string]string{"begins": begins, "alone": alone}}
	}
	all := []manifest.Manifest{base("here", "s-1", "0002", "no"), base("later", "s-1", "0003", "yes"), base("others", "s-2", "0002", ""), base("unclear", "s-1", "?", "yes"), {ID: "dump"}}
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
	if got, err := away.Behind(t.Context(), products, manifest.Manifest{ID: "dump"}); err != nil || len(got) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
