package service

import (
	"os/exec"
	"strings"
	"testing"
)

// TestSurely: what is not there, or does not run, needs no stopping.
func TestSurely(t *testing.T) {
	for _, stop := range [][]string{{"systemctl", "stop", "--", "plumb-no-such-unit.service"}, {"service", "plumb-no-such-service", "stop"}} {
		argv, sure := Surely(stop)
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil || !sure {
			t.Errorf("%q: %v: %s", argv, err, out)
		}
	}
	if got, sure := Surely([]string{"sh", "-c", "x"}); strings.Join(got, " ") != "sh -c x" || sure {
		t.Errorf("a command of a person's own became %q", got)
	}
}
