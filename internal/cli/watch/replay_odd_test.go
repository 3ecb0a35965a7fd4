package watch

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/series"
	"plumb/internal/watch"
	"plumb/internal/watch/record"
)

// told runs plumb watch replay, and gives what it writes.
func told(t *testing.T, args ...string) (out, errs string, err error) {
	t.Helper()
	var o, e bytes.Buffer
	s := shell.New(strings.NewReader(""), &o, &e)
	c := replayCommand(&s)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	err = c.ExecuteContext(t.Context())
	return o.String(), e.String(), err
}

// setBackTwice records two minutes and a half, sets the clock back by two minutes, and
// records some more, in which the disk is full.
func setBackTwice(t *testing.T) (dir string) {
	t.Helper()
	cat, _ := known()
	dir = filepath.Join(t.TempDir(), "watch")
	w, err := record.Open(t.Context(), record.Options{Dir: dir, Now: func() time.Time { return night }, Counter: counterIn(cat)})
	if err != nil {
		t.Fatal(err)
	}
	made, looks := &madeHost{}, 0.0
	second := func(i int, full bool) {
		for _, b := range made.second(i, full) {
			w.Batch(b)
		}
		if i%10 == 0 {
			looks++
			w.Batch(twoStatements(night.Add(time.Duration(i)*time.Second+40*time.Millisecond), looks))
		}
	}
	w.Picture(night, madePicture())
	for i := range 150 {
		second(i, false)
	}
	for i := range 140 {
		second(30+i, true)
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// twoStatements are what was counted at the nth look: one takes more time, and the other examines more rows.
func twoStatements(at time.Time, n float64) series.Batch {
	few, many := n, 1e6*n
	b := series.Batch{Source: "mysql:3306 statements", Every: 10 * time.Second, At: at}
	b.Statements = []series.Statement{{Of: db, ID: "lengthy", Text: "SELECT lengthy", Calls: n, Seconds: 2 * n, Examined: &few}, {Of: db, ID: "broad", Text: "SELECT broad", Calls: n, Seconds: n, Examined: &many}}
	b.Set(db, "uptime", 1000+n)
	return b
}

// TestReplayShowsEachTimeThatAMomentCame: after the clock was set back a moment came
// twice, and what was so the second time is no less true.
func TestReplayShowsEachTimeThatAMomentCame(t *testing.T) {
	dir := setBackTwice(t)
	r, err := record.OpenReader(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := &player{judge: watch.NewJudge(known()), at: night.Add(2 * time.Minute)}
	if err := p.play(t.Context(), r, usualBefore); err != nil {
		t.Fatal(err)
	}
	if err := p.found(); err != nil {
		t.Fatal(err)
	}
	full := func(m watch.Moment) bool {
		return slices.ContainsFunc(m.Verdicts, func(v watch.Verdict) bool { return v.ID == "device/saturated" })
	}
	if len(p.earlier) != 1 || full(p.earlier[0]) || !full(*p.moment) || !p.moment.At.Equal(p.earlier[0].At) {
		t.Fatalf("before: %+v\nthe last: %+v", p.earlier, *p.moment)
	}
	const at = "2026-11-25T03:02:00Z"
	text, note, err := told(t, "--dir", dir, "--at", at)
	if err != nil || !strings.Contains(note, "set back over this time, which came 2 times") || strings.Count(text, "mysql:3306") < 2 || !strings.Contains(text, "device/saturated") {
		t.Errorf("%v, %q\n%s", err, note, text)
	}
	for by, first := range map[string]string{"time": "lengthy", "rows": "broad"} {
		sorted, _, err := told(t, "--dir", dir, "--at", at, "--sort", by)
		if order := regexp.MustCompile(`\b(lengthy|broad)\b`).FindAllString(sorted, -1); err != nil || len(order) != 4 || order[0] != first || order[2] != first {
			t.Errorf("by %s both times: %v, %q in\n%s", by, err, order, sorted)
		}
	}
	if json, _, err := told(t, "--dir", dir, "--at", at, "--json"); err != nil || !strings.Contains(json, `"device/saturated"`) {
		t.Errorf("%v\n%s", err, json)
	}
	if _, note, err := told(t, "--dir", dir, "--at", "2026-11-25T03:00:20Z"); err != nil || note != "" { // before that
		t.Errorf("%v, %q", err, note)
	}
	file := filepath.Join(t.TempDir(), "part.jsonl")
	var out bytes.Buffer
	s := shell.New(strings.NewReader(""), &out, &out)
	c := exportCommand(&s)
	c.SetArgs([]string{"--dir", dir, "--from", "2026-11-25T03:00Z", "--to", "2026-11-25T03:05Z", "--output", filepath.Join(t.TempDir(), "part.om")})
	if err := c.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), "values are left out, of a time that was there already") {
		t.Fatalf("%v, and it says %q", err, out.String())
	}
	c = exportCommand(&s)
	c.SetArgs([]string{"--dir", dir, "--from", "2026-11-25T03:00Z", "--to", "2026-11-25T03:05Z", "--format", "jsonl", "--output", file})
	if err := c.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, note, err := told(t, "--from-file", file, "--at", at); err != nil || got != text || !strings.Contains(note, "2 times") {
		t.Errorf("from the file: %v, %q\n%s", err, note, got)
	}
}

// TestReplayOfADamagedRecording: what is not damaged is shown, and what is, is named.
func TestReplayOfADamagedRecording(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "watch")
	live(t, dir, 6)
	const at = "2026-11-25T03:03:40Z"
	_, note, err := told(t, "--dir", dir, "--at", at, "--before", "1m")
	if err != nil || note != "" {
		t.Fatalf("%v, %q", err, note)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, record.File))
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{`UPDATE verdict SET span = x'7b' WHERE id = 'device/saturated'`, `UPDATE baseline SET crc = crc + 1`} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if text, _, err := told(t, "--dir", dir); err != nil || !strings.Contains(text, "not recorded") || !strings.Contains(text, "the verdict device/saturated about mysql:3306 is damaged") {
		t.Errorf("%v\n%s", err, text)
	}
	text, note, err := told(t, "--dir", dir, "--at", at, "--before", "1m")
	if err != nil || !strings.Contains(note, "learned about the devices by then is damaged") || text == "" {
		t.Errorf("%v, %q\n%s", err, note, text)
	}
}

