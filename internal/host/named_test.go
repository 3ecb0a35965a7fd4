package host

import "testing"

// An error names a command, and not all of a script that was given to it.
func TestNamed(t *testing.T) {
	if got := named([]string{"sh", "-euc", "dir=$1\nrm -rf \"$dir\"", "sh", "/srv"}); got != "sh -euc dir=$1 … sh /srv" {
		t.Error(got)
	}
	if got := named([]string{"ls", "-l"}); got != "ls -l" {
		t.Error(got)
	}
}
