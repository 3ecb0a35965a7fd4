// Command counted plants every incident of test/watch several times, beside its
// twin, and prints every run in a table: what was wanted, what was said, how soon.
//
//	counted                      each three times; some hours, on a machine with nothing else to do
//	counted -only Lock -runs 1   those whose names match
//	counted -full                also what takes an hour: a healthy one, of each server
//	counted -table               what the file holds, without running anything
//
// All runs are of one program, which is built first: its thresholds cannot change meanwhile, and its checksum is kept
// with each run. A file of runs of another program is refused. What is in the file is not run again, so that what was
// interrupted goes on. Each test is a process of its own: one that fails, panics or hangs is a wrong run, and the
// next one begins. The first interrupt lets the running test end, the second ends it.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"plumb/test/watch/counted"
)

// planted is the package with the incidents.
const planted = "test/watch"

type counter struct {
	runs    int
	only    *regexp.Regexp
	file    string
	limit   time.Duration // of one test
	full    bool
	program string
	frozen  string
}

func main() {
	var c counter
	flag.IntVar(&c.runs, "runs", 3, "how often each is run")
	only := flag.String("only", "", "a pattern of the names of tests; without it all")
	flag.StringVar(&c.file, "file", ".cache/counted.jsonl", "keeps every run")
	flag.DurationVar(&c.limit, "limit", 20*time.Minute, "after which a test is ended")
	flag.BoolVar(&c.full, "full", false, "also the tests that take an hour")
	table := flag.Bool("table", false, "print the table of the file, and run nothing")
	flag.Parse()
	err := c.prepare(*only, *table)
	if err == nil && !*table {
		err = c.all()
	}
	if err == nil {
		err = c.print()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "counted:", err)
		os.Exit(1)
	}
}

// prepare builds what plants and judges.
func (c *counter) prepare(only string, table bool) (err error) {
	if c.only, err = regexp.Compile(only); err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	if c.file, err = filepath.Abs(c.file); err != nil || table {
		return err
	}
	if err := os.MkdirAll(c.logs(), 0o755); err != nil {
		return err
	}
	c.program = filepath.Join(c.logs(), "incidents")
	build := exec.Command("go", "test", "-c", "-trimpath", "-o", c.program, "./"+planted)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build %s: %w", planted, err)
	}
	data, err := os.ReadFile(c.program)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	c.frozen = hex.EncodeToString(sum[:8])
	return nil
}

// logs is the directory of what each test printed, beside the file.
func (c *counter) logs() string { return strings.TrimSuffix(c.file, ".jsonl") + ".logs" }

// all runs round after round, so that after each there is one run of all.
func (c *counter) all() error {
	names, err := c.names()
	if err != nil {
		return err
	}
	interrupted := make(chan os.Signal, 2)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	for n := 1; n <= c.runs; n++ {
		for i, name := range names {
			done, err := c.done(name, n)
			if err != nil {
				return err
			}
			if done {
				continue
			}
			fmt.Printf("%s  run %d of %d, test %d of %d: %s\n", time.Now().Format(time.TimeOnly), n, c.runs, i+1, len(names), name)
			if stop, err := c.one(name, n, interrupted); err != nil || stop {
				return err
			}
		}
	}
	return nil
}

// names lists the tests.
func (c *counter) names() ([]string, error) {
	list := exec.Command(c.program, "-test.list", "^Test")
	list.Dir = planted
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the incidents: %w", err)
	}
	var names []string
	for _, name := range strings.Fields(string(out)) {
		if c.only.MatchString(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no test of %s matches -only %s", planted, c.only)
	}
	return names, nil
}

// done tells whether the file has this run.
func (c *counter) done(name string, n int) (bool, error) {
	all, _, err := counted.Read(c.file)
	if err != nil {
		return false, err
	}
	if i := slices.IndexFunc(all, func(r counted.Run) bool { return r.Frozen != c.frozen }); i >= 0 {
		return false, fmt.Errorf("%s has runs of another program (%s, this one is %s): thresholds or tests changed since; move it away, or name another -file", c.file, all[i].Frozen, c.frozen)
	}
	return slices.ContainsFunc(all, func(r counted.Run) bool {
		return r.Run == n && (r.Test == name || strings.HasPrefix(r.Test, name+"/"))
	}), nil
}

// one runs a test with all that belongs to it, and keeps what came of it.
func (c *counter) one(name string, n int, interrupted <-chan os.Signal) (stop bool, err error) {
	dir, err := os.MkdirTemp("", "plumb-counted-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	notes, real, limit := filepath.Join(dir, "runs"), "1", c.limit
	if c.full {
		real, limit = "full", limit+time.Hour
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit+time.Minute)
	defer cancel()
	var output bytes.Buffer
	test := exec.CommandContext(ctx, c.program, "-test.v", "-test.run", "^"+name+"$", "-test.timeout", limit.String())
	test.Dir, test.Stdout, test.Stderr = planted, &output, &output
	test.Env = append(os.Environ(), "PLUMB_REAL="+real, counted.Into+"="+notes)
	test.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt from the terminal is ours
	test.WaitDelay = 10 * time.Second
	if err := test.Start(); err != nil {
		return false, err
	}
	ended := make(chan error, 1)
	go func() { ended <- test.Wait() }()
	for over := false; !over; {
		select {
		case <-ended: // how, its output says
			over = true
		case <-interrupted:
			if stop {
				cancel()
			}
			stop = true
			fmt.Println("it ends after this test; once more ends it now")
		}
	}
	noted, _, err := counted.Read(notes)
	if err != nil {
		return stop, err
	}
	if err := os.WriteFile(filepath.Join(c.logs(), fmt.Sprintf("%s-%d.txt", name, n)), output.Bytes(), 0o644); err != nil {
		return stop, err
	}
	if ctx.Err() == context.Canceled {
		return true, nil // cut off by a person: not a run
	}
	for _, r := range counted.Merge(noted, output.String()) {
		r.Run, r.Frozen = n, c.frozen
		if err := counted.Append(c.file, r); err != nil {
			return stop, err
		}
	}
	return stop, nil
}

// print prints the table of all runs that the file holds.
func (c *counter) print() error {
	all, torn, err := counted.Read(c.file)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("%s holds no run", c.file)
	}
	fmt.Printf("\nall runs of %s, planted and judged by program %s\n\n", c.file, all[0].Frozen)
	if torn > 0 {
		fmt.Printf("%d lines of it were cut off and are left out\n", torn)
	}
	return table(os.Stdout, all)
}
