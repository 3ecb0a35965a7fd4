package rule

import (
	"strings"
	"testing"
	"testing/fstest"

	"plumb/internal/catalog"
	"plumb/internal/host/hosttest"
	"plumb/knowledge"
)

const soundLimit = `id: a/b
title: "{d} is full"
servers: [mysql, postgres]
for: [fs in db.data, d in fs.disks]
when: {mysql: d.reads_rate > 100.0 && db.share_io_low >= 0.2, postgres: d.reads_rate > 200.0}
share: db.share_io
say: "{show(d.reads_rate)} reads."
explain: It is so.
against: [{says: "few wait", when: {mysql: db.share_io < 0.5}}]
do: ["read less than {show(d.reads_rate)}"]
sources: [https://example.org/]
examples:
  - {name: full, want: fires, given: {d: {reads_rate: 300}, db: {share_io_low: 0.5, share_io: 0.6, share_io_high: 0.7}}}
  - {name: empty, want: quiet, given: {d: {reads_rate: 1}}}
  - {name: never_read, want: quiet, given: {fs: {}}, absent: [d.reads_rate]}
  - {name: few, want: fires, given: {d: {reads_rate: 300}, db: {share_io_low: 0.3, share_io: 0.4, share_io_high: 0.5}}}
  - {name: dark, of: postgres, want: unknown}
`

func limits(t testing.TB, text string) ([]*Limit, error) {
	t.Helper()
	cat := hosttest.Windows(t)
	return Limits(fstest.MapFS{"v/a/b.yaml": {Data: []byte(text)}}, "v", cat)
}

func TestLimitSaysWhatItKnows(t *testing.T) {
	all, err := limits(t, soundLimit)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d, %v", len(all), err)
	}
	k := all[0].kinds[0]
	v := k.limited(all[0], combination{things: k.Examples[0].things})
	if v.Outcome != Fires || v.Title != "d is full" || v.Share == nil || *v.Share != 0.6 || *v.Low != 0.5 || *v.High != 0.7 {
		t.Errorf("fires: %+v", v)
	}
	if len(v.Objections) != 1 || v.Objections[0].Holds != Quiet || v.Do[0] != "read less than 300/s" || len(v.Evidence) != 2 {
		t.Errorf("fires: %+v", v)
	}
	if v = k.limited(all[0], combination{things: k.Examples[1].things}); v.Outcome != Quiet || v.Why != "d.reads_rate = 1/s" {
		t.Errorf("quiet because of %q", v.Why)
	}
	if v = k.limited(all[0], combination{things: k.Examples[2].things}); v.Outcome != Quiet || v.Why != "d.reads_rate absent" {
		t.Errorf("quiet, where how many wait is unknown, because of %q", v.Why)
	}
	p := all[0].kinds[1]
	if v = p.limited(all[0], combination{things: p.Examples[0].things}); v.Outcome != Unknown || len(v.Missing) != 1 || v.Missing[0].Name != "reads_rate" {
		t.Errorf("unknown: %+v", v)
	}
}

// TestAShareThatIsChosenHasItsInterval: which fact it is depends, and the interval is that of the one it is.
func TestAShareThatIsChosenHasItsInterval(t *testing.T) {
	for share, known := range map[string]bool{"db.share_io_low > 0.9 ? db.share_cpu : db.share_io": true, "db.share_io / 2.0": false} {
		all, err := limits(t, strings.Replace(soundLimit, "share: db.share_io", `share: "`+share+`"`, 1))
		if err != nil {
			t.Fatal(err)
		}
		k := all[0].kinds[0]
		v := k.limited(all[0], combination{things: k.Examples[0].things})
		if v.Share == nil || (v.Low != nil) != known || known && (*v.Share != 0.6 || *v.Low != 0.5 || *v.High != 0.7) {
			t.Errorf("%s: %v from %v to %v", share, v.Share, v.Low, v.High)
		}
	}
}

// TestLimitLeavesOutWhatItDoesNotKnow: a share is of the last half minute, and who holds the lock is of now.
func TestLimitLeavesOutWhatItDoesNotKnow(t *testing.T) {
	for say, want := range map[string]string{
		"{show(d.reads_rate)} reads. {db.blocker} blocks {db.blocker_blocks}. It is full.": "300/s reads. It is full.",
		"It is full. At the root is {db.blocker}.":                                         "It is full.",
		"{db.blocker} blocks.": "? blocks.",
	} {
		all, err := limits(t, strings.Replace(soundLimit, "{show(d.reads_rate)} reads.", say, 1))
		if err != nil {
			t.Fatal(err)
		}
		k := all[0].kinds[0]
		if v := k.limited(all[0], combination{things: k.Examples[0].things}); v.Say != want {
			t.Errorf("%s: %q, want %q", say, v.Say, want)
		}
	}
}

func TestLimitReportsMistakes(t *testing.T) {
	for change, want := range map[string]string{
		"db.share_io_low|db.share_lo":                     "has no fact share_lo",
		"d in fs.disks|d in fs.disk":                      "has no link disk",
		"servers: [mysql, postgres]|servers: [mysql]":     "postgres is not among the servers",
		"servers: [mysql, postgres]|servers: [oracle]":    "is not among the servers",
		"name: full, want: fires|name: full, want: quiet": "want quiet, got fires",
		"want: unknown|want: quiet":                       "want quiet, got unknown",
		"id: a/b|id: a/c":                                 "the id is the path",
		"share: db.share_io|share: db.":                   "no viable alternative",
		"explain: It is so.\n|":                           `needs the key "explain"`,
		"against:|agains:":                                "agains",
		"db.share_io < 0.5|db.share_io < 0.1":             "perhaps it never can",
	} {
		from, to, _ := strings.Cut(change, "|")
		_, err := limits(t, strings.Replace(soundLimit, from, to, 1))
		found := false
		for _, w := range strings.Split(want, "|") {
			found = found || err != nil && strings.Contains(err.Error(), w)
		}
		if !found {
			t.Errorf("%q: %v, want %s", to, err, want)
		}
	}
}

func FuzzLimit(f *testing.F) {
	f.Add([]byte(soundLimit))
	f.Add([]byte("servers: {a: b}\nfor: [[x]]\nwhen: [1]\nexamples: [{of: [x]}, 3]\nagainst: [[]]\ndo: {a: 1}"))
	cat, err := catalog.Windows(knowledge.FS)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := Limits(fstest.MapFS{"v/a/b.yaml": {Data: text}}, "v", cat)
		if err == nil && len(all) != 1 {
			t.Fatalf("%d limits and no mistake", len(all))
		}
	})
}
