package change

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
)

// stranded is a machine with a change of which something can never be undone.
type stranded struct {
	m      *machine
	doer   host.Doer // as the machine is now
	number int
	open   int    // acts that no undo takes back
	heal   func() // makes the machine whole again
}

// upgraded is a server that answers, and does not know its setting any more.
type upgraded struct{ *served }

var errNoSetting = errors.New("command failed: no option found to get")

func (u upgraded) Query(ctx context.Context, t host.Target, query string) (host.Rows, error) {
	if query == "SELECT live" {
		return host.Rows{}, errNoSetting
	}
	return u.served.Query(ctx, t, query)
}

// ofServer is a change of a server, which becomes something else then.
func ofServer(t *testing.T, open int, becomes func(*served) host.Doer, heal func(*served)) stranded {
	s := newServed(t)
	out, err := s.m.executor(s).Apply(t.Context(), s.draft(servedSetter{}), ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return stranded{m: s.m, doer: becomes(s), number: out.Number, open: open, heal: func() { heal(s) }}
}

// strandings are the ways in which an act can never be undone.
func strandings(t *testing.T) map[string]stranded {
	file := func(becomes func(m *machine) host.Doer, heal func(m *machine)) stranded {
		m, _, number, _ := changed(t, to("a", 5))
		return stranded{m: m, doer: becomes(m), number: number, open: 1, heal: func() { heal(m) }}
	}
	return map[string]stranded{
		"an upgrade removed the setting": ofServer(t, 1, func(s *served) host.Doer { return upgraded{s} }, func(*served) {}),
		"the server is gone, and its data": ofServer(t, 2, func(s *served) host.Doer { s.up = false; s.m.rename("/data", "/lost"); return s },
			func(s *served) { s.up = true; s.m.rename("/lost", "/data") }),
		"a file cannot be read": file(func(m *machine) host.Doer {
			return hosttest.NewFaulty(m.doer, hosttest.Fault{Op: "file", Name: "/etc/toy.conf", Err: syscall.EIO})
		}, func(*machine) {}),
		"a link leads nowhere": file(func(m *machine) host.Doer {
			m.rename("/etc", "/lost")
			if err := os.Symlink("/nowhere", m.dir+"/etc"); err != nil {
				t.Fatal(err)
			}
			return m.doer
		}, func(m *machine) {
			if err := os.Remove(m.dir + "/etc"); err != nil {
				t.Fatal(err)
			}
			m.rename("/lost", "/etc")
		}),
	}
}

// An act that can never be undone stays open, whatever undo is told, until somebody ends it. Then the journal says so, and
// of the value that is there now it says nothing.
func TestForget(t *testing.T) {
	for name, s := range strandings(t) {
		k := s.m.executor(s.doer)
		for _, o := range []UndoOptions{{}, {Keep: true}, {Force: true}} {
			err := k.Undo(t.Context(), []int{s.number}, o)
			if c := s.change(t); err == nil || len(slices.DeleteFunc(slices.Clone(c.Acts), func(p Recorded) bool { return !p.open() })) != s.open {
				t.Fatalf("%s, %+v: %v, %+v", name, o, err, c.Acts)
			}
		}
		told := 0
		if err := k.Forget(t.Context(), s.number, func(_ *Change, p Recorded, err error) {
			if told++; err != nil || p.State != Left || !p.Forgotten {
				t.Errorf("%s: told %+v, %v", name, p, err)
			}
		}); err != nil || told != s.open {
			t.Errorf("%s: %d acts, %v", name, told, err)
		}
		c := s.change(t)
		if c.Open() || c.Forgotten() != s.open {
			t.Errorf("%s: %+v", name, c.Acts)
		}
		for _, p := range c.Acts {
			if p.Forgotten && (p.Why != unseen || p.Got != "") {
				t.Errorf("%s: %+v", name, p)
			}
		}
		if text := s.m.read("/var/lib/plumb/change-000001.journal"); strings.Count(text, `"kind":"left"`) != s.open { // as every Plumb reads it
			t.Errorf("%s: %s", name, text)
		}
		s.heal()
		if err := k.Undo(t.Context(), []int{s.number}, UndoOptions{Force: true}); err != nil || s.change(t).Forgotten() != s.open {
			t.Errorf("%s: an undo afterwards: %v", name, err)
		}
	}
}

// change is the one change as the journal tells it to a new Plumb.
func (s stranded) change(t *testing.T) *Change {
	t.Helper()
	all, err := s.m.executor(s.m.doer).Changes(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	return all[0]
}

// Forgetting neither looks at the machine nor touches it: nothing but the journal, so that it works where a look would hang.
func TestForgetTouchesNothing(t *testing.T) {
	m, _, number, _ := changed(t, to("a", 5), to("b", 6))
	was := treeOf(t, m.dir)
	var others []string
	deaf := &host.Hooked{Behind: m.doer, Around: func(_ context.Context, c host.Call, do func() error) error {
		if !strings.HasPrefix(strings.Join(c.Of, " "), Directory+"/") {
			others = append(others, c.Op+" "+strings.Join(c.Of, " "))
			return errNobody
		}
		return do()
	}}
	err := m.executor(deaf).Forget(t.Context(), number, func(*Change, Recorded, error) {})
	if err != nil || others != nil || !maps.Equal(treeOf(t, m.dir), was) || m.acts() != "left left left left" {
		t.Errorf("%v, %q, %s", err, others, m.acts())
	}
}

// A setting of a change that was forgotten is set again, and taken back to the value that was found then.
func TestFixAfterForgetting(t *testing.T) {
	m, k, number, _ := changed(t, to("a", 5))
	forget := func(n int) error { return k.Forget(t.Context(), n, func(*Change, Recorded, error) {}) }
	if err := forget(number); err != nil {
		t.Fatal(err)
	}
	left := m.state()
	out, err := k.Apply(t.Context(), m.prepare(to("a", 7)), ApplyOptions{})
	if err != nil || m.read("/run/a") != "7\n" {
		t.Fatalf("%v, %q", err, m.state())
	}
	if err := k.Undo(t.Context(), []int{out.Number}, UndoOptions{}); err != nil || m.state() != left {
		t.Errorf("%v, %q in place of %q", err, m.state(), left)
	}
}

// What is on trial, closed, damaged or unknown is not forgotten, and says why. A disk that is full keeps the rest open.
func TestForgetRefuses(t *testing.T) {
	m, k, number, _ := changed(t, to("a", 5), to("b", 6))
	forget := func(k *Executor, n int) error {
		return k.Forget(t.Context(), n, func(*Change, Recorded, error) {})
	}
	full := m.executor(hosttest.NewFaulty(m.doer, hosttest.Fault{Op: "append", Nth: 3, Err: syscall.ENOSPC}))
	if err := forget(full, number); !errors.Is(err, syscall.ENOSPC) || m.acts() != "done done left left" {
		t.Errorf("%v, %s", err, m.acts())
	}
	if err := forget(k, number); err != nil || m.acts() != "left left left left" {
		t.Errorf("%v, %s", err, m.acts())
	}
	out, err := k.Apply(t.Context(), m.prepare(to("a", 8)), ApplyOptions{Begin: Begin{Try: time.Now().Add(time.Hour)}})
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]string{number: "nothing of change 1 is in force", out.Number: "change 2 is on trial until", 9: "there is no change 9"} {
		if err := forget(k, n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("change %d: %v", n, err)
		}
	}
	k.Now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	if err := forget(k, out.Number); err != nil {
		t.Errorf("after its time: %v", err)
	}
	file := "/var/lib/plumb/change-000002.journal"
	m.write(file, strings.Replace(m.read(file), `"kind":"intent"`, `"kind":"intend"`, 1))
	if err := forget(k, out.Number); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("damaged: %v", err)
	}
}

// A server that answers, and says no, is not one that does not answer: to start it does not help.
func TestAServerThatAnswersIsNotDown(t *testing.T) {
	s := newServed(t)
	out, err := s.m.executor(s).Apply(t.Context(), s.draft(servedSetter{}), ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	err = s.m.executor(upgraded{s}).Undo(t.Context(), []int{out.Number}, UndoOptions{})
	w, ok := errors.AsType[*Waiting](err)
	if !ok || !w.Answers() || !errors.Is(err, errNoSetting) || strings.Contains(w.Error(), "waits") || strings.Contains(w.Hint(), "start") {
		t.Errorf("%v", err)
	}
	for _, none := range []error{host.ErrDown, host.ErrLogin, host.ErrWithheld, context.DeadlineExceeded} {
		if w := (&Waiting{For: "toy:1", Err: none}); w.Answers() || !strings.HasPrefix(w.Error(), "waits for toy:1: ") {
			t.Errorf("%v answers: %v", none, w)
		}
	}
}
