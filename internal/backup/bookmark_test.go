package backup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/host"
)

// openZFS is a host with the bookmarks of one dataset.
type openZFS struct {
	host.Streamer
	there []string
}

func (o *openZFS) Output(ctx context.Context, argv ...string) ([]byte, error) {
	if argv[0] != "zfs" {
		return o.Streamer.Output(ctx, argv...)
	}
	return []byte(strings.Join(o.there, "\n") + "\n"), nil
}

func (o *openZFS) Run(ctx context.Context, argv ...string) ([]byte, error) {
	name := argv[len(argv)-1]
	switch {
	case argv[0] != "zfs":
		return o.Streamer.Run(ctx, argv...)
	case argv[1] == "bookmark" && argv[2] == "tank/db@now" && !slices.Contains(o.there, name):
		o.there = append(o.there, name)
		return nil, nil
	case argv[1] == "destroy" && slices.Contains(o.there, name):
		o.there = slices.DeleteFunc(o.there, func(one string) bool { return one == name })
		return nil, nil
	}
	return nil, fmt.Errorf("%q", argv)
}

// TestBookmarks keeps a bookmark of what the next backup to the same places begins at, and no other, unless a place does not have it.
// Those of others stay.
func TestBookmarks(t *testing.T) {
	w := newWorld(t)
	z := &openZFS{Streamer: w.Do, there: []string{"tank/db#mine", "tank/db#plumb-backup-00000000-elsewhere"}}
	w.Do = z
	w.Warn = func(what string, err error) { t.Errorf("%s: %v", what, err) }
	run := func(point string) {
		t.Helper()
		_, err := w.Run(t.Context(), Job{Name: "point " + point, Point: point, Sources: []Source{
			{Stream: manifest.Stream{Name: "tank/db", Kind: manifest.ZFS, GUID: point}, Argv: []string{"seq", "100"}, Snapshot: "tank/db@now"},
			{Stream: manifest.Stream{Name: "point", Kind: manifest.Point}, Text: []byte("told")}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	ours := func() (points []string) {
		for _, name := range z.there[2:] {
			points = append(points, name[strings.LastIndex(name, "-")+1:])
		}
		return points
	}
	run("1")
	run("2")
	if got := ours(); !slices.Equal(got, []string{"2"}) {
		t.Errorf("%q", z.there)
	}
	other := newWorld(t).Store
	w.Also = []store.Store{&store.Missing{At: other.URL(), Why: errDied}}
	run("3")
	run("4")
	if got := ours(); !slices.Equal(got, []string{"2", "3", "4"}) {
		t.Errorf("%q", z.there)
	}
	w.Also = []store.Store{other}
	run("5")
	if got := ours(); !slices.Equal(got, []string{"2", "5"}) { // the first is of another set of places
		t.Errorf("%q", z.there)
	}
}
