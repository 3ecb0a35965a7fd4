package mysql

import (
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// TestCopiesTakeNoName: a server keeps its name beside a copy on another address of the same port, whichever started first.
func TestCopiesTakeNoName(t *testing.T) {
	server := &instance{port: 3306, pid: 20, process: stack.NewThing("process", "20")}
	copied := &instance{port: 3306, pid: 5, copied: true, process: stack.NewThing("process", "5")}
	nameAll([]*instance{copied, server}, &stack.Stack{})
	if server.name != "3306" || copied.name == "3306" {
		t.Errorf("the server is %s, and its copy %s", server.name, copied.name)
	}
}

// TestAGivenLoginIsTheOnlyOne: who asks what a user sees is not shown what root does, whatever becomes of the login.
func TestAGivenLoginIsTheOnlyOne(t *testing.T) {
	in := &instance{socket: "/s/mysqld.sock", pid: 7, process: stack.NewThing("process", "7")}
	root := hosttest.Map{Who: host.About{Root: true, User: "root"}}
	if in.reach(t.Context(), root, &host.Target{Network: "tcp", Address: "127.0.0.1:3306"}); len(in.target.Logins) != 1 || !in.target.Logins[0].DSN {
		t.Errorf("given: %+v", in.target.Logins)
	}
	if in.reach(t.Context(), root, nil); len(in.target.Logins) < 2 || in.target.Logins[0].DSN {
		t.Errorf("not given: %+v", in.target.Logins)
	}
}
