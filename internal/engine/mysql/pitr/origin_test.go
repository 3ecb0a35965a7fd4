package pitr

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"plumb/internal/archive"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/moment"
	"plumb/internal/protect/replay"
)

// latest plans the way from a base to the end of the archive.
func (l *log) latest(b manifest.Manifest, log string) (moment.Way, error) {
	return Engine{}.Plan(l.t.Context(), l.shelf, b, moment.Asked{To: replay.Target{Text: "the end"}, Log: log})
}

// series are the names of those that the archive has, oldest first.
func (l *log) series() (names []string) {
	l.t.Helper()
	all, err := l.shelf.List(l.t.Context(), "")
	if err != nil {
		l.t.Fatal(err)
	}
	for _, one := range bySeries(all) {
		names = append(names, one[0].Series)
	}
	return names
}

// baseWhile is a base that was made from one time to another, of a server that had committed nothing: it has no GTID.
func baseWhile(began, ended time.Time) manifest.Manifest {
	m := baseAt("binlog.000001", len(begin()), ended)
	m.Began = began
	return m
}

func committed() []byte { return bytes.Join([][]byte{gtid(1), change(1), commit()}, nil) }

// A log that was reset, and that of a server that was restored, have the names and places of the one before. A base whose own log is not
// in the archive is not brought forward with it, unless a person says so.
func TestAnotherLogHasThePlace(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	for name, c := range map[string]struct {
		made, began, ended time.Time // the log, and the base
		want               string
	}{
		"begun when the base had ended": {now.Add(-time.Hour), now.Add(-3 * time.Hour), now.Add(-2 * time.Hour), "binlog.000001 of the series SERIES: it is another log: it was made at"},
		"begun while the base was made": {now.Add(-time.Hour), now.Add(-3 * time.Hour), now, "was begun at"},
		"begun when the base began":     {now.Add(-time.Hour), now.Add(-time.Hour), now, "was begun at"},
		"further when the base began":   {now.Add(-9 * time.Hour), now.Add(time.Hour), now.Add(2 * time.Hour), "the series SERIES had come past binlog.000001:"},
	} {
		l := newLog(t)
		l.files("binlog.000001")
		l.write("binlog.000001", beginAt(c.made), committed())
		l.turns()
		b, series := baseWhile(c.began, c.ended), l.series()[0]
		w, err := l.latest(b, "")
		if err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(c.want, "SERIES", series)) || !strings.Contains(err.Error(), "--log mysql/"+series) {
			t.Errorf("%s: %+v, %v", name, w, err)
		}
		if w, err := l.latest(b, "mysql/"+series); err != nil || w.Count != 1 {
			t.Errorf("%s, and somebody says that it is the same: %+v, %v", name, w, err)
		}
	}
}

// Times of bases are whole seconds. Where the log was begun in the one in which a base began, and ended, nothing tells which came first;
// GTIDs do where the base ended later. What was archived in the second in which a base began was written before its end.
func TestOneSecond(t *testing.T) {
	at := time.Now().Truncate(time.Second).Add(-time.Hour)
	for name, c := range map[string]struct {
		made, began, ended, kept time.Time
		want                     string
	}{
		"all in one":          {at, at, at, time.Now(), "was begun at"},
		"begun as it ended":   {at, at.Add(-time.Hour), at, time.Now(), "was begun at"},
		"begun as it began":   {at, at, at.Add(time.Second), time.Now(), ""},
		"kept as it began":    {at.Add(-time.Hour), at, at.Add(time.Hour), at.Add(200 * time.Millisecond), "had come past binlog.000001:"},
		"kept a second later": {at.Add(-time.Hour), at, at.Add(time.Hour), at.Add(time.Second), ""},
	} {
		l := newLog(t)
		l.k.Now = func() time.Time { return c.kept }
		l.files("binlog.000001")
		head := append(beginAt(c.made), committed()...)
		l.write("binlog.000001", head, gtid(2), change(2), commit())
		l.turns()
		b := baseAt("binlog.000001", len(head), c.ended)
		b.Began, b.Facts[factGTID] = c.began, "3-7-1"
		w, err := l.latest(b, "")
		if c.want == "" && (err != nil || w.Count != 1) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %+v, %v", name, w, err)
		}
	}
}

