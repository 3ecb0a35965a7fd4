package bulk

import (
	"strings"
	"testing"

	"plumb/internal/stack"
)

func server(free, memory int64, facts map[string]stack.Value) (*stack.Stack, *stack.Thing) {
	var obs stack.Observation
	obs.New("host", "").Set("memory_total", stack.Int(memory), "test")
	fs := obs.New("filesystem", "/pg")
	fs.Set("free", stack.Int(free), "test")
	t := obs.New("postgres", "1")
	t.Link("data", fs.Ref)
	for name, v := range facts {
		t.Set(name, v, "test")
	}
	s := &stack.Stack{}
	s.Add("test", obs)
	return s, s.Find(t.Ref)
}

// What is set stays within what the machine has, and what is not known is left alone.
func TestSettings(t *testing.T) {
	usual := map[string]stack.Value{"synchronous_commit": stack.Text("on"), "max_wal_size": stack.Int(1 << 30), "checkpoint_timeout": stack.Int(300), "maintenance_work_mem": stack.Int(64 << 20)}
	s, db := server(8<<30, 4<<30, usual)
	got := map[string]string{}
	for _, w := range (Loader{}).Settings(s, db) {
		got[w.Knob] = w.To.String() + w.Kept
		if w.Kept != "" {
			got[w.Knob] = "kept: " + w.Kept
		}
	}
	for knob, want := range map[string]string{"synchronous_commit": "off", "max_wal_size": "2147483648", "checkpoint_timeout": "1800", "maintenance_work_mem": "134217728"} {
		if got[knob] != want {
			t.Errorf("%s: %q, want %q", knob, got[knob], want)
		}
	}
	for _, never := range []string{"fsync", "full_page_writes"} {
		if _, is := got[never]; is {
			t.Errorf("%s is touched", never)
		}
	}
	s, db = server(2<<30, 1<<30, map[string]stack.Value{"max_wal_size": stack.Int(1 << 30), "checkpoint_timeout": stack.Int(3600), "maintenance_work_mem": stack.Int(64 << 20)})
	for _, w := range (Loader{}).Settings(s, db) {
		if w.Knob != "synchronous_commit" && w.Kept == "" {
			t.Errorf("%s is set to %s", w.Knob, w.To)
		}
	}
	s, db = server(8<<30, 4<<30, nil)
	delete(s.Find(stack.Ref{Kind: "filesystem", Name: "/pg"}).Facts, "free")
	for _, w := range (Loader{}).Settings(s, db) {
		if (w.Knob == "max_wal_size" || w.Knob == "maintenance_work_mem") && w.Kept == "" {
			t.Errorf("%s is set to %s, and nothing is known", w.Knob, w.To)
		}
	}
}

func TestLoss(t *testing.T) {
	_, db := server(1, 1, map[string]stack.Value{"wal_writer_delay": stack.Int(200)})
	if l := (Loader{}).Loss(db); !strings.Contains(l[0], "600 ms") {
		t.Errorf("%q", l)
	}
	_, db = server(1, 1, nil)
	if l := (Loader{}).Loss(db); strings.Contains(l[0], "ms") {
		t.Errorf("a number of what is not known: %q", l)
	}
}
