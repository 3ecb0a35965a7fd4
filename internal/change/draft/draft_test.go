package draft

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/host/chroot"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// toy sets the knobs a and b in one file.
type toy struct{}

func (toy) Kinds() []string { return []string{"toy"} }

func (toy) Recipe(_ context.Context, _ host.Reader, _ *stack.Stack, w change.Want) (change.Recipe, error) {
	return change.Recipe{Effect: catalog.Restart, Acts: []change.Act{
		{Edit: &change.Edit{File: "/etc/toy.conf", Form: edit.Sysctl, Key: w.Knob.Name, Value: w.To.String()}},
	}}, nil
}

// newMaker makes plans ready for a host with a toy, of which a is 1 and b is 2.
func newMaker(t *testing.T) (m Maker, file string) {
	dir := t.TempDir()
	file = filepath.Join(dir, "etc/toy.conf")
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("a = 1\nb = 2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var obs stack.Observation
	thing := obs.New("toy", "t")
	least, most := 0.0, 1000.0
	kind := &catalog.Kind{Name: "toy", Facts: map[string]*catalog.Fact{}}
	for i, name := range []string{"a", "b"} {
		thing.Set(name, stack.Int(int64(i+1)), "test")
		kind.Facts[name] = &catalog.Fact{Kind: "toy", Name: name, Type: catalog.Int, Knob: &catalog.Knob{Effect: catalog.Now,
			Min: &least, Max: &most, Durability: map[string]string{"0": catalog.MayLose}}}
	}
	kind.Facts["born"] = &catalog.Fact{Kind: "toy", Name: "born", Type: catalog.Int, Knob: &catalog.Knob{Effect: catalog.Recreate}}
	s := &stack.Stack{}
	s.Add("test", obs)
	return Maker{Doer: chroot.New(hosttest.LiveDoer(t), dir), Stack: s, Catalog: &catalog.Catalog{Kinds: map[string]*catalog.Kind{"toy": kind}},
		Setters: []change.Setter{toy{}}, Dir: "/var/lib/plumb"}, file
}

func knob(name string) stack.Knob {
	return stack.Knob{Of: stack.Ref{Kind: "toy", Name: "t"}, Name: name}
}

func to(name string, value int64) change.Step {
	return change.Step{Knob: knob(name), To: stack.Int(value)}
}

func prepare(t *testing.T, m Maker, steps ...change.Step) change.Draft {
	t.Helper()
	d, err := m.Prepare(t.Context(), steps)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// What cannot be done is found before the first change.
func TestPrepareRefuses(t *testing.T) {
	m, _ := newMaker(t)
	stale := to("a", 5)
	stale.From = stack.Int(4)
	elsewhere := change.Step{Knob: stack.Knob{Of: stack.Ref{Kind: "toy", Name: "other"}, Name: "a"}, To: stack.Int(5)}
	for _, c := range []struct {
		name  string
		step  change.Step
		want  string
		whole bool
	}{
		{"unknown knob", to("z", 1), "not a setting that Plumb knows", true},
		{"another thing", elsewhere, "not on this host", true},
		{"stale", stale, "the plan is out of date: the value was 4 when it was made, and is 1 now", true},
		{"too large", to("a", 1001), "above the maximum", true},
		{"too small", to("a", -1), "below the minimum", true},
		{"less durable", to("a", 0), "less durable than now: may lose the last transactions", true},
		{"fixed", to("born", 1), "fixed when the thing is made", false},
		{"no value", change.Step{Knob: knob("a")}, "gives no value", true},
	} {
		d := prepare(t, m, c.step)
		if len(d.Refused) != 1 || !strings.Contains(d.Refused[0].Reason, c.want) || d.Stops() != c.whole {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
	if d := prepare(t, m, to("a", 5), to("a", 6)); len(d.Steps) != 1 || len(d.Refused) != 1 || !strings.Contains(d.Refused[0].Reason, "an earlier step of this plan sets /etc/toy.conf a too") {
		t.Errorf("two values for one knob: %+v", d)
	}
	m.AllowUnsafe = []string{"toy:t#a"}
	if d := prepare(t, m, to("a", 0)); len(d.Steps) != 1 || d.Steps[0].DurabilityTo != catalog.MayLose {
		t.Errorf("allowed by name: %+v", d)
	}
	if d := prepare(t, m, to("a", 1)); len(d.Already) != 1 || len(d.Steps) != 0 {
		t.Errorf("in force already: %+v", d)
	}
}

// A plan without the rights for it is not begun, and preparing it changes nothing.
func TestMissingRightsStopAPlan(t *testing.T) {
	for _, fault := range []hosttest.Fault{{Op: "writable", Name: "/etc/toy.conf", Err: syscall.EROFS}, {Op: "writable", Name: "*/lock", Err: syscall.EACCES}} {
		m, file := newMaker(t)
		m.Doer = hosttest.NewFaulty(m.Doer, fault)
		d := prepare(t, m, to("a", 5), to("b", 6))
		if !d.Stops() || len(d.Missing) != 1 {
			t.Errorf("%v: %+v", fault, d)
		}
		k := change.Executor{Doer: m.Doer, Dir: m.Dir, Now: time.Now}
		if _, err := k.Apply(t.Context(), d, change.ApplyOptions{}); err == nil {
			t.Error("a plan without the rights for it was applied")
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != "a = 1\nb = 2\n" {
			t.Errorf("%v: %q, %v", fault, text, err)
		}
	}
}
