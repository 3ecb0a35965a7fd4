package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"plumb/internal/hint"
)

// TestHintOfWhatOnlyRootMay: a user is told what would help him, and root is not told to be root.
func TestHintOfWhatOnlyRootMay(t *testing.T) {
	denied := fmt.Errorf("lock /var/lib/plumb/x: %w", fs.ErrPermission)
	if got := forRoot(denied, 1000); !strings.Contains(got, "sudo") {
		t.Errorf("of a user: %q", got)
	}
	for _, got := range []string{forRoot(denied, 0), forRoot(errors.New("no such thing"), 1000), forRoot(nil, 1000)} {
		if got != "" {
			t.Errorf("%q does not help", got)
		}
	}
}

// TestTapeWithoutItsFlag: a tape that is given as an argument was meant for --tape, where there is one.
func TestTapeWithoutItsFlag(t *testing.T) {
	c := &cobra.Command{Use: "check"}
	if got := hint.Of(NoArgs(c, []string{"db1.tape"})); !strings.Contains(got, "--help") {
		t.Errorf("of a command that reads no tape: %q", got)
	}
	c.Flags().String("tape", "", "")
	for arg, want := range map[string]string{"db1.tape": "check --tape db1.tape", "db1.tape.gz": "check --tape db1.tape.gz", "mysql": "--help"} {
		if got := hint.Of(NoArgs(c, []string{arg})); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", arg, got, want)
		}
	}
}
