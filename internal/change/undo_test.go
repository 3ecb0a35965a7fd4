package change

import (
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/host/chroot"
	"plumb/internal/host/hosttest"
)

// changed is a machine on which one change set some knobs.
func changed(t *testing.T, steps ...Step) (m *machine, k *Executor, number int, was string) {
	t.Helper()
	m = newMachine(t)
	k = m.executor(m.doer)
	was = m.state()
	out, err := k.Apply(t.Context(), m.prepare(steps...), ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m, k, out.Number, was
}

// acts gives the states of the acts of the one change.
func (m *machine) acts() string {
	m.t.Helper()
	all, err := m.executor(m.doer).Changes(m.t.Context())
	if err != nil || len(all) != 1 {
		m.t.Fatal(all, err)
	}
	var words []string
	for _, p := range all[0].Acts {
		words = append(words, string(p.State))
	}
	return strings.Join(words, " ")
}

// A disk that is full while an undo keeps its journal: nothing is taken back that is not written down, the error says what
// helps, and the same undo again takes back the rest.
func TestFullDiskWhileUndoing(t *testing.T) {
	for n := 1; ; n++ {
		m, k, number, was := changed(t, to("a", 5), to("b", 6))
		full := hosttest.NewFaulty(m.doer, hosttest.Fault{Op: "append", Nth: n, Err: syscall.ENOSPC})
		err := m.executor(full).Undo(t.Context(), []int{number}, UndoOptions{})
		if full.AllFired() != nil {
			if n < 8 || err != nil || m.state() != was {
				t.Errorf("an undo of %d records: %v, %q", n-1, err, m.state())
			}
			return
		}
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(hint.Of(err), "make space there") {
			t.Fatalf("record %d: %v", n, err)
		}
		if err := k.Undo(t.Context(), []int{number}, UndoOptions{}); err != nil || m.state() != was || m.acts() != "undone undone undone undone" {
			t.Errorf("after record %d: %v, %q in place of %q, %s", n, err, m.state(), was, m.acts())
		}
	}
}

// Where nothing at all can be written down, nothing is taken back.
func TestUndoWithoutRoomForTheJournal(t *testing.T) {
	m, _, number, _ := changed(t, to("a", 5), to("b", 6))
	set := m.state()
	full := hosttest.NewFaulty(m.doer, hosttest.Fault{Op: "append", Err: syscall.ENOSPC})
	for _, o := range []UndoOptions{{}, {Keep: true}, {Force: true}} {
		if err := m.executor(full).Undo(t.Context(), []int{number}, o); !errors.Is(err, syscall.ENOSPC) || m.state() != set {
			t.Errorf("%+v: %v, %q in place of %q", o, err, m.state(), set)
		}
	}
}

// Neither where the journal lies on a filesystem that became read-only: the error says what helps, and a copy of the journal
// is as good.
func TestUndoOnAReadOnlyDisk(t *testing.T) {
	for _, op := range []string{"lock", "append"} {
		m, _, number, was := changed(t, to("a", 5), to("b", 6))
		set := m.state()
		k := m.executor(hosttest.NewFaulty(m.doer, hosttest.Fault{Op: op, Name: Directory + "/*", Err: syscall.EROFS}))
		err := k.Undo(t.Context(), []int{number}, UndoOptions{})
		if !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), "keep the journal") || !strings.Contains(hint.Of(err), "mount its filesystem read-write") || !strings.Contains(hint.Of(err), "--state") || m.state() != set {
			t.Errorf("%s: %v, %q, %q", op, err, hint.Of(err), m.state())
		}
		if err := os.CopyFS(m.dir+"/run/copy", os.DirFS(m.dir+Directory)); err != nil {
			t.Fatal(err)
		}
		k.Dir = "/run/copy"
		if err := k.Undo(t.Context(), []int{number}, UndoOptions{}); err != nil || m.state() != was {
			t.Errorf("%s, with a copy: %v, %q in place of %q", op, err, m.state(), was)
		}
		if err := m.executor(m.doer).Undo(t.Context(), []int{number}, UndoOptions{}); err != nil || m.state() != was || m.acts() != "undone undone undone undone" {
			t.Errorf("%s, with the journal itself later: %v, %q, %s", op, err, m.state(), m.acts())
		}
	}
}

// Wherever the journal was torn while the last act was done or what came of it was written down, the undo takes all back.
func TestUndoOfATornJournal(t *testing.T) {
	m, k, number, was := changed(t, to("a", 5), to("b", 6))
	const file = Directory + "/change-000001.journal"
	set, whole := treeOf(t, m.dir), m.read(file)
	after := strings.LastIndex(whole, `"kind":"intent"`)
	after += strings.Index(whole[after:], "\n") + 1
	for end := after; end < len(whole); end += 7 {
		for name, text := range set {
			m.write(name, text+"\n")
		}
		m.write(file, whole[:end])
		if err := k.Undo(t.Context(), []int{number}, UndoOptions{}); err != nil || m.state() != was || m.acts() != "undone undone undone undone" {
			t.Fatalf("torn at %d: %v, %q in place of %q, %s", end, err, m.state(), was, m.acts())
		}
	}
}

// Of two undos at once one does it all; the other is told to wait, or finds nothing left to do.
func TestTwoUndos(t *testing.T) {
	for range 5 {
		m, _, number, was := changed(t, to("a", 5), to("b", 6))
		errs := make([]error, 4)
		var all sync.WaitGroup
		for i := range errs {
			k := m.executor(chroot.New(hosttest.LiveDoer(t), m.dir))
			all.Go(func() { errs[i] = k.Undo(t.Context(), []int{number}, UndoOptions{}) })
		}
		all.Wait()
		did := 0
		for _, err := range errs {
			r, refused := errors.AsType[*Refusal](err)
			if err == nil {
				did++
			} else if !refused || !strings.Contains(r.Why, "another Plumb") {
				t.Errorf("%v", err)
			}
		}
		if did == 0 || m.state() != was || strings.Count(m.read("/var/lib/plumb/change-000001.journal"), `"kind":"undone"`) != 4 {
			t.Errorf("%d of them did it: %q in place of %q", did, m.state(), was)
		}
	}
}

// What somebody sets after an undo was killed is not overwritten when it is run again: the undo of one write leaves
// nothing between the two values.
func TestSetSinceAnUndoWasKilled(t *testing.T) {
	m, k, number, _ := changed(t, to("a", 5), to("b", 6))
	killed := hosttest.NewFaulty(m.doer, hosttest.Fault{Op: "write", Name: "/run/a", Err: syscall.EIO})
	if err := m.executor(killed).Undo(t.Context(), []int{number}, UndoOptions{}); err == nil || m.acts() != "undoing undone undone undone" {
		t.Fatalf("%v, %s", err, m.acts())
	}
	m.write("/run/a", "77\n")
	err := k.Undo(t.Context(), []int{number}, UndoOptions{})
	if d, ok := errors.AsType[*Drifted](err); !ok || len(d.Drifts) != 1 || d.Drifts[0].Found != "77" || m.read("/run/a") != "77\n" {
		t.Errorf("%v, %q", err, m.state())
	}
	if err := k.Undo(t.Context(), []int{number}, UndoOptions{Keep: true}); err != nil || m.read("/run/a") != "77\n" || m.acts() != "left undone undone undone" {
		t.Errorf("%v, %q, %s", err, m.state(), m.acts())
	}
}
