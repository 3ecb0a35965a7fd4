package keep

import (
	"strings"
	"testing"
	"time"

	"plumb/internal/protect"
)

// TestAhead: that a clock was set back since a point shows by the time of now, and by those of points that were made after it.
func TestAhead(t *testing.T) {
	then := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	at := func(id, birth string, at time.Time) protect.Point {
		return protect.Point{ID: id, Times: protect.Times{Snapshot: at}, Members: []protect.Member{{Volume: protect.Volume{Storage: "zfs", Pool: "tank"}, Birth: birth}}}
	}
	p := at("p", "100", then)
	for name, test := range map[string]struct {
		now   time.Time
		other protect.Point
		want  string
	}{
		"in order":             {then.Add(time.Hour), at("o", "101", then.Add(time.Minute)), ""},
		"before it":            {then.Add(time.Hour), at("o", "99", then.Add(-time.Minute)), ""},
		"of another pool":      {then.Add(time.Hour), protect.Point{ID: "o", Times: protect.Times{Snapshot: then.Add(-time.Minute)}, Members: []protect.Member{{Volume: protect.Volume{Storage: "zfs", Pool: "b"}, Birth: "101"}}}, ""},
		"now is before it":     {then.Add(-time.Second), p, "point p is dated in the future"},
		"a later one is older": {then.Add(time.Hour), at("o", "101", then.Add(-time.Minute)), "point o was made after p, but has the earlier time"},
	} {
		if got := Ahead(test.now, p, []protect.Point{p, test.other}); (got == "") != (test.want == "") || !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
