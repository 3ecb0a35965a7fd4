package machine

import (
	"strings"
	"testing"

	"plumb/internal/protect"
	"plumb/internal/protect/instance"
	"plumb/internal/stack"
)

// sqlite is an engine of which only the kind is asked.
type sqlite struct{ protect.Engine }

func (sqlite) Kind() string { return "sqlite" }

// TestCopiesAreNoServers: of a copy no point is taken, and who names one is told that it is one.
func TestCopiesAreNoServers(t *testing.T) {
	m := &Machine{Keeper: &protect.Keeper{Engines: []protect.Engine{sqlite{}}}, Copies: instance.Maker{Dir: "/var/lib/plumb-copies"}}
	s := &stack.Stack{}
	dev := stack.Ref{Kind: "sqlite", Name: "/var/lib/plumb-copies/dev/run/sock"}
	s.Add("test", stack.Observation{Things: []*stack.Thing{stack.NewThing(dev.Kind, dev.Name)}, Roles: []stack.Role{{DB: dev, Path: "/var/lib/plumb-copies/dev/root/db"}}})
	named := func() {
		t.Helper()
		if _, err := m.Server(s, dev.String()); err == nil || !strings.Contains(err.Error(), "is a copy that Plumb made from a point") {
			t.Errorf("beside %v: %v", m.Servers(s), err)
		}
	}
	named()
	s.Add("test", stack.Observation{Things: []*stack.Thing{stack.NewThing("sqlite", "1")}})
	named()
	if ref, err := m.Server(s, ""); err != nil || ref.Name != "1" {
		t.Errorf("the only server is %v, %v", ref, err)
	}
}
