package redact

import "testing"

// An error names a command, and not all of a script that was given to it.
func TestCommand(t *testing.T) {
	if got := Command([]string{"sh", "-euc", "dir=$1\nrm -rf \"$dir\"", "sh", "/srv"}); got != "sh -euc dir=$1 … sh /srv" {
		t.Error(got)
	}
	if got := Command([]string{"ls", "-l"}); got != "ls -l" {
		t.Error(got)
	}
}
