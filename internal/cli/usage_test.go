package cli

import (
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/units"
	"plumb/internal/view/schema"
)

// everyCommand gives the commands that can be typed, hidden ones too.
func everyCommand(c *cobra.Command) (all []*cobra.Command) {
	if c.Runnable() {
		all = append(all, c)
	}
	for _, below := range c.Commands() {
		all = append(all, everyCommand(below)...)
	}
	return all
}

// TestArgumentsTooManyAndTooFew: whoever gives a command other arguments than it
// takes is told so as for every mistake on the command line, with a hint and code 2.
func TestArgumentsTooManyAndTooFew(t *testing.T) {
	a := &app{Shell: shell.New(strings.NewReader(""), io.Discard, io.Discard)}
	all := everyCommand(a.root())
	if len(all) < 60 {
		t.Fatalf("found only %d commands", len(all))
	}
	for _, c := range all {
		for _, args := range [][]string{nil, slices.Repeat([]string{"2"}, 1001)} {
			err := c.ValidateArgs(args)
			if _, own := errors.AsType[shell.Ended](err); err == nil || own { // a plugin's code is UNKNOWN then
				continue
			}
			if hint.AsUsage(err) == nil || hint.Of(err) == "" {
				t.Errorf("%s with %d arguments: %v, hint %q", c.CommandPath(), len(args), err, hint.Of(err))
			}
		}
	}
}

// TestHelpIsWhole: each page begins with what the command does, has an example and the exit codes, and names the schema of what
// --json prints.
func TestHelpIsWhole(t *testing.T) {
	a := &app{Shell: shell.New(strings.NewReader(""), io.Discard, io.Discard)}
	for _, c := range everyCommand(a.root()) {
		if c.Hidden || c == c.Root() {
			continue
		}
		if first, _, _ := strings.Cut(c.Long, " "); c.Name() != "help" && !strings.EqualFold(first, c.Name()) {
			t.Errorf("%s --help begins with %q, and not with what it does", c.CommandPath(), first)
		}
		if c.Example == "" {
			t.Errorf("%s --help has no example", c.CommandPath())
		}
		if !c.HasSubCommands() && c.Name() != "help" && !strings.Contains(c.Long, "Exit codes") {
			t.Errorf("%s --help has no exit codes", c.CommandPath())
		}
		f := c.Flags().Lookup("json")
		if f == nil || f.Hidden {
			continue
		}
		if name := described.FindStringSubmatch(f.Usage); name == nil || schema.Of(name[1]) == nil {
			t.Errorf("%s --help says of --json %q, which names no schema", c.CommandPath(), f.Usage)
		}
	}
}

// TestDefaultsAreTyped: a time is shown as people type it, also by commands that only Plumb and servers run.
func TestDefaultsAreTyped(t *testing.T) {
	a := &app{Shell: shell.New(strings.NewReader(""), io.Discard, io.Discard)}
	found := map[bool]int{} // by whether the command is hidden
	for _, c := range everyCommand(a.root()) {
		c.InheritedFlags() // adds them to the others
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() != "duration" {
				return
			}
			found[c.Hidden]++
			if d, err := time.ParseDuration(f.DefValue); err != nil || f.DefValue != units.Short(d) {
				t.Errorf("%s: the default of --%s is %s", c.CommandPath(), f.Name, f.DefValue)
			}
		})
	}
	if found[true] == 0 || found[false] < 20 {
		t.Errorf("looked at %v", found)
	}
}

var described = regexp.MustCompile(`\(plumb schema ([a-z-]+) describes it\)`)

