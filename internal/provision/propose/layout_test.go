package propose

import (
	"strings"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/host/hosttest"
	"plumb/internal/provision"
	"plumb/internal/provision/spec"
	"plumb/internal/stack"
)

// What lies in the data directory goes along to another place, and so does what the plan puts beside it.
func TestElsewhereTakesTheLogAlong(t *testing.T) {
	for now, c := range map[string]struct{ now, at, want string }{
		"in it":  {"/var/lib/pg/pg_wal", "/var/lib/pg/pg_wal", "/srv/shop/pg_wal"},
		"beside": {"/var/lib/pg", "/var/lib/pg-log", "/srv/shop-log"},
		"apart":  {"/var/lib/pg2/wal", "/var/lib/pg2/wal", "/var/lib/pg2/wal"},
	} {
		p := &planning{}
		p.Stack = &stack.Stack{}
		p.Home = provision.Home{Data: "/var/lib/pg", Parts: []provision.Part{{Name: "wal", Roles: []string{"wal"}, Now: c.now, At: c.at}}}
		p.Spec = spec.Spec{Use: "tank", Server: spec.Server{Product: "postgres", At: "/srv/shop"}}
		if err := p.layout(t.Context()); err != nil || p.Home.Parts[0].At != c.want {
			t.Errorf("%s: %q, %v", now, p.Home.Parts[0].At, err)
		}
	}
}

// A place that units hide from servers is refused, and one that lies in the mounted filesystem or holds it.
func TestPlaceOfTheDataIsRefused(t *testing.T) {
	for at, says := range map[string]string{"/home/db": "units of servers", "/tmp/x/y": "units of servers", "/srv/mariadb/x": "is inside the other", "/srv": "is inside the other", "/srv/other": "", "/var/lib/mysql": ""} {
		p := &planning{}
		p.Home = provision.Home{Data: "/var/lib/mysql"}
		p.Spec = spec.Spec{Filesystem: &spec.Filesystem{Type: "xfs"}, Server: spec.Server{Product: "mariadb", At: at}}
		got, err := p.dataAt()
		if says == "" && (err != nil || got != at) || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %q, %v", at, got, err)
		}
	}
}

// What is to be used must be there: a name that is mistyped is no plan that fails once the data wait for it.
func TestUseOfWhatIsNotThereIsRefused(t *testing.T) {
	var see stack.Observation
	see.New("dataset", "tank/db").Set("dataset_type", stack.Text("filesystem"), "test")
	see.New("dataset", "tank/disk").Set("dataset_type", stack.Text("volume"), "test")
	for use, says := range map[string]string{"tank/db": "", "tnak/db": "there is no pool or dataset tnak/db", "tank/disk": "is a volume"} {
		p := &planning{}
		p.Stack = &stack.Stack{}
		p.Stack.Add("test", see)
		p.Spec.Use = use
		if err := p.place(t.Context()); says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says) || hint.Of(err) == "") {
			t.Errorf("%s: %v", use, err)
		}
		p.Anywhere = true
		if err := p.place(t.Context()); err != nil {
			t.Errorf("%s, for another machine: %v", use, err)
		}
	}
}

// Of a dataset that is encrypted it is told that somebody must load its key.
func TestAKeyThatNobodyLoadsIsTold(t *testing.T) {
	var see stack.Observation
	see.New("dataset", "tank/open").Set("encryptionroot", stack.Text(""), "test")
	see.New("dataset", "tank/shut").Set("encryptionroot", stack.Text("tank/shut"), "test")
	for use, want := range map[string]int{"tank/open": 0, "tank/shut": 1, "tank/none": 0, "": 0} {
		p := &planning{}
		p.Stack, p.Spec.Use = &stack.Stack{}, use
		p.Stack.Add("test", see)
		if got := p.locked(); len(got) != want {
			t.Errorf("%s: %v", use, got)
		}
	}
}

// The disks below a plan count as all of them only where each was seen: of one that was not, as of another machine's, nobody knows what
// it is.
func TestDisksThatNobodySaw(t *testing.T) {
	const one, other = "/dev/plumb-none1", "/dev/plumb-none2"
	ref := func(name string) stack.Ref { return stack.Ref{Kind: "block", Name: name} }
	for name, c := range map[string]struct {
		see    func(o *stack.Observation)
		spec   spec.Spec
		disks  int
		unseen bool
	}{
		"a pool":                    {func(o *stack.Observation) { o.New("pool", "tank").Link("disks", ref(one)) }, spec.Spec{Use: "tank"}, 1, false},
		"a pool of unknown disks":   {func(o *stack.Observation) { o.New("pool", "tank") }, spec.Spec{Use: "tank"}, 0, true},
		"a pool that was not seen":  {func(*stack.Observation) {}, spec.Spec{Use: "tank"}, 0, true},
		"a disk":                    {func(o *stack.Observation) { o.New("block", one).Link("disks", ref(one)) }, spec.Spec{Filesystem: &spec.Filesystem{Device: spec.Disk{Path: one}}}, 1, false},
		"a disk that was not seen":  {func(*stack.Observation) {}, spec.Spec{Filesystem: &spec.Filesystem{Device: spec.Disk{Path: one}}}, 0, true},
		"one of two that was seen":  {func(o *stack.Observation) { o.New("block", one).Link("disks", ref(one)) }, spec.Spec{Pool: &spec.Pool{Name: "tank", Data: []spec.Disk{{Path: other}, {Path: one}}}}, 1, true},
		"a volume of unknown disks": {func(o *stack.Observation) { o.New("block", one) }, spec.Spec{Filesystem: &spec.Filesystem{Device: spec.Disk{Path: one}}}, 0, true},
	} {
		var see stack.Observation
		c.see(&see)
		p := &planning{d: hosttest.LiveDoer(t)}
		p.Stack, p.Spec = &stack.Stack{}, c.spec
		p.Stack.Add("test", see)
		p.Layout.Pool = poolOf(c.spec)
		if err := p.below(t.Context()); err != nil || len(p.Layout.Disks) != c.disks || p.Layout.Unseen != c.unseen {
			t.Errorf("%s: %v, unseen %t, %v", name, p.Layout.Disks, p.Layout.Unseen, err)
		}
	}
}
