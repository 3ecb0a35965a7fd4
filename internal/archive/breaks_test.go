package archive

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
)

// backup puts a backup there that says of which log it is a base.
func (w *world) backup(t *testing.T, began time.Time, of string, taken ...time.Time) (id string) {
	t.Helper()
	id = manifest.NewID(began, "0a0b0c0d")
	m := manifest.Manifest{ID: id, Host: "db1", Plumb: "test", Began: began, Ended: began.Add(time.Minute), Facts: map[string]string{"of": of},
		Streams: []manifest.Stream{{Name: of, Kind: manifest.Command, Chunk: 1}}}
	for _, at := range taken { // it is of a point
		m.Facts["taken"] = at.Format(time.RFC3339Nano)
	}
	text, err := manifest.Sign(m, w.Sign)
	must(t, err)
	_, err = w.Keeper.Store.Put(t.Context(), manifest.Name(id), text, store.Put{})
	must(t, err)
	return id
}

// A log that breaks off again and again is told of without end, and what is kept of it has one.
func TestBroke(t *testing.T) {
	s := Source{Name: "log"}
	var all []Break
	for n := range 1000 {
		all = append(all, Break{At: time.Unix(int64(n), 0), Why: fmt.Sprint("break ", n)})
	}
	s.broke(all)
	got := Status{Alive: time.Now(), Sources: []Source{s}}.Trouble(time.Now(), time.Minute)
	if len(s.Breaks) != 10 || len(got) != 11 || got[0] != "log: the log broke off 990 times before the last 10" || !strings.Contains(got[10], "break 999") {
		t.Errorf("%q", got)
	}
	if s.broke(nil); len(s.Breaks)+s.Before > 0 {
		t.Errorf("none: %+v", s)
	}
}

// While a log is broken off the store is asked for a base again and again, and not at each look at the log. What it does not say changes
// nothing, and of several breaks those stay that are newer than the base.
func TestBreaksMatter(t *testing.T) {
	first := time.Date(2026, 11, 26, 3, 0, 0, 0, time.UTC)
	all := []Break{{At: first}, {At: first.Add(time.Hour)}}
	var b breaks
	asked, base, bad := 0, time.Time{}, error(nil)
	for i, c := range []struct {
		now  time.Duration // since the first break
		base time.Duration
		bad  error
		want int // that matter
		asks int
	}{
		{2 * time.Hour, 0, nil, 2, 1},
		{2*time.Hour + time.Minute, 90 * time.Minute, nil, 2, 1},
		{3 * time.Hour, 30 * time.Minute, nil, 1, 2},
		{2 * time.Hour, 30 * time.Minute, nil, 1, 3}, // the clock was set back
		{4 * time.Hour, 0, errors.New("no bucket"), 1, 4},
		{5 * time.Hour, 90 * time.Minute, nil, 0, 5},
		{9 * time.Hour, 0, nil, 0, 5}, // it is known
	} {
		base, bad = first.Add(c.base), c.bad
		left, err := b.matter(all, first.Add(c.now), func(time.Time) (time.Time, error) { asked++; return base, bad })
		if len(left) != c.want || asked != c.asks || !errors.Is(err, c.bad) {
			t.Errorf("%d: %v after %d questions, %v", i, left, asked, err)
		}
	}
}

// A base is believed that this host signed, and is there.
func TestNewestBase(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	since := time.Date(2026, 11, 26, 3, 0, 0, 0, time.UTC)
	newest := func() time.Time {
		t.Helper()
		at, err := w.Shelf.Newest(t.Context(), func(m manifest.Manifest) bool { return m.Facts["of"] == "log" }, since)
		must(t, err)
		return at
	}
	w.backup(t, since.Add(time.Hour), "log")
	w.backup(t, since.Add(2*time.Hour), "wal")
	w.backup(t, since.Add(90*time.Minute), "log", since.Add(-time.Hour)) // sent behind the break, and taken before it
	own := w.Sign
	w.Sign = other.Sign
	w.backup(t, since.Add(3*time.Hour), "log")
	w.Sign = own
	pruned := w.backup(t, since.Add(4*time.Hour), "log")
	stone, err := manifest.SignStone(manifest.Stone{ID: pruned, At: since}, own)
	must(t, err)
	_, err = w.Keeper.Store.Put(t.Context(), manifest.Name(pruned), stone, store.Put{})
	must(t, err)
	huge := manifest.Name(manifest.NewID(since.Add(5*time.Hour), "0a0b0c0d")) // who may write to the store can put anything there
	_, err = w.Keeper.Store.Put(t.Context(), huge, make([]byte, manifest.MaxStone+1), store.Put{})
	must(t, err)
	if got := newest(); !got.Equal(since.Add(time.Hour)) {
		t.Error(got)
	}
	w.Shelf.Retired = []manifest.Retired{{Verifier: other.Shelf.Trust[0], Until: since.Add(4 * time.Hour)}}
	if got := newest(); !got.Equal(since.Add(3 * time.Hour)) {
		t.Errorf("of a key that was given up later: %s", got)
	}
}
