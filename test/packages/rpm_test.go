package packages

import (
	"strings"
	"testing"
)

// rpm runs rpm. Debian's says that it should not be used unless it is forced.
func rpm(debian bool, args ...string) []string {
	if debian {
		args = append(args, "--force-debian")
	}
	return append([]string{"rpm"}, args...)
}

// TestRPMInstallsRunsAndGoes removes it with a change in force: rpm has no
// purge, and never touches the journals.
func TestRPMInstallsRunsAndGoes(t *testing.T) {
	if !inRootOfItsOwn(t, "rpm") {
		return
	}
	debian := exists("/etc/debian_version")
	does(t, rpm(debian, "--install", "--nodeps", one(t, "/packages", "*.rpm"))...)
	works(t)
	if !exists("/usr/share/zsh/site-functions/_plumb") {
		t.Error("there is no completion for zsh")
	}
	if out := does(t, "rpm", "--verify", "--nodeps", "plumb"); out != "" {
		t.Errorf("rpm --verify: %s", out)
	}
	change(t)
	was := string(read(t, journals+"/change-000001.journal"))
	if out := does(t, rpm(debian, "--erase", "plumb")...); !strings.Contains(out, "plumb undo 1") {
		t.Errorf("removed, it does not say what stays: %s", out)
	}
	if exists("/usr/bin/plumb") || string(read(t, journals+"/change-000001.journal")) != was {
		t.Error("removing left the program, or touched the journal")
	}
	does(t, rpm(debian, "--install", "--nodeps", one(t, "/packages", "*.rpm"))...)
	takenBack(t)
	does(t, rpm(debian, "--erase", "plumb")...)
}
