package watch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/rule"
	"plumb/internal/series"
	"plumb/internal/stack"
	view "plumb/internal/view/watch"
	"plumb/internal/watch"
	"plumb/internal/watch/record"
	"plumb/internal/watch/verdict"
	"plumb/knowledge"
)

// The host of these tests is made: they ask whether a replay says what was said.

var (
	night = time.Date(2026, 11, 25, 3, 0, 0, 0, time.UTC)
	db    = stack.Ref{Kind: "mysql", Name: "3306"}
	disk  = stack.Ref{Kind: "block", Name: "sda"}
)

// known is read once: it is not changed.
var known = sync.OnceValues(func() (*catalog.Catalog, []*rule.Limit) {
	cat, err := catalog.Windows(knowledge.FS)
	limits, err2 := verdict.Load(knowledge.FS, cat)
	if err != nil || err2 != nil {
		panic(errors.Join(err, err2))
	}
	return cat, limits
})

func madePicture() *stack.Stack {
	s, o := &stack.Stack{}, stack.Observation{}
	o.New("host", "host").Set("hostname", stack.Text("db1"), "made")
	server := o.New("mysql", "3306")
	server.Set("flavor", stack.Text("mariadb"), "made")
	server.Set("version", stack.Text("10.11.14"), "made")
	files := stack.Ref{Kind: "filesystem", Name: "/data"}
	server.Link("data", files)
	server.Link("storage", files)
	f := o.New("filesystem", "/data")
	f.Link("block", disk)
	f.Link("disks", disk)
	o.New("block", "sda").Set("layer", stack.Text("disk"), "made")
	s.Add("made", o)
	return s
}

// second is a second of a disk that has all its time, or none: then reads take
// forty times as long and eight sessions wait for them.
type madeHost struct{ reads, ms, psi float64 }

func (m *madeHost) second(i int, full bool) []series.Batch {
	at := night.Add(time.Duration(i) * time.Second)
	b := series.Batch{Source: "block", Every: time.Second, At: at.Add(10 * time.Millisecond), Took: time.Millisecond}
	each, waiting := 0.5, 0.0
	if full {
		each, waiting = 20, 10
		m.psi += 0.8e6
	}
	m.reads, m.ms = m.reads+500, m.ms+500*each
	b.Set(disk, "reads", m.reads)
	b.Set(disk, "read_ms", m.ms)
	b.Set(disk, "read_bytes", m.reads*16384)
	b.Set(disk, "queue_ms", m.ms)
	b.Set(disk, "in_flight", 500*each/1000)
	for _, name := range []string{"writes", "write_ms", "written_bytes"} {
		b.Set(disk, name, 0)
	}
	k := series.Batch{Source: "kernel", Every: time.Second, At: at.Add(20 * time.Millisecond)}
	k.Set(stack.Ref{Kind: "host", Name: "host"}, "psi_io_some_us", m.psi)
	s := series.Batch{Source: "mysql:3306 sessions", Every: time.Second, At: at.Add(30 * time.Millisecond), Took: 2 * time.Millisecond}
	s.Set(db, "sessions_active", waiting+1)
	s.Set(db, "sessions_cpu", 1)
	for _, class := range series.Classes[1:] {
		s.Set(db, "sessions_"+string(class), 0)
	}
	s.Readings[2].Value = waiting // sessions_read
	s.Sessions = []series.Session{{Of: db, ID: 7, User: "app", Active: true, Class: series.ClassRead, Wait: "wait/io/file/innodb/innodb_data_file", For: time.Second, Text: "SELECT ?"}}
	return []series.Batch{b, k, s}
}

