package postgres

import (
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// TestCopiesTakeNoName: a server keeps its name beside copies of it, which use the same port on a socket of their own.
func TestCopiesTakeNoName(t *testing.T) {
	one, other := &instance{port: "5432", pid: 20}, &instance{port: "5432", pid: 30}
	drill, clone := &instance{port: "5432", pid: 5, copied: true}, &instance{port: "5433", pid: 40, copied: true}
	for _, c := range []struct {
		all  []*instance
		want []string
	}{
		{[]*instance{drill, one, clone}, []string{"5432-5", "5432", "5433"}},
		{[]*instance{drill, clone}, []string{"5432", "5433"}},
		{[]*instance{drill, one, other}, []string{"5432-5", "5432-20", "5432-30"}},
	} {
		nameAll(c.all)
		for i, in := range c.all {
			if in.name != c.want[i] {
				t.Errorf("of %d: %d is %s, want %s", len(c.all), in.pid, in.name, c.want[i])
			}
		}
	}
}

// What initdb and pg_upgrade start to make a cluster listens nowhere, and neither does what a server that was killed has left: they
// make the server beside them no second one. Where nobody may see who listens, the arguments tell of some.
func TestAServerOfItsOwnIsNone(t *testing.T) {
	none, usual := []string{}, []string{"unix:/run/postgresql/.s.PGSQL.5432"}
	for _, c := range []struct {
		args   []string
		listen []string // nil: not known
		want   string
	}{
		{[]string{"postgres", "--boot", "/srv/new"}, nil, "5432"},
		{[]string{"postgres", "--single", "/srv/new"}, nil, "5432"},
		{[]string{"postgres", "-V"}, nil, "5432"},
		{[]string{"postgres", "-D", "/srv/new"}, nil, "5432-20"},
		{[]string{"postgres", "-D", "/srv/new", "-C", "data_directory"}, none, "5432"},
		{[]string{"postgres: 15/main: checkpointer "}, none, "5432"},
		{[]string{"postgres", "-D", "/srv/new"}, none, "5432"},
		{[]string{"postgres", "-D", "/srv/new"}, usual, "5432-20"},
	} {
		var see stack.Observation
		for pid, args := range map[string][]string{"20": {"/usr/lib/postgresql/15/bin/postgres", "-D", "/var/lib/postgresql/15/main"}, "30": c.args} {
			p := see.New("process", pid)
			p.Set("engine", stack.Text("postgres"), "test")
			p.Set("args", stack.List(args), "test")
			switch {
			case pid == "20":
				p.Set("listen", stack.List(usual), "test")
			case c.listen != nil:
				p.Set("listen", stack.List(c.listen), "test")
			}
		}
		var s stack.Stack
		s.Add("test", see)
		if all := (&Probe{}).instances(t.Context(), hosttest.Map{}, &s); all[0].name != c.want || len(all) != map[bool]int{true: 1, false: 2}[c.want == "5432"] {
			t.Errorf("%v, listening at %v: %d servers, the first is %s", c.args, c.listen, len(all), all[0].name)
		}
	}
}

// TestAGivenLoginIsTheOnlyOne: who asks what a role sees is not shown what another one does, whatever becomes of the login.
func TestAGivenLoginIsTheOnlyOne(t *testing.T) {
	var see stack.Observation
	p := see.New("process", "7")
	p.Set("uid", stack.Int(101), "test")
	p.Set("user", stack.Text("postgres"), "test")
	in := &instance{process: p, pid: 7, socket: "/s/.s.PGSQL.5433", at: "/s/.s.PGSQL.5433"}
	in.reach(host.About{Root: true, User: "root"}, &host.Target{Network: "unix", Address: "/s/.s.PGSQL.5433"})
	if l := in.target.Logins; len(l) != 2 || !l[0].DSN || !l[1].DSN || l[0].PeerUID != 0 || l[1].PeerUID != 101 || in.target.Address != "/s/.s.PGSQL.5433" {
		t.Errorf("as root: %+v", in.target)
	}
	in.reach(host.About{User: "dba"}, &host.Target{Network: "tcp", Address: "127.0.0.1:5433"})
	if l := in.target.Logins; len(l) != 1 || !l[0].DSN {
		t.Errorf("as another user: %+v", in.target)
	}
}

// TestAPortThatIsNotTold: Debian's configuration tells it also where the data directory is closed, and a guess says that it is one.
func TestAPortThatIsNotTold(t *testing.T) {
	for conf, want := range map[string]struct {
		name  string
		usual bool
	}{"port = 5433\n": {"5433", false}, "": {"5432", true}} {
		var see stack.Observation
		p := see.New("process", "7")
		p.Set("engine", stack.Text("postgres"), "test")
		p.Set("args", stack.List([]string{"postgres", "-D", "/data", "-c", "config_file=/etc/postgresql/15/main/postgresql.conf"}), "test")
		var s stack.Stack
		s.Add("test", see)
		all := (&Probe{}).instances(t.Context(), hosttest.Map{Files: map[string]string{"/etc/postgresql/15/main/postgresql.conf": conf}}, &s)
		if len(all) != 1 || all[0].name != want.name || all[0].usual != want.usual {
			t.Errorf("%q: %+v", conf, all[0])
		}
	}
}
