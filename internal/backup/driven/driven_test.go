package driven

import (
	"strings"
	"testing"
	"time"

	"plumb/internal/protect"
	"plumb/internal/stack"
)

var now = time.Date(2027, 3, 14, 12, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

// before is a backup of so long ago.
func before(age time.Duration, t Type) Taken {
	return Taken{Label: string(t) + age.String(), Type: t, Began: now.Add(-age - time.Minute), Ended: now.Add(-age)}
}

func TestNext(t *testing.T) {
	pace := Pace{Full: 7 * day, Diff: day}
	damaged := before(day, Full)
	damaged.Damaged = true
	for name, c := range map[string]struct {
		all  []Taken
		want Type
	}{
		"none":                       {nil, Full},
		"a full one of today":        {[]Taken{before(time.Hour, Full)}, Incr},
		"one of yesterday":           {[]Taken{before(day, Full)}, Diff},
		"minutes short of a day":     {[]Taken{before(day-10*time.Minute, Full)}, Diff},
		"a differential one since":   {[]Taken{before(3*day, Full), before(2*time.Hour, Diff)}, Incr},
		"only an incremental since":  {[]Taken{before(3*day, Full), before(2*time.Hour, Incr)}, Diff},
		"a full one of last week":    {[]Taken{before(7*day, Full), before(time.Hour, Diff)}, Full},
		"a damaged one":              {[]Taken{damaged}, Full},
		"one of the future":          {[]Taken{before(-2*day, Full)}, Full},
		"a differential one of none": {[]Taken{before(time.Hour, Diff)}, Full},
	} {
		if got := Next(now, c.all, pace); got != c.want {
			t.Errorf("%s: %s and not %s", name, got, c.want)
		}
	}
}

func TestJudge(t *testing.T) {
	proven := before(time.Hour, Full)
	proven.Proven = now.Add(-time.Minute)
	failed := proven
	failed.Failed = now
	damaged := proven
	damaged.Damaged = true
	ahead := before(-2*time.Hour, Full)
	ahead.Proven = now
	for name, c := range map[string]struct {
		f    Found
		want string // in order, of each a part
	}{
		"well":              {Found{Backups: []Taken{proven}, Provable: true}, ""},
		"none":              {Found{}, "there is no backup"},
		"a stanza is wrong": {Found{Wrong: "missing stanza data"}, "missing stanza data"},
		"never proven":      {Found{Backups: []Taken{before(time.Hour, Full)}}, "no server was started on any"},
		"not any more":      {Found{Backups: []Taken{failed}}, "no server started on"},
		"old":               {Found{Backups: []Taken{{Label: "x", Ended: now.Add(-2 * day), Proven: now}}}, "2 days old"},
		"damaged":           {Found{Backups: []Taken{damaged}}, "pages of the server were damaged"},
		"of the future":     {Found{Backups: []Taken{ahead}}, "is dated in the future"},
		"in the clear":      {Found{Backups: []Taken{proven}, Plain: true}, "not encrypted"},
		"a hole":            {Found{Backups: []Taken{proven}, Holes: []string{"x to y"}}, "a gap: x to y"},
	} {
		var said []string
		for _, u := range Judge(now, c.f, day) {
			said = append(said, u.Why)
		}
		if got := strings.Join(said, "|"); !strings.Contains(got, c.want) || (got == "") != (c.want == "") || len(said) > 1 {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := Judge(now, Found{Backups: []Taken{{Label: "x", Ended: now.Add(-100 * day), Proven: now}}}, 0); len(got) != 0 {
		t.Errorf("nobody said how old one may be: %+v", got)
	}
}

func TestFind(t *testing.T) {
	one := Set{Name: "a", Server: protect.Server{Ref: stack.Ref{Kind: "postgres", Name: "5432"}}}
	two := Set{Name: "b", Server: protect.Server{Ref: stack.Ref{Kind: "postgres", Name: "5433"}}}
	for _, c := range []struct {
		all        []Set
		name, want string
	}{
		{[]Set{one}, "", "a"}, {[]Set{one, two}, "b", "b"}, {[]Set{one, two}, "postgres:5432", "a"}, {[]Set{one, two}, "", ""}, {nil, "", ""}, {[]Set{one}, "c", ""}, {[]Set{one, two}, "postgres", ""},
	} {
		if s, err := Find(c.all, "x", c.name); s.Name != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%q: %q, %v", c.name, s.Name, err)
		}
	}
	for name, want := range map[string]bool{"main": true, "pg-5432_a": true, "": false, "../x": false, "Main": false, "-x": false, "a b": false} {
		if IsName(name) != want {
			t.Errorf("%q", name)
		}
	}
}
