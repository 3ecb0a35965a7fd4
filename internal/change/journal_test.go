package change

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/internal/journal"
)

// record is one record of a journal that is written by hand.
type record struct {
	kind string
	body any
}

func journalOf(t *testing.T, records ...record) string {
	t.Helper()
	var log journal.Log
	var out strings.Builder
	for _, r := range records {
		text, err := log.Append(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), r.kind, r.body)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(text)
	}
	return out.String()
}

// oddActs are valid records that ask for what this Plumb does not know.
func oddActs() map[string]string {
	const look = `"look":{"file":"/run/a"}`
	return map[string]string{
		"neither edit nor switch": `{"intent":{"step":0,"act":{"protect":{"what":"x"}},"made":{}}}`,
		"both":                    `{"step":0,"act":{"edit":{"file":"/etc/toy.conf","form":"sysctl","key":"a"},"switch":{"on":"x",` + look + `,"undo":[{"argv":["true"]}]}},"made":{}}`,
		"an edit of no splice":    `{"step":0,"act":{"edit":{"file":"/etc/toy.conf","form":"sysctl","key":"a","value":"5"}},"made":{"value":"1"}}`,
		"a splice before byte 0":  `{"step":0,"act":{"edit":{"file":"/etc/toy.conf","form":"sysctl","key":"a","value":"5"}},"made":{"splice":{"at":-9,"old":"","new":"a = 5\n"}}}`,
		"an unknown form":         `{"step":0,"act":{"edit":{"file":"/etc/toy.conf","form":"toml","key":"a","value":"5"}},"made":{"splice":{"at":0}}}`,
		"an edit of no file":      `{"step":0,"act":{"edit":{"form":"sysctl","key":"a","value":"5"}},"made":{"splice":{"at":0}}}`,
		"a step before the first": `{"step":-1,"act":{"switch":{"on":"x",` + look + `,"after":"5","undo":[{"argv":["true"]}]}},"made":{"before":"1"}}`,
		"no way to read":          `{"step":0,"act":{"switch":{"on":"x","look":{},"after":"5","undo":[{"argv":["true"]}]}},"made":{"before":"1"}}`,
		"no way to undo":          `{"step":0,"act":{"switch":{"on":"x",` + look + `,"after":"5"}},"made":{"before":"1"}}`,
		"an operation of no kind": `{"step":0,"act":{"switch":{"on":"x",` + look + `,"after":"5","undo":[{"ioctl":7}]}},"made":{"before":"1"}}`,
		"a making in form 1":      `{"step":0,"act":{"make":{"path":"/run/b","directory":{"perm":488,"uid":0,"gid":0}}},"made":{"mark":"aaaaaaaaaaaaaaaaaaaaaaaaaa"}}`,
		"a statement for nobody":  `{"step":0,"act":{"switch":{"on":"x",` + look + `,"after":"5","undo":[{"statement":"DROP"}]}},"made":{"before":"1"}}`,
	}
}

// A journal with an act that this Plumb does not know is refused whole: also
// the act beside it, which it knows, stays.
func TestOddActsAreRefusedUntouched(t *testing.T) {
	for name, odd := range oddActs() {
		m := newMachine(t)
		m.write("/run/a", "5\n")
		good := intent{Act: Act{Switch: &Switch{On: "/run/a", Inspect: Inspection{File: "/run/a"}, After: "5", Undo: []Op{{Write: &Write{"/run/a", "{before}"}}}}}, Made: Made{Before: "1"}}
		m.write("/var/lib/plumb/change-000001.journal", journalOf(t, record{kindBegin, Begin{Version: 1, Plumb: "9.0"}},
			record{kindIntent, good}, record{kindDone, result{N: 2}}, record{kindIntent, json.RawMessage(odd)}, record{kindDone, result{N: 4}}, record{kindEnd, result{}}))
		was := m.state()
		err := m.executor(m.doer).Undo(t.Context(), []int{1}, UndoOptions{})
		r, ok := errors.AsType[*Refusal](err)
		if !ok || !strings.Contains(r.Why, "change-000001.journal: record 4") || r.What == "" || m.state() != was {
			t.Errorf("%s: %v, %q", name, err, m.state())
		}
	}
}