// Of two logs that have the place, the one is the base's that had taken the place of the other when the base began: also where the
// archive noticed it later.
func TestLaterLogHasThePlace(t *testing.T) {
	l := newLog(t)
	now := time.Now().Truncate(time.Second)
	l.files("binlog.000001")
	l.write("binlog.000001", beginAt(now.Add(-9*time.Hour))) // nothing behind the place
	l.turns()
	l.write("binlog.000001", beginAt(now.Add(-5*time.Hour)), committed())
	if l.turns() == "" {
		t.Fatal("it goes on")
	}
	w, err := l.latest(baseWhile(now.Add(-time.Hour), now.Add(-time.Minute)), "")
	if err != nil || w.Count != 1 || w.Inner.(inner).log.series != l.series()[1] {
		t.Errorf("%+v, %v", w, err)
	}
	w, err = l.latest(baseWhile(now.Add(-7*time.Hour), now.Add(-6*time.Hour)), "")
	if err != nil || w.Count != 0 || w.Inner.(inner).log.series != l.series()[0] || len(w.Notes) != 1 {
		t.Errorf("of the first: %+v, %v", w, err)
	}
}

// A file that was made while the base was made is of its log where transactions came before it: the server began another file.
func TestNextFileWhileTheBaseWasMade(t *testing.T) {
	l := newLog(t)
	now := time.Now().Truncate(time.Second)
	head := append(beginAt(now.Add(-time.Hour)), listed(1)...)
	l.files("binlog.000001")
	l.write("binlog.000001", head, gtid(2), change(1), commit())
	l.turns()
	b := baseAt("binlog.000001", len(head), now)
	b.Facts[factGTID] = "3-7-1"
	if w, err := l.latest(b, ""); err != nil || w.Count != 1 {
		t.Errorf("%+v, %v", w, err)
	}
}

// A series of which nobody can tell whether it is the base's log is named.
func TestSeriesThatNobodyCanRead(t *testing.T) {
	l, other := newLog(t), newLog(t)
	l.files("binlog.000001")
	l.write("binlog.000001", begin(), committed())
	l.turns()
	l.anew()
	l.k.Past, l.k.Sign, l.k.Public = l.shelf.Trust, other.k.Sign, other.k.Public
	for range 3 { // with a key that the reader does not trust
		if _, err := l.f.Turn(t.Context(), l.k); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(l.series()); n != 2 {
		t.Fatalf("%d series", n)
	}
	w, err := l.latest(baseWhile(time.Now().Add(-time.Hour), time.Now()), "")
	if err != nil || w.Count != 1 || !strings.Contains(strings.Join(w.Notes, "\n"), "whether the series "+l.series()[1]+" is of the log of the base is not known") {
		t.Errorf("%+v, %v", w, err)
	}
}

// Who has stolen a key that was given up signs log with it, and says that it was before that. Behind a base that was made long since it is
// not replayed, unless a person says that times count for nothing.
func TestLogOfAStolenKey(t *testing.T) {
	l, old := newLog(t), newLog(t)
	l.files("binlog.000001")
	l.write("binlog.000001", begin(), change(1), rotate("binlog.000002"))
	l.turns()
	now, text := time.Now(), bytes.Join([][]byte{begin(), change(2)}, nil)
	said := now.Add(-7 * 24 * time.Hour)
	old.k.Store, old.k.Now, old.k.To = l.k.Store, func() time.Time { return said }, l.k.To
	p := archive.Piece{Server: "mysql", Series: l.f.series, File: "binlog.000002", To: int64(len(text))}
	if _, err := old.k.Keep(t.Context(), archive.Entry{Piece: p}, bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	base := baseAt("binlog.000001", len(begin()), now)
	for what, c := range map[string]struct {
		given time.Time // up
		log   string
		files int // that are replayed; 0 for none
	}{
		"before the base":                   {now.Add(-6 * 24 * time.Hour), "", 0},
		"while the base was new":            {now.Add(-time.Hour), "", 2},
		"before the base, and that is said": {now.Add(-6 * 24 * time.Hour), "mysql/" + l.f.series, 2},
	} {
		l.shelf.Retired = []manifest.Retired{{Verifier: old.shelf.Trust[0], Until: c.given}}
		w, err := l.latest(base, c.log)
		if c.files == 0 && !errors.Is(err, archive.ErrUnbelieved) || c.files > 0 && (err != nil || w.Files != c.files) {
			t.Errorf("given up %s: %+v, %v", what, w, err)
		}
	}
}
