package archive

import (
	"testing"
	"time"

	"plumb/internal/archive"
	"plumb/internal/host/hosttest"
	"plumb/internal/store/dir"
)

// A log's name is another's when a service that lives follows a log of that name, to the same place.
func TestNameIsTaken(t *testing.T) {
	at, state := t.TempDir(), t.TempDir()
	s, err := dir.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d := hosttest.LiveDoer(t)
	b := archive.Board{Do: d, File: archive.StatusFile(state, "first"), Now: time.Now}
	if err := b.Begin(t.Context(), archive.Status{Name: "first", To: s.URL()}); err != nil {
		t.Fatal(err)
	}
	if err := b.Tell(t.Context(), "mysql", func(one *archive.Source) { one.Follows = true }); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, index, log string
		later            time.Duration
		taken            bool
	}{
		{name: "second", index: "/x", log: "mysql", taken: true},
		{name: "second", index: "/x", log: "other"},
		{name: "first", index: "/x", log: "mysql"}, // itself, before
		{name: "second", log: "mysql"},             // of PostgreSQL
		{name: "second", index: "/x", log: "mysql", later: time.Hour},
	} {
		o := asked{name: c.name, index: c.index, logOf: c.log}
		if err := o.taken(t.Context(), d, s, state, time.Now().Add(c.later)); (err != nil) != c.taken {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
