package change

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/host/chroot"
	"plumb/internal/host/hosttest"
	"plumb/internal/journal"
	"plumb/internal/stack"
)

// toy sets knobs of files below /run: a, b and c each are one file, and a
// line in /etc/toy.conf.
type toy struct{}

func (toy) Kinds() []string { return []string{"toy"} }

func (toy) Recipe(_ context.Context, _ host.Reader, _ *stack.Stack, w Want) (Recipe, error) {
	file, text := "/run/"+w.Knob.Name, w.To.String()
	took := text
	if text == "1000" { // more than it takes
		took = "999"
	}
	guard := (*Guard)(nil)
	if w.Knob.Name == "c" {
		guard = &Guard{MemAvailable: 1 << 30}
	}
	return Recipe{Effect: catalog.Now, Acts: []Act{
		{Switch: &Switch{On: file, Inspect: Inspection{File: file}, After: text, Guard: guard,
			Do: []Op{{Write: &Write{file, took}}}, Undo: []Op{{Write: &Write{file, "{before}"}}}}},
		{Edit: &Edit{File: "/etc/toy.conf", Form: edit.Sysctl, Key: w.Knob.Name, Value: text}},
	}}, nil
}

// machine is a scratch directory with what the tests need.
type machine struct {
	t    *testing.T
	dir  string
	doer host.Doer
}

func newMachine(t *testing.T) *machine {
	m := &machine{t: t, dir: t.TempDir()}
	for name, text := range map[string]string{"/run/a": "1\n", "/run/b": "2\n", "/run/c": "3\n", "/etc/toy.conf": "a = 1\n",
		"/proc/meminfo": "MemTotal: 4000000 kB\nMemAvailable: 2000000 kB\n", "/proc/vmstat": "pswpin 0\npswpout 0\n"} {
		m.write(name, text)
	}
	m.doer = chroot.New(hosttest.LiveDoer(t), m.dir)
	return m
}

func (m *machine) write(name, text string) {
	m.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(m.dir+name), 0o755), os.WriteFile(m.dir+name, []byte(text), 0o644)); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) read(name string) string {
	m.t.Helper()
	text, err := os.ReadFile(m.dir + name)
	if err != nil {
		m.t.Fatal(err)
	}
	return string(text)
}

// state is everything that steps may change.
func (m *machine) state() string {
	return m.read("/run/a") + m.read("/run/b") + m.read("/run/c") + m.read("/etc/toy.conf")
}

func knob(name string) stack.Knob {
	return stack.Knob{Of: stack.Ref{Kind: "toy", Name: "t"}, Name: name}
}

func to(name string, value int64) Step { return Step{Knob: knob(name), To: stack.Int(value)} }

func (m *machine) prepare(steps ...Step) Draft {
	m.t.Helper()
	return m.draft(toy{}, steps...)
}

// draft has the acts that a setter wants for some steps. Whether they may be done is not looked at: that is for package draft.
func (m *machine) draft(s Setter, steps ...Step) (d Draft) {
	m.t.Helper()
	for _, step := range steps {
		recipe, err := s.Recipe(m.t.Context(), m.doer, &stack.Stack{}, Want{Knob: step.Knob, To: step.To})
		if err != nil {
			m.t.Fatal(err)
		}
		d.Steps = append(d.Steps, Prepared{Step: step, Recipe: recipe})
	}
	return d
}

func (m *machine) executor(d host.Doer) *Executor {
	return &Executor{Doer: d, Dir: "/var/lib/plumb", Plumb: "test", Now: time.Now}
}

