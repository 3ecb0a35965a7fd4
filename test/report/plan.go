package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// plan is what is run, and how.
type plan struct {
	args  []string // of go test
	lanes []lane   // beside the one for all other packages
	exec  string   // what starts the tests of these lanes; "" for nothing
	race  []string // directories of packages for the race detector
	also  string   // the directory of another module
}

// lane is packages of which so many run at a time.
type lane struct {
	places   int
	packages []string // or patterns of them
}

// readLane reads a number and patterns of packages.
func readLane(text string) (lane, error) {
	words := strings.Fields(text)
	if len(words) < 2 {
		return lane{}, fmt.Errorf("want a number and packages, such as %q", "1 ./test/...")
	}
	n, err := strconv.Atoi(words[0])
	if err != nil || n < 1 {
		return lane{}, fmt.Errorf("%q packages cannot run at a time: want 1 or more", words[0])
	}
	return lane{n, words[1:]}, nil
}

// job is a part of it: go test is run once.
type job struct {
	title    string
	suite    suite
	packages []string
}

// carryOut runs the packages that patterns match, and the rest of the plan. All other packages than those of its lanes have one with
// a place for each processor.
func (t *tally) carryOut(p plan, patterns []string) error {
	lanes, others, err := split(p.lanes, patterns)
	if err != nil {
		return err
	}
	var jobs []job
	var places []int
	for i, l := range append(lanes, lane{runtime.NumCPU(), others}) {
		s := suite{args: p.args}
		if i < len(lanes) && p.exec != "" {
			s.args = slices.Concat(p.args, []string{"-exec", p.exec})
		}
		jobs = append(jobs, job{fmt.Sprint("lane ", i+1), s, l.packages})
		places = append(places, l.places)
	}
	raced, err := t.racing(p)
	if err != nil {
		return err
	}
	jobs = append(jobs, raced...)
	if p.also != "" {
		jobs = append(jobs, job{"module " + p.also, suite{dir: p.also, args: p.args}, []string{"./..."}})
	}
	return t.run(jobs, places...)
}

// run runs jobs in as many lanes as places are given. A lane begins with the job of its number. When that has ended it takes the
// next that nobody has, so that no lane is empty while jobs are left.
func (t *tally) run(jobs []job, places ...int) error {
	queue := make(chan job, len(jobs))
	for _, j := range jobs[len(places):] {
		queue <- j
	}
	close(queue)
	var lanes []func() error
	for i, at := range places {
		lanes = append(lanes, func() error {
			err := t.do(jobs[i], at)
			for j := range queue {
				err = errors.Join(err, t.do(j, at))
			}
			return err
		})
	}
	return together(lanes...)
}

// do runs a job, and tells how long it took: what the processors did is less where tests wait.
func (t *tally) do(j job, places int) error {
	if len(j.packages) == 0 {
		return nil
	}
	j.suite.args = append(slices.Clone(j.suite.args), "-p", fmt.Sprint(places))
	cmd, began := j.suite.command(j.packages...), time.Now()
	if err := t.test(j.suite, cmd, os.Stdout); err != nil {
		return err
	}
	busy := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	fmt.Printf("end   %-28s %6.1f s, and %.1f s of a processor\n", j.title, time.Since(began).Seconds(), busy.Seconds())
	return nil
}

// split lists the packages that patterns match, those of lanes apart. One that several lanes name is in the first.
func split(lanes []lane, patterns []string) (apart []lane, others []string, err error) {
	if others, err = matching(patterns); err != nil {
		return nil, nil, err
	}
	for _, l := range lanes {
		found, err := matching(l.packages)
		if err != nil {
			return nil, nil, err
		}
		ours := lane{places: l.places}
		for _, p := range found {
			if i := slices.Index(others, p); i >= 0 {
				others = slices.Delete(others, i, i+1)
				ours.packages = append(ours.packages, p)
			}
		}
		apart = append(apart, ours)
	}
	return apart, others, nil
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
