// Command report runs go test with its arguments and prints what a person
// wants: the packages, the whole output of what failed, the list of what was
// skipped and why, what was flaky, and one closing line with the counts.
//
//	report -rerun 2 -timeout 40m ./...
//
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
)

func main() {
	times := flag.Int("rerun", 0, "how often a test that failed is run again, alone")
	timeout := flag.String("timeout", "40m", "the timeout of go test")
	count := flag.Int("count", 0, "the count of go test; 0: once, and results may be cached")
	flag.Parse()
	args := []string{"test", "-json", "-timeout", *timeout}
	if *count > 0 {
		args = append(args, "-count", fmt.Sprint(*count))
	}
	t, err := all(exec.Command("go", append(args, flag.Args()...)...), os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
	t.rerun(*times, again{timeout: *timeout}, os.Stdout)
	t.print(os.Stdout)
	if t.bad() {
		os.Exit(1)
	}
}

// all runs go test and reads what it says. A command that fails without a
// failure in its events broke off: what is missing then did not pass.
func all(cmd *exec.Cmd, w io.Writer) (*tally, error) {
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t := newTally()
	if err := t.read(out, w); err != nil {
		return nil, err
	}
	if err := cmd.Wait(); err != nil && len(t.failures)+len(t.broken) == 0 {
		return nil, fmt.Errorf("go test broke off: %w", err)
	}
	return t, nil
}