// A step of which an act fails is taken back; the steps before it stay, those
// after it are not begun.
func TestAFailingStepIsTakenBack(t *testing.T) {
	for _, fault := range []hosttest.Fault{
		{Op: "replace", Name: "/etc/toy.conf", Nth: 2, Err: syscall.ENOSPC},
		{Op: "write", Name: "/run/b", Nth: 1, Err: syscall.EINVAL},
	} {
		m := newMachine(t)
		d := m.prepare(to("a", 5), to("b", 6), to("c", 7))
		faulty := hosttest.NewFaulty(m.doer, fault)
		out, err := m.executor(faulty).Apply(t.Context(), d, ApplyOptions{})
		if err == nil || !out.Steps[0].Done || out.Steps[1].Done || out.Steps[2].Done || out.Steps[1].Back != "taken back" {
			t.Fatalf("%v: %+v, %v", fault, out, err)
		}
		if m.read("/run/a") != "5\n" || strings.TrimSpace(m.read("/run/b")) != "2" || m.read("/run/c") != "3\n" || strings.Contains(m.read("/etc/toy.conf"), "b") {
			t.Errorf("%v left %q", fault, m.state())
		}
		if err := m.executor(m.doer).Undo(t.Context(), []int{out.Number}, UndoOptions{}); err != nil {
			t.Fatal(err)
		}
		if want := newMachine(t).state(); m.state() != want {
			t.Errorf("%v: undo left %q in place of %q", fault, m.state(), want)
		}
	}
}

