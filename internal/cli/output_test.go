package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/cli/shell"
)

// TestNoAnswerIsLost: a command whose answer nobody got ends with an error that says so, also when it found something, and whichever way
// it writes.
func TestNoAnswerIsLost(t *testing.T) {
	dir := t.TempDir()
	tapes, state := filepath.Join(dir, "tapes"), filepath.Join(dir, "state")
	must(t, os.Mkdir(tapes, 0o700))
	must(t, os.WriteFile(filepath.Join(tapes, "a.tape"), tapeText(t), 0o600))
	must(t, os.Mkdir(state, 0o700))
	must(t, os.WriteFile(filepath.Join(state, "change-000001.journal"), hostileJournal(t), 0o600))
	busy := "../../fixtures/mariadb-zfs-128K.tape.gz"
	for _, args := range [][]string{
		{"--help"},
		{"version"},
		{"rules"},
		{"rules", "--json"},
		{"check", "--tape", filepath.Join(tapes, "a.tape")},
		{"check", "--tape", filepath.Join(tapes, "a.tape"), "--json"},
		{"check", "--tape", tapes},
		{"check", "--tape", busy, "--fail-on", "note"},
		{"stack", "--tape", busy},
		{"history", "--state", state},
		{"undo", "--state", state, "--dry-run"},
		{"lab", "sweep", "--dry-run", "--state", filepath.Join(dir, "books")},
	} {
		if r := run(nil, args...); r.code > shell.ExitFound || r.out == "" {
			t.Errorf("%q ends with %d, and writes %.200q: %s", args, r.code, r.out, r.err)
			continue
		}
		var errs strings.Builder
		if code := Main(args, strings.NewReader(""), full{}, &errs); code != shell.ExitUnread || !strings.Contains(errs.String(), "plumb: no space left on device\n") {
			t.Errorf("%q onto a full disk ends with %d: %s", args, code, errs.String())
		}
	}
}
