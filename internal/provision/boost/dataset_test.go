package boost

import (
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/hint"
	"plumb/internal/stack"
)

// machine is a made-up host with a pool, and servers on it.
func machine(servers ...string) *stack.Stack {
	var obs stack.Observation
	obs.New("zfs", "module").Set("zfs_txg_timeout", stack.Int(7), "test")
	for name, from := range map[string]string{"t": stack.FromDefault, "t/db": stack.FromDefault, "t/db/a": stack.FromDefault, "t/db/own": stack.FromLocal,
		"t/db/own/x": stack.FromInherited, "t/db/got": stack.FromReceived, "t/other": stack.FromDefault} {
		obs.New("dataset", name).Setting("sync", stack.Text("standard"), "test", stack.Origin{From: from})
	}
	fs := obs.New("filesystem", "/db")
	fs.Link("dataset", stack.Ref{Kind: "dataset", Name: "t/db/a"})
	for _, name := range servers {
		db := obs.New("mysql", name)
		obs.Roles = append(obs.Roles, stack.Role{DB: db.Ref, Name: "data", Path: "/db/" + name, Placement: stack.Placement{Filesystem: fs.Ref}})
	}
	s := &stack.Stack{}
	s.Add("test", obs)
	return s
}

func TestDatasetReachesWhatHasNoneOfItsOwn(t *testing.T) {
	p, err := planDataset(machine("1"), "t/db", Options{For: time.Minute})
	if err != nil || !slices.Equal(p.Below, []string{"t/db/a"}) || len(p.Servers) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	if !strings.Contains(p.Loss[0], "every 7 s at the latest (zfs_txg_timeout)") {
		t.Errorf("the window is not that of the host: %q", p.Loss)
	}
	if p, err := planDataset(machine(), "t", Options{}); err != nil || !slices.Equal(p.Below, []string{"t/db", "t/db/a", "t/other"}) {
		t.Errorf("%v, %v", p.Below, err)
	}
}

// What is not known is said to be so, and no number stands in its place.
func TestWindowThatIsNotKnown(t *testing.T) {
	for _, kinds := range [][]string{{}, {"zfs"}} {
		s := machine()
		s.Things = slices.DeleteFunc(s.Things, func(t *stack.Thing) bool { return t.Ref.Kind == "zfs" })
		if len(kinds) > 0 {
			var obs stack.Observation
			obs.New("zfs", "module")
			s.Add("test", obs)
		}
		if l := window(s); !strings.HasPrefix(l[0], "how much is not known") {
			t.Errorf("%q", l)
		}
	}
}

func TestWhomACrashWouldCostMore(t *testing.T) {
	set := func(fact string, v stack.Value) func(*stack.Thing) {
		return func(t *stack.Thing) { t.Set(fact, v, "test") }
	}
	for name, c := range map[string]struct {
		servers []string
		so      func(*stack.Thing)
		want    string
	}{
		"one":       {[]string{"1"}, nil, ""},
		"two":       {[]string{"1", "2"}, nil, "one of several"},
		"a source":  {[]string{"1"}, set("replicas", stack.Int(1)), "rebuilt"},
		"a replica": {[]string{"1"}, set("is_replica", stack.Bool(true)), "acknowledgement"},
		"a standby": {[]string{"1"}, set("replication_role", stack.Text("standby")), "acknowledgement"},
		"galera":    {[]string{"1"}, set("galera", stack.Bool(true)), "members of its cluster"},
		"a group":   {[]string{"1"}, set("group_members", stack.Int(3)), "members of its cluster"},
		"a set":     {[]string{"1"}, set("replica_set", stack.Text("rs")), "members of its cluster"},
	} {
		s := machine(c.servers...)
		if c.so != nil {
			c.so(s.Find(stack.Ref{Kind: "mysql", Name: "1"}))
		}
		_, err := planDataset(s, "t/db", Options{})
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(hint.Of(err), "--also mysql:1") {
			t.Errorf("%s: %v, %q", name, err, hint.Of(err))
		}
		if _, err := planDataset(s, "t/db", Options{Also: []string{"mysql:1", "mysql:2"}[:len(c.servers)]}); err != nil {
			t.Errorf("%s, named: %v", name, err)
		}
	}
	if _, err := planDataset(machine("1"), "t/db", Options{Also: []string{"mysql:9"}}); err == nil || !strings.Contains(err.Error(), "is not one of the servers") {
		t.Errorf("one that it does not concern: %v", err)
	}
}

