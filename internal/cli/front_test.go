package cli

import (
	"bytes"
	"io"
	"slices"
	"strings"
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

// TestReads: what the help puts among what only reads does, unless a flag names a file to be written.
func TestReads(t *testing.T) {
	for line, want := range map[string]bool{
		"check --tape fixtures/x.tape.gz":               true,
		"explain sync_binlog":                           true,
		"rules --only btrfs":                            true,
		"stack --json":                                  true,
		"forecast space --csv fixtures/x.csv --at +30d": true,
		"watch --once --for 17s":                        true,
		"forecast space --csv fixtures/x.csv --keep":    false,
		"capture -o fixtures/x.tape":                    false,
		"watch export --output=fixtures/x":              false,
		"watch serve --token-file fixtures/x":           false,
		"watch replay --dir fixtures/x":                 true, "watch record": false, "watch record --dir fixtures/x": false,
		"watch capture":                       false,
		"fix --tape fixtures/x.tape.gz --yes": false,
		"undo":                                false, "confirm": false, "inventory remove tree fixtures/x": false, "provision fixtures/x.yaml --yes": false,
		"snapshot": false, "backup": false, "load fileio run --dir fixtures/x": false, "lab run fixtures/x.yaml": false,
		"man fixtures/x": false, "check --no-such-flag fixtures/x": false, "chekc": false, "": false,
	} {
		if got := Reads(strings.Fields(line)); got != want {
			t.Errorf("plumb %s only reads: %v, want %v", line, got, want)
		}
	}
}
