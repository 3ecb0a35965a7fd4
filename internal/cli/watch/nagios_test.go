package watch

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"plumb/internal/cli/shell"
)

// A wrong command line is UNKNOWN, in one line: a limit by which nothing is ever
// critical must not look like health.
func TestNagiosRefusesLimitsThatMeanNothing(t *testing.T) {
	for args, want := range map[string]string{
		"--critical 50":        "--critical 50 is out of range",
		"--critical -1":        "--critical -1 is out of range",
		"--critical NaN":       "--critical NaN is out of range",
		"--max-age 0s":         "--max-age 0s is out of range",
		"--max-point-age -26h": "cannot be negative",
		"--max-age soon":       "invalid argument",
		"here":                 "here",
	} {
		var out, errs bytes.Buffer
		s := shell.New(strings.NewReader(""), &out, &errs)
		c := nagiosCommand(&s)
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetArgs(append(strings.Fields(args), "--from", "/nonexistent/plumb.prom"))
		err := c.ExecuteContext(t.Context())
		ended, is := errors.AsType[shell.Ended](err)
		if !is || ended.Code != 3 || !strings.HasPrefix(out.String(), "PLUMB UNKNOWN - ") || !strings.Contains(out.String(), want) || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("%s: got %q, %v; want %q", args, out.String(), err, want)
		}
	}
}