// Whether a server has replicas or is one could not be read: that is not no. What is absent is known.
func TestWhoCountsIsNotKnown(t *testing.T) {
	for fact, want := range map[string]bool{"replicas": true, "*": true, "max_connections": false, "group_*": false} {
		s := machine("1")
		db := stack.Ref{Kind: "mysql", Name: "1"}
		s.Find(db).SetAbsent("group_members", "test")
		s.Gaps = append(s.Gaps, stack.Gap{Of: db, Facts: []string{fact}, Why: "access denied"})
		_, err := planDataset(s, "t/db", Options{})
		if refused := err != nil && strings.Contains(err.Error(), "could not be read (access denied)") && strings.Contains(hint.Of(err), "--also mysql:1"); refused != want || !want && err != nil {
			t.Errorf("%s: %v, %q", fact, err, hint.Of(err))
		}
		if _, err := planDataset(s, "t/db", Options{Also: []string{db.String()}}); err != nil {
			t.Errorf("%s, named: %v", fact, err)
		}
	}
}

func TestDatasetRefuses(t *testing.T) {
	s := machine()
	s.Find(stack.Ref{Kind: "dataset", Name: "t/db"}).Set("sync", stack.Text("disabled"), "test")
	delete(s.Find(stack.Ref{Kind: "dataset", Name: "t/other"}).Facts, "sync")
	s.Gaps = append(s.Gaps, stack.Gap{Of: stack.Ref{Kind: "dataset", Name: "t/other"}, Facts: []string{"sync"}})
	delete(s.Find(stack.Ref{Kind: "dataset", Name: "t/db/a"}).Facts, "sync")
	for name, want := range map[string]string{"t/none": "no dataset", "t/db": "already disabled", "t/other": "could not be read", "t/db/a": "has no property sync"} {
		if _, err := planDataset(s, name, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnit(t *testing.T) {
	u := Unit{Dir: "/etc/systemd/system", Command: []string{"/usr/bin/plumb", "undo", "--state", "/x%y"}, State: "/var/lib/plumb", Before: []string{"mariadb.service"}}
	acts, err := u.acts(stack.Ref{Kind: "dataset", Name: "t/db"})
	if err != nil {
		t.Fatal(err)
	}
	set := map[string]string{}
	for _, a := range acts {
		set[a.Edit.Key] = a.Edit.Value
	}
	last := acts[len(acts)-1].Edit
	if set["Service/ExecStart"] != "/usr/bin/plumb undo --state /x%%y" || set["Unit/Before"] != "mariadb.service" ||
		!strings.HasPrefix(last.File, "/etc/systemd/system/multi-user.target.d/plumb-loan-") || acts[0].Edit.File != "/etc/systemd/system/"+last.Value {
		t.Errorf("%+v\n%+v", set, last)
	}
	u.Alone = true
	if acts, err = u.acts(stack.Ref{Kind: "dataset", Name: "t/db"}); err != nil || acts[0].Make == nil || acts[0].Make.Path != "/etc/systemd/system/multi-user.target.d" {
		t.Errorf("%+v, %v", acts[0], err)
	}
	u.Command = []string{"/tmp/a b\nExecStart=/bin/sh"}
	if _, err := u.acts(stack.Ref{}); err == nil {
		t.Error("a path made a line of a unit")
	}
}
