// Command report runs go test with its arguments and prints what a person
// wants: the packages, the whole output of what failed, the list of what was
// skipped and why, what was flaky, and one closing line with the counts.
//
//	report -rerun 2 -timeout 40m -also research ./...
//
// With -lane "N PACKAGES" these run N at a time, beside the others, of which as
// many run as there are processors: they need what the machine has only once,
// and would hold a place and wait. There can be several such lanes. What ends
// first goes on with what is named below.
// With -race DIRS it then runs those tests of the packages below them with the
// race detector that start no real servers (-short), where the code of the
// package runs in several goroutines; the file norace says which are left out.
// With -also DIR it then runs the tests of another module, which is in DIR.
// With -rerun N it runs a test that failed again, alone, at most N times. One
// that then passes is flaky: it does not fail the run, is named at the end, and
// is a fault to be mended all the same. More than two of them fail the run.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
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
	var lanes []lane
	flag.Func("lane", "how many at a time, and packages that run beside the others, so many at a time; can be given several times", func(text string) error {
		l, err := readLane(text)
		lanes = append(lanes, l)
		return err
	})
	program := flag.String("exec", "", "what starts the tests of lanes, as go test -exec takes it")
	also := flag.String("also", "", "the directory of another module, all of whose tests are run too")
	race := flag.String("race", "", "the directories whose packages are also run with the race detector, in this order")
	flag.Parse()
	// make lint has run the whole of go vet: go test need not run a part of it again.
	args := []string{"-timeout", *timeout, "-vet", "off"}
	if *count > 0 {
		args = append(args, "-count", fmt.Sprint(*count))
	}
	t := newTally()
	p := plan{args: args, lanes: lanes, exec: *program, race: strings.Fields(*race), also: *also}
	if err := t.carryOut(p, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
	t.rerun(*times, again(t.suites), os.Stdout)
	t.print(os.Stdout)
	if t.bad() {
		os.Exit(1)
	}
}

// test runs go test and reads what it says. A command that fails without a
// failure in its events broke off: what is missing then did not pass.
func (t *tally) test(s suite, cmd *exec.Cmd, w io.Writer) error {
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
