package cli

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
)

// TestHelpFitsTheScreen holds the prose of every help page to 84 columns.
// Examples may be longer: they are copied.
func TestHelpFitsTheScreen(t *testing.T) {
	const columns = 84
	pages := 0
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		pages++
		for line := range strings.Lines(c.Long) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > columns {
				t.Errorf("%s --help has a line of %d columns: %s", c.CommandPath(), n, line)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk((&app{Shell: shell.Shell{Out: io.Discard}}).root())
	if pages < 20 {
		t.Fatalf("only %d commands", pages)
	}
}

// full is a device without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestHelpThatDoesNotArrive is an error, as of any other output.
func TestHelpThatDoesNotArrive(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"check", "--help"}, {"help", "check"}, {"help", "look"}, {"lab"}, {}} {
		var said bytes.Buffer
		if code := Main(args, strings.NewReader(""), full{}, &said); code != shell.ExitUnread || !strings.Contains(said.String(), "no space left") {
			t.Errorf("plumb %s, to a full device, ends with %d and says %q", strings.Join(args, " "), code, said.String())
		}
	}
}

// TestHelpListsEveryCommand: a new verb that is in no group is in no help. Each
// group has three lines, and a page with a line on each verb.
func TestHelpListsEveryCommand(t *testing.T) {
	help := func(args ...string) string {
		var out bytes.Buffer
		root := (&app{Shell: shell.Shell{Out: &out, Err: io.Discard}}).root()
		root.SetOut(&out)
		root.SetArgs(args)
		must(t, root.Execute())
		for line := range strings.Lines(out.String()) {
			if len(strings.TrimRight(line, "\n")) > 81 {
				t.Errorf("%q has more than 80 columns: %s", args, line)
			}
		}
		return out.String()
	}
	all := help("--help")
	if n := strings.Count(all, "\n"); n > 40 {
		t.Errorf("it has %d lines: more than a screen", n)
	}
	root := (&app{Shell: shell.Shell{Out: io.Discard, Err: io.Discard}}).root()
	for _, c := range root.Commands() {
		if c.Hidden {
			continue
		}
		_, group, _ := strings.Cut(all, "\n"+c.GroupID+": ")
		lines := strings.SplitN(group, "\n", 4)
		if c.GroupID == "" || len(lines) < 4 || lines[3][:1] != "\n" || !slices.Contains(strings.Fields(lines[2]), c.Name()) {
			t.Errorf("%s is in no group of the help, or its group has not three lines", c.Name())
		}
		if page := help("help", strings.ToLower(c.GroupID)); strings.Count(page, "\n  "+c.Name()+" ") != 1 {
			t.Errorf("%s is not on its group's page: %s", c.Name(), page)
		}
	}
}

// TestWhatMakesThingsOutlivesItsReader: only what makes things goes on when nobody reads its output, to remove them.
func TestWhatMakesThingsOutlivesItsReader(t *testing.T) {
	root := (&app{}).root()
	for line, want := range map[string]bool{
		"fix": true, "confirm": true, "inventory remove": true, "backup": true, "archive push": true, "lab run": true, "protect run": true, "prove": true, "sst": true,
		"check": false, "watch": false, "forecast space": false, "look": false, "leftovers": false, "version": false,
	} {
		c, rest, err := root.Find(strings.Fields(line))
		if err != nil || len(rest) > 0 {
			t.Fatalf("%s: %v", line, err)
		}
		c.SetContext(t.Context())
		_ = root.PersistentPreRunE(c, nil) // some lack flags here
		if got := c.Context() != t.Context(); got != want {
			t.Errorf("plumb %s outlives its reader: %t, want %t", line, got, want)
		}
	}
}
