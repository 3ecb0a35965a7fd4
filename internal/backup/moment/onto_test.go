package moment

import (
	"context"
	"strings"
	"testing"
	"time"

	"plumb/internal/archive"
	"plumb/internal/backup/manifest"
	"plumb/internal/host"
	"plumb/internal/protect"
)

// pointed is a product whose points are brought to a moment, too.
type pointed struct{ logged }

func (pointed) Based(m manifest.Manifest, _ protect.Point) (manifest.Manifest, error) { return m, nil }

func (pointed) Onto(context.Context, host.Launcher, archive.Shelf, *Way, protect.Point, At) error {
	return nil
}

// A point of a product whose log is not replayed onto points is refused before anything is read of it, and so is one whose datasets cannot be
// mounted as the server saw them.
func TestPointsOntoWhichNothingIsReplayed(t *testing.T) {
	m := manifest.Manifest{ID: "20261130T080000Z-0a0b0c0d", Point: "20261130T070000Z-0001"}
	member := func(snapshot, at, within string) protect.Member {
		return protect.Member{Snapshot: snapshot, Volume: protect.Volume{Mountpoint: at, Within: within}}
	}
	whole := []protect.Member{member("tank/db@x", "/srv/db", ""), member("tank/log@x", "/srv/log", "")}
	for name, c := range map[string]struct {
		engine  Engine
		members []protect.Member
		want    string
	}{
		"another product":  {logged(0), whole, "is of a point of Other 1.2, onto which no log is replayed"},
		"a part of one":    {pointed{}, []protect.Member{member("tank/db@x", "/srv/db", "pg")}, "had a part of tank/db mounted"},
		"in two places":    {pointed{}, append(whole, member("tank/db@x", "/srv/again", "")), "had a part of tank/db mounted, or had it in several places, or another over it"},
		"one over another": {pointed{}, []protect.Member{member("tank/db@x", "/srv/db", ""), member("tank/log@x", "/srv/db", "")}, "tank/log"},
		"whole":            {pointed{}, whole, ""},
	} {
		r := Restore{Engines: []Engine{c.engine}}
		_, err := r.Based(m, protect.Point{Server: protect.Server{Product: "Other 1.2"}, Members: c.members})
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A point was whole before it was sent, which can take hours, and a base when it ended.
func TestWhole(t *testing.T) {
	began := time.Date(2026, 11, 30, 8, 0, 0, 5e8, time.UTC)
	m := manifest.Manifest{Began: began, Ended: began.Add(2 * time.Hour)}
	if got := whole(m); !got.Equal(time.Date(2026, 11, 30, 10, 0, 1, 0, time.UTC)) {
		t.Errorf("a base: %s", got)
	}
	m.Point = "20261130T070000Z-0001"
	if got := whole(m); !got.Equal(time.Date(2026, 11, 30, 8, 0, 1, 0, time.UTC)) {
		t.Errorf("a point: %s", got)
	}
}
