package watch

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/cli/shell"
)

// nagios runs the command.
func nagios(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	var said, errs bytes.Buffer
	s := shell.New(strings.NewReader(""), &said, &errs)
	c := nagiosCommand(&s)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	err = c.ExecuteContext(t.Context())
	return said.String(), err
}

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
		out, err := nagios(t, append(strings.Fields(args), "--from", "/nonexistent/plumb.prom")...)
		ended, is := errors.AsType[shell.Ended](err)
		if !is || ended.Code != 3 || !strings.HasPrefix(out, "PLUMB UNKNOWN - ") || !strings.Contains(out, want) || strings.Count(out, "\n") != 1 {
			t.Errorf("%s: got %q, %v; want %q", args, out, err, want)
		}
	}
}

// TestNagiosNamesItsOwnFlags: an operator cannot mend a flag that the command has not.
func TestNagiosNamesItsOwnFlags(t *testing.T) {
	open := filepath.Join(t.TempDir(), "open")
	if err := errors.Join(os.WriteFile(open, []byte("0123456789abcdef"), 0o600), os.Chmod(open, 0o644)); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--token " + open: "of --token: every user of the machine may read it (chmod o= " + open + ")",
		"--ca " + open:    "of --ca: it holds no certificate",
		"--from http://plumb:secret@127.0.0.1:1/metrics": "(--token FILE",
		"--from http://":                    "(such as http://127.0.0.1:9931/metrics)",
		"--from http://127.0.0.1:1/metrics": "(does plumb watch metrics run?)",
	} {
		out, err := nagios(t, strings.Fields(args)...)
		if ended, is := errors.AsType[shell.Ended](err); !is || ended.Code != 3 || !strings.Contains(out, want) || strings.Contains(out, "remote") || strings.Contains(out, "secret") {
			t.Errorf("%s: got %q, %v; want %q", args, out, err, want)
		}
	}
}
