// Command report runs go test with its arguments and prints what a person
// wants: the packages, the whole output of what failed, the list of what was
// skipped and why, what was flaky, and one closing line with the counts.
//
//	report -rerun 2 -timeout 40m -also research ./...
//
// With -race DIR it then runs those tests of the packages below DIR with the
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
	"runtime"
	"slices"
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
	also := flag.String("also", "", "the directory of another module, all of whose tests are run too")
	race := flag.String("race", "", "the directory whose packages are also run with the race detector")
	wait := flag.Int("waiting", 0, "how many packages run at a time beside one for each processor, since some only wait")
	flag.Parse()
	// make lint has run the whole of go vet: go test need not run a part of it again.
	args := []string{"-timeout", *timeout, "-vet", "off", "-p", fmt.Sprint(runtime.NumCPU() + *wait)}
	if *count > 0 {
		args = append(args, "-count", fmt.Sprint(*count))
	}
	t := newTally()
	here := suite{args: args}
	err := t.run(here, here.command(flag.Args()...), os.Stdout)
	if err == nil && *race != "" {
		err = t.races(*race, args)
	}
	if err == nil && *also != "" {
		there := suite{dir: *also, args: args}
		err = t.run(there, there.command("./..."), os.Stdout)
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

// run runs go test and reads what it says. A command that fails without a
// failure in its events broke off: what is missing then did not pass.
func (t *tally) run(s suite, cmd *exec.Cmd, w io.Writer) error {
	before := len(t.failures) + len(t.broken)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := t.read(out, s, w); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil && len(t.failures)+len(t.broken) == before {
		return fmt.Errorf("go test broke off: %w", err)
	}
	return nil
}