// The characters of a pattern mean nothing in the name of the directory.
func TestJournalsOfAnOddDirectoryAreFound(t *testing.T) {
	m := newMachine(t)
	k := m.executor(m.doer)
	k.Dir = "/var/lib/plumb[1]*"
	if _, err := k.Apply(t.Context(), m.prepare(to("a", 5)), ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	if all, err := k.Changes(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("got %d changes, %v", len(all), err)
	}
}

// One journal that cannot be read costs its own change, and no other.
func TestADamagedJournalCostsItsChange(t *testing.T) {
	m := newMachine(t)
	k := m.executor(m.doer)
	was := m.state()
	for i, name := range []string{"a", "b", "c"} {
		if _, err := k.Apply(t.Context(), m.prepare(to(name, int64(5+i))), ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	file := "/var/lib/plumb/change-000002.journal"
	m.write(file, strings.Replace(m.read(file), `"kind":"intent"`, `"kind":"intend"`, 1))
	if err := k.Undo(t.Context(), []int{3, 1}, UndoOptions{}); err != nil {
		t.Fatal(err)
	}
	if want := strings.NewReplacer("2\n3", "6\n3", "a = 1\n", "a = 1\nb = 6\n").Replace(was); m.state() != want {
		t.Errorf("%q in place of %q", m.state(), want)
	}
	out, err := k.Apply(t.Context(), m.prepare(to("a", 9)), ApplyOptions{})
	if err != nil || out.Number != 4 {
		t.Errorf("a fix after it: %+v, %v", out, err)
	}
	all, err := k.Changes(t.Context())
	if err != nil || len(all) != 4 || all[1].Damage == nil || all[1].Open() || !strings.Contains(all[1].Damage.Error(), file) {
		t.Errorf("%+v, %v", all, err)
	}
}

// Undo of any journal ends with an error or without, never with a panic, and
// touches nothing outside of what the journal names.
func FuzzJournal(f *testing.F) {
	text, err := os.ReadFile("testdata/v1.journal")
	if err != nil {
		f.Fatal(err)
	}
	var log journal.Log
	if log, err = journal.Read(text); err != nil {
		f.Fatal(err)
	}
	for _, r := range log.Records {
		if r.Kind == kindIntent {
			f.Add([]byte(r.Body), "done")
		}
	}
	for _, odd := range oddActs() {
		f.Add([]byte(odd), "undoing")
	}
	f.Add([]byte(`{"step":0,"act":{"edit":{"file":"/etc/toy.conf","form":"sysctl","key":"a","value":"5"}},"made":{"splice":{"at":9999999,"old":"x","new":"a = 1\n","before":"","after":""}}}`), "done")
	f.Add([]byte(`{"step":0,"act":{"switch":{"on":"x","look":{"file":"/run/a","match":"(a"},"undo":[{"argv":["true"]}]}},"made":{}}`), "done")
	const mark = `"made":{"before":"x","mark":"aaaaaaaaaaaaaaaaaaaaaaaaaa"}}`
	for _, act := range []string{`{"make":{"path":"/a/b","directory":{"perm":488,"uid":0,"gid":0}}}`, `{"copy":{"from":"/a","to":"/b"}}`,
		`{"make":{"inspect":{"file":"/x"},"name":"x","do":[{"argv":["true"]}],"undo":[{"argv":["true"]}]}}`, `{"make":{"dataset":"a/b","do":[{"argv":["true"]}],"undo":[{"argv":["true"]}]}}`} {
		f.Add([]byte(`{"step":0,"act":`+act+`,`+mark), "made")
	}
	f.Fuzz(func(t *testing.T, body []byte, kind string) {
		if !json.Valid(body) {
			return
		}
		c, err := replay(1, "x", []byte(journalOf(t, record{kindBegin, Begin{Version: Form}}, record{kindIntent, json.RawMessage(body)}, record{kind, result{N: 2}})))
		if err != nil {
			return
		}
		k := &Executor{Doer: nobody{}, Dir: "/x", Now: time.Now}
		for _, p := range c.Acts {
			_, _ = p.Act.Place(), p.Back()
			_, _ = p.Words()
			if p.Act.Edit != nil {
				for _, text := range [][]byte{nil, {}, []byte("a = 5\n"), []byte("# x\na = 1\nb=2")} {
					_, _ = p.Act.Edit.without(p.Made, text)
					_, _ = p.Act.Edit.forced(p.Made, text)
				}
			}
		}
		for _, o := range []UndoOptions{{}, {Force: true}, {Keep: true}} {
			_ = k.undo(t.Context(), c, -1, o)
		}
	})
}

// nobody is a machine on which nothing can be read or done.
type nobody struct{ host.Doer }

var errNobody = errors.New("nobody is here")

func (nobody) ReadFile(context.Context, string) ([]byte, error)  { return nil, errNobody }
func (nobody) Raw(context.Context, string) ([]byte, error)       { return []byte("a = 5\n"), nil }
func (nobody) Stat(context.Context, string) (host.Stat, error)   { return host.Stat{}, errNobody }
func (nobody) Output(context.Context, ...string) ([]byte, error) { return nil, errNobody }
func (nobody) Query(context.Context, host.Target, string) (host.Rows, error) {
	return host.Rows{}, errNobody
}
func (nobody) Exec(context.Context, host.Target, string) error              { return errNobody }
func (nobody) Run(context.Context, ...string) ([]byte, error)               { return nil, errNobody }
func (nobody) Readlink(context.Context, string) (string, error)             { return "", errNobody }
func (nobody) Glob(context.Context, string) ([]string, error)               { return nil, errNobody }
func (nobody) MakeDir(context.Context, string, fs.FileMode, int, int) error { return errNobody }
func (nobody) Rename(context.Context, string, string) error                 { return errNobody }
func (nobody) About() host.About                                            { return host.About{Root: true} }
func (nobody) Write(context.Context, string, []byte) error                  { return errNobody }
func (nobody) Append(context.Context, string, []byte) error                 { return nil }
func (nobody) Tidy(context.Context, string) error                           { return nil }
func (nobody) Remove(context.Context, string) error                         { return errNobody }
func (nobody) Replace(context.Context, string, []byte, fs.FileMode) error   { return errNobody }
