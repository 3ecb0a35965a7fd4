package load

import (
	"testing"

	"plumb/internal/cli/shell"
)

// TestLoginFromTheEnvironment: the data source name of the environment is taken where the command line names no server.
func TestLoginFromTheEnvironment(t *testing.T) {
	t.Setenv(shell.FromEnvironment, "mysql://u:pw@db1.example.com/")
	l := login{text: "auto"}
	if at, err := l.resolve(func(string) bool { return false }); err != nil || at.Address != "db1.example.com:3306" || at.Password != "pw" {
		t.Errorf("load from the environment: %+v, %v", at, err)
	}
	l = login{text: "auto", my: place{socket: "/s", user: "x"}}
	if at, err := l.resolve(func(f string) bool { return f == "mysql-socket" }); err != nil || at.Address != "/s" || at.Password != "" {
		t.Errorf("what is on the command line goes first: %+v, %v", at, err)
	}
}