// A disk that is full when the journal is to be written: nothing happens
// that is not written down.
func TestFullDiskWhileJournalling(t *testing.T) {
	for n := 1; n <= 8; n++ {
		m := newMachine(t)
		was := m.state()
		d := m.prepare(to("a", 5), to("b", 6))
		faulty := hosttest.NewFaulty(m.doer, hosttest.Fault{Op: "append", Nth: n, Err: syscall.ENOSPC})
		out, err := m.executor(faulty).Apply(t.Context(), d, ApplyOptions{})
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("record %d: %v", n, err)
		}
		if n == 1 && m.state() != was {
			t.Errorf("a change without a journal: %q", m.state())
		}
		if out.Number > 0 {
			if err := m.executor(m.doer).Undo(t.Context(), []int{out.Number}, UndoOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if m.state() != was {
			t.Errorf("record %d: %q in place of %q", n, m.state(), was)
		}
	}
}

// A value that the machine rounds is said, and undone all the same.
func TestClampedValue(t *testing.T) {
	m := newMachine(t)
	was := m.state()
	out, err := m.executor(m.doer).Apply(t.Context(), m.prepare(to("a", 1000)), ApplyOptions{})
	if err != nil || len(out.Steps[0].Got) != 1 || !strings.Contains(out.Steps[0].Got[0], "took 999 instead of 1000") {
		t.Fatalf("%+v, %v", out, err)
	}
	if err := m.executor(m.doer).Undo(t.Context(), []int{out.Number}, UndoOptions{}); err != nil || m.state() != was {
		t.Errorf("undo left %q, %v", m.state(), err)
	}
}

// Growing stops when memory gets short, and the step is taken back.
func TestGuard(t *testing.T) {
	m := newMachine(t)
	was := m.state()
	d := m.prepare(to("c", 9))
	m.write("/proc/meminfo", "MemAvailable: 1000 kB\n")
	out, err := m.executor(m.doer).Apply(t.Context(), d, ApplyOptions{})
	if err == nil || !strings.Contains(err.Error(), " must stay free") || out.Steps[0].Done || m.state() != was {
		t.Errorf("%+v, %v, %q", out, err, m.state())
	}
}

func TestTwoPlumbs(t *testing.T) {
	m := newMachine(t)
	unlock, err := m.doer.Lock(t.Context(), "/var/lib/plumb/lock")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	_, err = m.executor(m.doer).Apply(t.Context(), m.prepare(to("a", 5)), ApplyOptions{})
	if r, ok := errors.AsType[*Refusal](err); !ok || !strings.Contains(r.Why, "another Plumb") {
		t.Errorf("%v", err)
	}
}

// Two changes of one knob: the older cannot be undone under the newer one,
// and both together can.
func TestUndoUnderALaterChange(t *testing.T) {
	m := newMachine(t)
	was := m.state()
	apply := func(value int64) int {
		out, err := m.executor(m.doer).Apply(t.Context(), m.prepare(to("a", value)), ApplyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return out.Number
	}
	first, second := apply(5), apply(6)
	err := m.executor(m.doer).Undo(t.Context(), []int{first}, UndoOptions{})
	d, ok := errors.AsType[*Drifted](err)
	if !ok || !strings.Contains(d.Hint(), "undo change 2 first") || m.read("/run/a") != "6\n" {
		t.Fatalf("%v, %q", err, m.state())
	}
	if err := m.executor(m.doer).Undo(t.Context(), []int{second, first}, UndoOptions{}); err != nil || m.state() != was {
		t.Errorf("%v, %q in place of %q", err, m.state(), was)
	}
}

// Two changes of all data of one server, in different places: the older is undone after the newer one only, even by force.
func TestUndoDataTheLastFirst(t *testing.T) {
	m := newMachine(t)
	was := m.state()
	apply := func(knob, of string, value int64) int {
		d := m.prepare(to(knob, value))
		d.Steps[0].Data = true
		d.Steps[0].Knob.Of = stack.Ref{Kind: "mysql", Name: of}
		out, err := m.executor(m.doer).Apply(t.Context(), d, ApplyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return out.Number
	}
	moved, other, swapped := apply("a", "3306", 5), apply("b", "3307", 5), apply("b", "3306", 6)
	for _, o := range []UndoOptions{{}, {Force: true}, {Keep: true}} {
		err := m.executor(m.doer).Undo(t.Context(), []int{moved}, o)
		r, ok := errors.AsType[*Refusal](err)
		if !ok || r.What != fmt.Sprintf("undo change %d first", swapped) || m.read("/run/a") != "5\n" {
			t.Errorf("%v: %v, %q", o, err, m.state())
		}
	}
	if err := m.executor(m.doer).Undo(t.Context(), []int{swapped, other, moved}, UndoOptions{}); err != nil || m.state() != was {
		t.Errorf("%v, %q in place of %q", err, m.state(), was)
	}
}

// What others changed since is left with Keep, and the rest goes back.
func TestKeepWhatOthersChanged(t *testing.T) {
	m := newMachine(t)
	out, err := m.executor(m.doer).Apply(t.Context(), m.prepare(to("a", 5), to("b", 6)), ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m.write("/run/a", "77\n")
	m.write("/etc/toy.conf", "# a comment of somebody\n"+m.read("/etc/toy.conf"))
	if err := m.executor(m.doer).Undo(t.Context(), []int{out.Number}, UndoOptions{Keep: true}); err != nil {
		t.Fatal(err)
	}
	if got := m.state(); got != "77\n2\n3\n# a comment of somebody\na = 1\n" {
		t.Errorf("%q", got)
	}
	all, err := m.executor(m.doer).Changes(t.Context())
	if err != nil || all[0].Open() {
		t.Errorf("%+v, %v", all[0], err)
	}
}

// With force also lines of files go back that others changed since, whether
// the file said something of them before or not.
func TestForceOnFiles(t *testing.T) {
	m := newMachine(t)
	was := m.state()
	out, err := m.executor(m.doer).Apply(t.Context(), m.prepare(to("a", 5), to("b", 6)), ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m.write("/etc/toy.conf", "# by hand\na = 55\nb = 66 \n")
	err = m.executor(m.doer).Undo(t.Context(), []int{out.Number}, UndoOptions{})
	if d, ok := errors.AsType[*Drifted](err); !ok || len(d.Drifts) != 2 {
		t.Fatalf("%v", err)
	}
	if err := m.executor(m.doer).Undo(t.Context(), []int{out.Number}, UndoOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	if got, want := m.state(), strings.Replace(was, "a = 1", "# by hand\na = 1", 1); got != want {
		t.Errorf("%q in place of %q", got, want)
	}
}

// A journal of a later form, or a damaged one, is refused and nothing touched.
func TestJournalNobodyUnderstands(t *testing.T) {
	m := newMachine(t)
	if _, err := m.executor(m.doer).Apply(t.Context(), m.prepare(to("a", 5)), ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	file := "/var/lib/plumb/change-000001.journal"
	text := m.read(file)
	m.write(file, strings.Replace(text, `"kind":"intent"`, `"kind":"intend"`, 1))
	was := m.state()
	if err := m.executor(m.doer).Undo(t.Context(), []int{1}, UndoOptions{}); err == nil || m.state() != was {
		t.Errorf("a damaged journal: %v", err)
	}
}

func TestConfirm(t *testing.T) {
	m := newMachine(t)
	k := m.executor(m.doer)
	if _, err := k.Confirm(t.Context(), 0); err == nil {
		t.Error("nothing was confirmed")
	}
	out, err := k.Apply(t.Context(), m.prepare(to("a", 5)), ApplyOptions{Begin: Begin{Try: time.Now().Add(time.Minute)}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := k.Confirm(t.Context(), 0)
	if err != nil || c.Number != out.Number || !c.Confirmed {
		t.Errorf("%+v, %v", c, err)
	}
	all, err := k.Changes(t.Context())
	if err != nil || !all[0].Confirmed || all[0].Overdue(time.Now().Add(time.Hour)) {
		t.Errorf("%+v, %v", all[0], err)
	}
}

// renumbered is a machine after another start: its devices have other numbers.
type renumbered struct{ *chroot.Doer }

func (r renumbered) Stat(ctx context.Context, name string) (host.Stat, error) {
	st, err := r.Doer.Stat(ctx, name)
	st.DevMajor, st.DevMinor = 0, st.DevMinor+7
	return st, err
}

// TestADirectoryIsKnownAfterAStart takes back what was made before devices got other numbers.
func TestADirectoryIsKnownAfterAStart(t *testing.T) {
	m := newMachine(t)
	d := Draft{Steps: []Prepared{{Step: to("a", 9), Recipe: Recipe{Acts: []Act{{Make: &Make{Thing: Thing{Path: "/run/made"}, Directory: &Dir{Perm: 0o755, UID: -1, GID: -1}}}}}}}}
	out, err := m.executor(m.doer).Apply(t.Context(), d, ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if st, err := m.doer.Stat(t.Context(), "/run/made"); err != nil || st.Born.IsZero() {
		t.Skipf("the filesystem does not tell when a directory was made: %v", err)
	}
	if err := m.executor(renumbered{m.doer.(*chroot.Doer)}).Undo(t.Context(), []int{out.Number}, UndoOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(m.dir + "/run/made"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

// A journal that an earlier Plumb wrote is undone by this one. The file is as
// version 1 wrote it, and never written anew: machines hold such files.
func TestJournalOfVersion1(t *testing.T) {
	m := newMachine(t)
	was := m.state()
	text, err := os.ReadFile("testdata/v1.journal")
	if err != nil {
		t.Fatal(err)
	}
	m.write("/var/lib/plumb/change-000007.journal", string(text))
	m.write("/run/a", "5\n")
	m.write("/etc/toy.conf", "a = 5\nb = 6\n")
	m.write("/run/b", "6\n")
	all, err := m.executor(m.doer).Changes(t.Context())
	if err != nil || len(all) != 1 || all[0].Number != 7 || !all[0].Ended || len(all[0].Acts) != 4 || all[0].Steps[0].To.String() != "5" {
		t.Fatalf("%+v, %v", all, err)
	}
	if err := m.executor(m.doer).Undo(t.Context(), []int{7}, UndoOptions{}); err != nil || m.state() != was {
		t.Errorf("%v, %q in place of %q", err, m.state(), was)
	}
}

// One of a later form is refused, and nothing touched.
func TestJournalOfTheFuture(t *testing.T) {
	m := newMachine(t)
	var log journal.Log
	text, err := log.Append(time.Now(), kindBegin, Begin{Version: Form + 1, Plumb: "9.0"})
	if err != nil {
		t.Fatal(err)
	}
	m.write("/var/lib/plumb/change-000001.journal", string(text))
	was := m.state()
	err = m.executor(m.doer).Undo(t.Context(), []int{1}, UndoOptions{})
	if err == nil || !strings.Contains(err.Error(), "written by Plumb 9.0, in form 3: this one knows form 2") || m.state() != was {
		t.Errorf("%v", err)
	}
}

func (m *machine) rename(from, to string) {
	m.t.Helper()
	if err := os.Rename(m.dir+from, m.dir+to); err != nil {
		m.t.Fatal(err)
	}
}