// TestFlagsThatAreMissingOrTooMany: a command line without a flag that is needed is
// a mistake of the person, not of the machine.
func TestFlagsThatAreMissingOrTooMany(t *testing.T) {
	for _, c := range []struct{ line, says, hint string }{
		{"backup", "plumb backup needs --to URL", "plumb backup --help"},
		{"restore --from file:///b", "plumb restore needs --identity FILE", "plumb restore --help"},
		{"restore --from file:///b --identity k", "plumb restore needs one of --into, --output, --command, --dir", "plumb restore --help"},
		{"restore --from file:///b --identity k --into a --output b", "--into and --output cannot be combined", "give one of them"},
		{"rollback 2026 --stop true", "--stop is given without --start", "give all of them"},
		{"rollback", "needs a POINT, or --to with a time", "plumb protect list"},
		{"rollback mysql:3306 --yes", "\"mysql:3306\" is not a point", "--to TIME finds it"},
		{"rollback --table shop.orders", "plumb rollback --table needs one POINT", "plumb protect list"},
		{"rollback 2026 --table shop.orders --others", "stops no server", "--others"},
		{"provision a.yaml b.yaml", "plumb provision needs one spec, got 2", "plumb provision --help"},
		{"provision a.yaml --emit k8s --undo", "--emit and --undo cannot be combined", "give one of them"},
		{"provision --from live --undo", "--from and --undo cannot be combined", "give one of them"},
		{"provision --from live --json", "--from and --json cannot be combined", "give one of them"},
		{"provision cache add tank /dev/disk/by-id/x --warm tank/db", "--warm says what the unit of --emit systemd reads", "plumb provision cache warm tank tank/db"},
		{"provision cache add tank /dev/disk/by-id/x --emit systemd --warm other/db", "--warm other/db is not a dataset of the pool tank", "zfs list -r tank"},
		{"provision cache add tank", "plumb provision cache add needs a POOL and a DEVICE, got 1", "--help"},
		{"rollback 2026 --wal /wal", "--wal has no effect without --to", "leave it out"},
		{"rollback 2026 --memory 1G", "--memory has no effect without --to or --table", "leave it out"},
		{"rollback 2026 --as old", "--as has no effect without --table", "leave it out"},
		{"rollback 2026 --table shop.orders --within 5m", "--table and --within cannot be combined", "give one of them"},
		{"snapshot --checks full", "--checks has no effect without --drill", "leave it out"},
		{"snapshot --memory 1G", "--memory has no effect without --drill", "leave it out"},
		{"snapshot --max-time 1m", "--max-time has no effect without --drill", "leave it out"},
		{"snapshot --ready", "--ready has no effect without --drill", "leave it out"},
		{"snapshot --mode crash --wait 1s", "--wait is for a lock, but none is taken in mode crash", "name another mode"},
		{"clone 20261123T2105 --browse --memory 1G", "--browse and --memory cannot be combined", "give one of them"},
		{"clone 20261123T2105 --browse --port 3307", "--browse and --port cannot be combined", "give one of them"},
		{"clone 20261123T2105 --slot s", "--slot has no effect without --replica", "leave it out"},
		{"clone refresh dev 20261123T2105 --slot s", "--slot has no effect without --source", "leave it out"},
		{"replicate 20261123T2105 tank2/copies --ssh -v", "--ssh has no effect: the target tank2/copies is on this host", "ssh://user@host"},
		{"protect run p.yaml --emit cron --dry-run", "--emit and --dry-run cannot be combined", "give one of them"},
		{"protect run p.yaml --emit cron --backups", "--emit and --backups cannot be combined", "give one of them"},
		{"protect run p.yaml --emit cron --state /x", "--emit and --state cannot be combined", "give one of them"},
		{"clone lst", "there is no command \"lst\"", "plumb clone list?"},
		{"clone dev", "\"dev\" is neither a point", "plumb protect list"},
		{"watch --for 5m", "--for goes with --once", "plumb watch --once"},
		{"watch capture --on lock/blockd", "--on lock/blockd is not a verdict", "did you mean lock/blocked?"},
		{"lab run x.yaml --dry-run --json", "a dry run is shown only as text", "give one of them"},
		{"check --jsn", "plumb check has no flag --jsn", "did you mean --json?"},
		{"check db1.tape", "plumb check takes no argument", "plumb check --tape db1.tape reads a recorded host"},
		{"verify --from /backups", "\"/backups\" is not a place for backups", "did you mean file:///backups?"},
		{"load oltp run", "got 1 word\n", "plumb load oltp read_write run"},
		{"check --json --emit zfs", "--json and --emit cannot be combined", "give one of them"},
		{"fix --json --emit shell", "--json and --emit cannot be combined", "give one of them"},
		{"lab report --html x.html --csv", "--html and --csv cannot be combined", "give one of them"},
		{"forecast monitor --hosts -1", "--hosts -1 is out of range", "--hosts 200"},
		{"forecast space --at +200w", "--at +200w is not a day", "at most three years"},
	} {
		r := run(nil, strings.Fields(c.line)...)
		if r.code != shell.ExitUsage || r.out != "" || !strings.Contains(r.err, c.says) || !strings.Contains(r.err, "hint: ") || !strings.Contains(r.err, c.hint) {
			t.Errorf("plumb %s: code %d, %q", c.line, r.code, r.err)
		}
	}
}
