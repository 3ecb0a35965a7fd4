// Command report runs go test with its arguments and prints what a person
// wants: the packages, the whole output of what failed, the list of what was
// skipped and why, what was flaky, and one closing line with the counts.
//
//	report -rerun 2 -timeout 40m -also research ./...
//
// With -turns PACKAGES these run one at a time, beside the others: they need
// what the machine has only once, and would hold a place and wait.
// With -race DIRS it then runs those tests of the packages below them with the
// race detector that start no real servers (-short), where the code of the
// package runs in several goroutines; the file norace says which are left out.
// With -also DIR it then runs the tests of another module, which is in DIR.
// With -rerun N it runs a test that failed again, alone, at most N times. One
// that then passes is flaky: it does not fail the run, is named at the end, and
// is a fault to be mended all the same. More than two of them fail the run.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// suite is one run of go test.
type suite struct {
	dir  string   // of the module; "" for here
	args []string // all but the packages
	race bool
}

func (s suite) command(args ...string) *exec.Cmd {
	cmd := exec.Command("go", slices.Concat([]string{"test", "-json"}, s.args, args)...)
	cmd.Dir, cmd.Stderr = s.dir, os.Stderr
	if s.race {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	}
	return cmd
}

func main() {
	times := flag.Int("rerun", 0, "how often a test that failed is run again, alone")
	timeout := flag.String("timeout", "40m", "the timeout of go test")
	count := flag.Int("count", 0, "the count of go test; 0: once, and results may be cached")
	turns := flag.String("turns", "", "packages of which one at a time runs, beside the others")
	also := flag.String("also", "", "the directory of another module, all of whose tests are run too")
	race := flag.String("race", "", "the directories whose packages are also run with the race detector, in this order")
	wait := flag.Int("waiting", 0, "how many packages run at a time beside one for each processor, since some only wait")
	flag.Parse()
	// make lint has run the whole of go vet: go test need not run a part of it again.
	args := []string{"-timeout", *timeout, "-vet", "off"}
	if *count > 0 {
		args = append(args, "-count", fmt.Sprint(*count))
	}
	t, places := newTally(), runtime.NumCPU()+*wait
	alone, others, err := split(strings.Fields(*turns), flag.Args())
	if err == nil && len(alone) > 0 {
		places = max(1, places-1)
	}
	if err == nil {
		err = together(
			func() error { return t.packages(suite{args: atATime(args, 1)}, alone) },
			func() error { return t.most(others, strings.Fields(*race), *also, atATime(args, places)) })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
	t.rerun(*times, again(t.suites), os.Stdout)
	t.print(os.Stdout)
	if t.bad() {
		os.Exit(1)
	}
}

func atATime(args []string, packages int) []string {
	return slices.Concat(args, []string{"-p", fmt.Sprint(packages)})
}

// split lists the packages that patterns match, those that take turns apart.
func split(turns, patterns []string) (alone, others []string, err error) {
	if others, err = matching(patterns); err != nil || len(turns) == 0 {
		return nil, others, err
	}
	if alone, err = matching(turns); err != nil {
		return nil, nil, err
	}
	return alone, slices.DeleteFunc(others, func(p string) bool { return slices.Contains(alone, p) }), nil
}

// matching lists the packages that patterns match, each once, in the order of the patterns.
func matching(patterns []string) (packages []string, err error) {
	if len(patterns) == 0 {
		return nil, nil // and not that of this directory
	}
	out, err := exec.Command("go", slices.Concat([]string{"list"}, patterns)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", strings.Join(patterns, " "), err)
	}
	return strings.Fields(string(out)), nil
}

// together does several things at a time, each to its end.
func together(do ...func() error) error {
	errs := make(chan error)
	for _, f := range do {
		go func() { errs <- f() }()
	}
	var all error
	for range do {
		all = errors.Join(all, <-errs)
	}
	return all
}

// most runs the packages that take no turns, those with the race detector, and those of another module.
func (t *tally) most(packages, race []string, also string, args []string) error {
	err := t.packages(suite{args: args}, packages)
	if err == nil && len(race) > 0 {
		err = t.races(race, args)
	}
	if err == nil && also != "" {
		err = t.packages(suite{dir: also, args: args}, []string{"./..."})
	}
	return err
}

func (t *tally) packages(s suite, names []string) error {
	if len(names) == 0 {
		return nil
	}
	return t.run(s, s.command(names...), os.Stdout)
}

// run runs go test and reads what it says. A command that fails without a
// failure in its events broke off: what is missing then did not pass.
func (t *tally) run(s suite, cmd *exec.Cmd, w io.Writer) error {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	failed, err := t.read(out, s, w)
	if err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil && !failed {
		return fmt.Errorf("go test broke off: %w", err)
	}
	return nil
}