// TestReplayOfACoarserTier: that only some values are left is said, whatever the last batch is of: not all have gauges.
func TestReplayOfACoarserTier(t *testing.T) {
	for name, c := range map[string]struct {
		coarse time.Duration // before the moment; 0: never
		want   bool
	}{"seconds alone": {0, false}, "some values": {10 * time.Second, true}, "some values, long before": {5 * time.Minute, false}} {
		at := night.Add(10 * time.Minute)
		p := &player{judge: watch.NewJudge(known()), at: at}
		if c.coarse > 0 {
			b := series.Batch{Source: "block", Every: 10 * time.Second, At: at.Add(-c.coarse)}
			b.Set(disk, "in_flight", 2)
			if err := p.item(record.Item{At: b.At, Batch: &b, Least: b.Readings, Most: b.Readings}); err != nil {
				t.Fatal(err)
			}
		}
		last := series.Batch{Source: "mysql:3306 status", Every: 10 * time.Second, At: at.Add(-time.Second)}
		last.Set(db, "questions", 7)
		if err := p.item(record.Item{At: last.At, Batch: &last}); err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(p.notes(), "\n"); strings.Contains(notes, "only some values of this time are left") != c.want {
			t.Errorf("%s: %q", name, notes)
		}
	}
}

// TestReplayOfALongFileEndsWhenItIsTold and does not read it to its end.
func TestReplayOfALongFileEndsWhenItIsTold(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := &player{judge: watch.NewJudge(known()), at: night, file: "-"}
	long := `{"plumb_recording":2,"host":"db1"}` + "\n" + strings.Repeat(`{"lost":{"since":"2026-11-25T03:00:00Z","until":"2026-11-25T03:01:00Z","why":"x"}}`+"\n", 10)
	if err := p.playFile(ctx, "-", strings.NewReader(long)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestReplayOfWhatIsNoFile: a directory is taken for a file by who names a capture.
func TestReplayOfWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "cut.jsonl"), []byte(`{"plumb_recording":2,"host":"db1"}`+"\n"+`{"lost":{"since`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]string{
		dir:                              {"is a directory", "before.jsonl.gz"},
		filepath.Join(dir, "none.jsonl"): {"read " + filepath.Join(dir, "none.jsonl") + ": no such file", "did you mean cut.jsonl?"},
		filepath.Join(dir, "cut.jsonl"):  {"line 2: unexpected end", "the file is cut off"},
	} {
		_, _, err := told(t, "--from-file", name, "--at", "2026-11-25T03:00Z")
		if err == nil || !strings.Contains(err.Error(), want[0]) || !strings.Contains(hint.Of(err), want[1]) {
			t.Errorf("%s: %v, with the hint %q", name, err, hint.Of(err))
		}
	}
}