// live records some minutes of which the third from the end is full, and gives
// what was said live of each window.
func live(t *testing.T, dir string, minutes int) (said map[time.Time]string) {
	t.Helper()
	cat, limits := known()
	j := watch.NewJudge(cat, limits)
	w, err := record.Open(t.Context(), record.Options{Dir: dir, Now: func() time.Time { return night }, Counter: counterIn(cat)})
	if err != nil {
		t.Fatal(err)
	}
	k := &keeping{Writer: w, judge: j}
	said = map[time.Time]string{}
	made := &madeHost{}
	for i := range minutes * 60 {
		if i%600 == 0 {
			k.Picture(night.Add(time.Duration(i)*time.Second), madePicture())
		}
		full := i/60 == minutes-3
		for _, b := range made.second(i, full) {
			known := k.known
			k.Batch(b)
			if !k.known.Equal(known) {
				said[k.known] = asJSON(t, j.Moment(k.known))
			}
		}
		if err := w.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return said
}

func asJSON(t *testing.T, m watch.Moment) string {
	t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func replayed(t *testing.T, dir string, at time.Time) watch.Moment {
	t.Helper()
	j := watch.NewJudge(known())
	r, err := record.OpenReader(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := &player{judge: j, at: at}
	if err := p.play(t.Context(), r, usualBefore); err != nil {
		t.Fatal(err)
	}
	if err := p.found(); err != nil {
		t.Fatal(err)
	}
	return *p.moment
}

func TestReplaySaysWhatWasSaidLive(t *testing.T) {
	for _, minutes := range []int{6, 24} { // from its beginning, and from what was learned by then
		dir := filepath.Join(t.TempDir(), "watch")
		said := live(t, dir, minutes)
		raised := false
		for back := 10; back < 240; back += 37 {
			at := night.Add(time.Duration(minutes)*time.Minute - time.Duration(back)*time.Second)
			got := replayed(t, dir, at)
			if want := said[got.At]; asJSON(t, got) != want {
				t.Fatalf("of %s, live:\n%s\nreplayed:\n%s", got.At, want, asJSON(t, got))
			}
			if at.Sub(got.At) > 6*time.Second {
				t.Errorf("asked for %s, it shows %s", at, got.At)
			}
			raised = raised || len(got.Verdicts) > 0
		}
		if !raised {
			t.Error("no moment has a verdict: the same nothing was said twice")
		}
	}
}

func TestExportedLinesReplayTheSame(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "watch")
	live(t, dir, 6)
	var out, errs bytes.Buffer
	s := shell.New(strings.NewReader(""), &out, &errs)
	do := func(args ...string) string {
		t.Helper()
		out.Reset()
		c := replayCommand(&s)
		if args[0] == "export" {
			c = exportCommand(&s)
		}
		c.SetArgs(args[1:])
		if err := c.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return out.String()
	}
	const at = "2026-11-25T03:03:40Z"
	file := filepath.Join(t.TempDir(), "part.jsonl")
	do("export", "--dir", dir, "--from", "2026-11-25T03:00Z", "--to", "2026-11-25T03:06Z", "--format", "jsonl", "--output", file)
	direct := do("replay", "--dir", dir, "--at", at, "--json")
	if got := do("replay", "--from-file", file, "--at", at, "--json"); got != direct {
		t.Errorf("from the file:\n%s\nfrom the recording:\n%s", got, direct)
	}
	if got := do("replay", "--from-file", compressed(t, file), "--at", at, "--json"); got != direct {
		t.Errorf("from the compressed file:\n%s\nfrom the recording:\n%s", got, direct)
	}
	if !strings.Contains(direct, `"device/saturated"`) {
		t.Errorf("%s", direct)
	}
	if text := do("replay", "--dir", dir, "--at", at); !strings.Contains(text, "device/saturated") && !strings.Contains(text, "sda") {
		t.Errorf("%s", text)
	}
	if text := do("replay", "--dir", dir); !strings.Contains(text, "device/saturated") || !strings.Contains(text, "recorded from") {
		t.Errorf("%s", text)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
	refusesWhatIsNotRecorded(t, dir, file)
}

// refusesWhatIsNotRecorded wants errors that say what is there, of a recording of six
// minutes and of the file that was made of it.
func refusesWhatIsNotRecorded(t *testing.T, dir, file string) {
	t.Helper()
	refused := func(want string, args ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		s := shell.New(strings.NewReader(""), &out, &errs)
		c := replayCommand(&s)
		if args[0] == "export" {
			c = exportCommand(&s)
		}
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetArgs(args[1:])
		if err := c.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) || hint.Of(err) == "" || out.Len() > 0 {
			t.Errorf("%q: %v, with the hint %q and %d bytes written", args, err, hint.Of(err), out.Len())
		}
	}
	local := func(hour, minute, second int) string {
		return shown(time.Date(2026, 11, 25, hour, minute, second, 0, time.UTC))
	}
	whole := " goes from " + local(3, 0, 0) + " to " + local(3, 5, 59)
	refused("nothing is recorded of "+local(9, 0, 0)+"; the recording"+whole, "replay", "--dir", dir, "--at", "2026-11-25T09:00Z")
	for _, at := range []string{"2026-11-25T02:00Z", "2026-11-25T09:00Z"} {
		refused("part.jsonl; its part of a recording"+whole, "replay", "--from-file", file, "--at", at)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	for _, form := range exportForms() {
		span := []string{"export", "--dir", dir, "--format", form, "--from", "2026-11-25T04:00Z", "--to", "2026-11-25T05:00Z"}
		want := "nothing is recorded from " + local(4, 0, 0) + " to " + local(5, 0, 0) + "; the recording" + whole
		refused(want, span...)
		refused(want, append(span, "--output", empty)...)
	}
	if _, err := os.Stat(empty); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file is made of nothing: %v", err)
	}
}

// No part of a recording that somebody else wrote breaks a replay of it.
func FuzzReplay(f *testing.F) {
	var out bytes.Buffer
	made := &madeHost{}
	err := record.WriteLines(&out, "db1", func(do func(record.Item) error) error {
		err := do(record.Item{At: night, Picture: madePicture()})
		for i := range 25 {
			for _, b := range made.second(i, true) {
				err = errors.Join(err, do(record.Item{At: b.At, Batch: &b}))
			}
		}
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	whole := out.String()
	f.Add(whole)
	f.Add(strings.ReplaceAll(whole, `"facts":`, `"others":`)) // things without facts, of which values come
	f.Add(strings.ReplaceAll(whole, `"links":`, `"others":`))
	f.Add(strings.ReplaceAll(whole, "500", "1e308"))
	cat, limits := known()
	f.Fuzz(func(t *testing.T, text string) {
		p := &player{judge: watch.NewJudge(cat, limits), at: night.Add(20 * time.Second), file: "part.jsonl"}
		if err := record.ReadLines(strings.NewReader(text), p.item); err != nil && p.moment == nil || p.found() != nil {
			return
		}
		if got := view.Text(*p.moment, cat, shell.Screen(io.Discard)); got == "" {
			t.Error("a moment is shown as nothing")
		}
	})
}

// compressed makes another file of one, as a capture has it.
func compressed(t *testing.T, name string) string {
	t.Helper()
	plain, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	err = shell.WriteFile(name+".gz", false, shell.Packed(func(w io.Writer) error { _, err := w.Write(plain); return err }))
	if err != nil {
		t.Fatal(err)
	}
	return name + ".gz"
}
