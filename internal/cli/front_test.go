package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
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
	walk((&app{out: io.Discard}).root())
	if pages < 20 {
		t.Fatalf("only %d commands", pages)
	}
}

// TestHelpListsEveryCommand: a new verb that is in no group is in no help.
func TestHelpListsEveryCommand(t *testing.T) {
	var out bytes.Buffer
	a := &app{out: &out, err: io.Discard}
	root := a.root()
	root.SetOut(&out)
	root.SetArgs([]string{"--help"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, c := range root.Commands() {
		if c.Hidden {
			continue
		}
		if c.GroupID == "" || strings.Count(out.String(), "\n  "+c.Name()+" ") != 1 {
			t.Errorf("%s is in no group of the help", c.Name())
		}
	}
	for line := range strings.Lines(out.String()) {
		if len(strings.TrimRight(line, "\n")) > 80 {
			t.Errorf("more than 80 columns: %s", line)
		}
	}
}
