package mysql

import (
	"testing"

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
