package watch

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/series"
	"plumb/internal/watch"
	"plumb/internal/watch/record"
)

// statementsAt is what had been counted of two statements by a second: from the fifteenth minute on, one is called four times as often, and
// each call of the other takes ten times as long and looks at many rows.
func statementsAt(i int) series.Batch {
	b := series.Batch{Source: "mysql:3306 statements", Every: 10 * time.Second, At: night.Add(time.Duration(i)*time.Second + 40*time.Millisecond)}
	n, more := float64(i), float64(max(0, i-15*60))
	often, slow := n+3*more, n/10+0.9*more
	rows := n + 99*more
	b.Statements = []series.Statement{{Of: db, ID: "often", Text: "SELECT often", Calls: often * 10, Seconds: often / 10},
		{Of: db, ID: "slow", Text: "SELECT slow", Calls: n, Seconds: slow, Examined: &rows}}
	b.Set(db, "uptime", 1000+n)
	return b
}

// recordStatements records 25 minutes of a server whose statements change after fifteen.
func recordStatements(t *testing.T, dir string) {
	t.Helper()
	cat, limits := known()
	w, err := record.Open(t.Context(), record.Options{Dir: dir, Now: func() time.Time { return night }, Counter: counterIn(cat)})
	if err != nil {
		t.Fatal(err)
	}
	k, made := &keeping{Writer: w, judge: watch.NewJudge(cat, limits)}, &madeHost{}
	for i := range 25 * 60 {
		if i%600 == 0 {
			k.Picture(night.Add(time.Duration(i)*time.Second), madePicture())
		}
		for _, b := range made.second(i, false) {
			k.Batch(b)
		}
		if i%10 == 0 {
			k.Batch(statementsAt(i))
		}
		if err := w.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// replayTo gives what the command prints, and what it notes.
func replayTo(t *testing.T, args ...string) (text, notes string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	s := shell.New(strings.NewReader(""), &out, &errs)
	c := replayCommand(&s)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	err = c.ExecuteContext(t.Context())
	return strings.Join(strings.Fields(out.String()), " "), errs.String(), err
}

// The statements of two spans of a recording are compared, in the recording and in a part that was exported; which is
// first is what a person asks for.
func TestReplayComparesStatements(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "watch")
	recordStatements(t, dir)
	file := filepath.Join(t.TempDir(), "part.jsonl")
	var out bytes.Buffer
	s := shell.New(strings.NewReader(""), &out, &out)
	export := exportCommand(&s)
	export.SetArgs([]string{"--dir", dir, "--from", "2026-11-25T03:00Z", "--to", "2026-11-25T03:25Z", "--format", "jsonl", "--output", file})
	if err := export.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	const at, other = "2026-11-25T03:24Z", "2026-11-25T03:10Z"
	for _, from := range [][]string{{"--dir", dir}, {"--from-file", file}} {
		for by, first := range map[string]string{"time": "slow", "growth": "slow", "rows": "slow", "bytes": "slow"} {
			text, notes, err := replayTo(t, append(from, "--at", at, "--against", other, "--before", "5m", "--sort", by)...)
			if err != nil {
				t.Fatalf("%q by %s: %v", from, by, err)
			}
			slow, often := strings.Index(text, "SELECT slow"), strings.Index(text, "SELECT often")
			if slow < 0 || often < 0 || (slow < often) != (first == "slow") {
				t.Errorf("%q by %s: %s", from, by, text)
			}
			for _, want := range []string{"s by slower calls: SELECT slow", "s by more calls: SELECT often"} {
				if !strings.Contains(text, want) {
					t.Errorf("%q by %s: there is no %q in %s", from, by, want, text)
				}
			}
			if !strings.Contains(notes, "compared with those from") {
				t.Errorf("%q by %s: notes %s", from, by, notes)
			}
		}
	}
	plain, notes, err := replayTo(t, "--dir", dir, "--at", at)
	if err != nil || strings.Contains(plain, "slower calls") || strings.Contains(notes, "compared") {
		t.Errorf("without --against: %s, %s, %v", plain, notes, err)
	}
	badComparisons(t, dir, at)
}

// badComparisons asks for what cannot be compared.
func badComparisons(t *testing.T, dir, at string) {
	t.Helper()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--at", at, "--against", "2026-11-25T03:22Z", "--before", "5m"}, "overlap"},
		{[]string{"--at", at, "--against", "2026-11-24T03:10Z", "--before", "5m"}, "no statements are recorded"},
		{[]string{"--at", at, "--against", "soon"}, "is not a time"},
		{[]string{"--at", at, "--sort", "size"}, "--sort size is not known"},
		{[]string{"--against", at}, "no moment is given"},
	} {
		_, _, err := replayTo(t, append(c.args, "--dir", dir)...)
		if err == nil || !strings.Contains(err.Error(), c.want) || hint.Of(err) == "" {
			t.Errorf("%q: %v (%s), want %q", c.args, err, hint.Of(err), c.want)
		}
	}
}
