package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// event is one line of go test -json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// id names a test, or with no test its package.
type id struct{ pkg, test string }

func (i id) String() string { return strings.TrimSuffix(short(i.pkg)+" "+i.test, " ") }

// top is the test that i is a part of: go test runs no part alone without it.
func (i id) top() id {
	name, _, _ := strings.Cut(i.test, "/")
	return id{i.pkg, name}
}

// tally is what was seen so far.
type tally struct {
	mu              sync.Mutex
	output          map[id][]string
	suites          map[string]suite // of packages: where they were run
	began           map[id]bool      // tests that have not ended
	passed, skipped int
	raced           int // that passed with the race detector too
	skips           []string
	failures        []id // tests, in the order they failed
	broken          []id // packages that failed outside their tests, or did not build
	flaky           []string
	took            map[id]float64 // seconds, of whole tests
}

func newTally() *tally {
	return &tally{output: map[id][]string{}, began: map[id]bool{}, suites: map[string]suite{}, took: map[id]float64{}}
}

// read takes the events of a suite, and tells whether one was a failure.
func (t *tally) read(r io.Reader, s suite, w io.Writer) (failed bool, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		failed = t.take(lines.Bytes(), s, w) || failed
	}
	return failed, lines.Err()
}

// take takes a line of what go test says. Two may run at a time.
func (t *tally) take(line []byte, s suite, w io.Writer) (failed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := len(t.failures) + len(t.broken)
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		fmt.Fprintln(w, string(line)) // a build error, before the first event
		t.broken = append(t.broken, id{})
		return true
	}
	if s.race {
		e.Package += raceMark
	}
	t.suites[e.Package] = s
	t.add(e, w)
	return len(t.failures)+len(t.broken) > before
}

func (t *tally) add(e event, w io.Writer) {
	key := id{e.Package, e.Test}
	if e.Action == "output" || e.Action == "build-output" {
		t.output[key] = append(t.output[key], e.Output)
		return
	}
	if e.Test == "" {
		t.addPackage(e, w)
		return
	}
	switch e.Action {
	case "run":
		t.began[key] = true
		return
	case "pass":
		t.pass(key)
		delete(t.output, key)
	case "skip":
		if strings.HasSuffix(e.Package, raceMark) {
			break // the run without the detector tells it
		}
		t.skipped++
		t.skips = append(t.skips, key.String()+": "+reason(t.output[key]))
	case "fail":
		t.failures = append(t.failures, key)
	default:
		return // pause, cont, bench
	}
	delete(t.began, key)
	if key == key.top() {
		t.took[key] = e.Elapsed
	}
}

func (t *tally) pass(key id) {
	if strings.HasSuffix(key.pkg, raceMark) {
		t.raced++
		return
	}
	t.passed++
}

func (t *tally) addPackage(e event, w io.Writer) {
	switch e.Action {
	case "pass":
		fmt.Fprintf(w, "ok    %-28s %6.1f s\n", short(e.Package), e.Elapsed)
	case "fail":
		fmt.Fprintf(w, "FAIL  %-28s %6.1f s\n", short(e.Package), e.Elapsed)
		if t.crashed(e.Package) {
			t.broken = append(t.broken, id{pkg: e.Package})
		}
		// At once, since a long run may be ended before its closing lines.
		t.show(w, func(key id) bool { return key.pkg == e.Package })
	}
}

// crashed tells whether a package that failed did so in another way than by
// tests that failed: tests after a panic never ran, and a race is a fault
// though it does not always show.
func (t *tally) crashed(pkg string) bool {
	for key := range t.began {
		if key.pkg == pkg {
			return true
		}
	}
	failed := false
	for key, text := range t.output {
		if key.pkg == pkg && slices.ContainsFunc(text, fatal.MatchString) {
			return true
		}
	}
	for _, key := range t.failures {
		failed = failed || key.pkg == pkg
	}
	return !failed
}

var fatal = regexp.MustCompile(`^(panic: |fatal error: |WARNING: DATA RACE|race: )`)

// bad tells whether the run failed.
func (t *tally) bad() bool {
	return len(t.failures) > 0 || len(t.broken) > 0 || len(t.flaky) > maxFlaky || t.passed == 0
}

func (t *tally) print(w io.Writer) {
	t.show(w, func(id) bool { return true })
	list(w, "slowest:", t.slowest(mostSlow))
	list(w, "skipped:", t.skips)
	list(w, "flaky: failed, and passed when run again alone; each is a fault to be mended:", t.flaky)
	if len(t.flaky) > maxFlaky {
		fmt.Fprintf(w, "\n%d flaky tests fail the run: at most %d may be\n", len(t.flaky), maxFlaky)
	}
	if t.raced > 0 {
		fmt.Fprintf(w, "\n%d tests passed with the race detector too\n", t.raced)
	}
	fmt.Fprintf(w, "\n%d passed, %d failed, %d skipped\n", t.passed, len(t.failures), t.skipped)
}

// show writes what those tests said that failed, and those packages that failed outside of tests.
func (t *tally) show(w io.Writer, which func(id) bool) {
	for _, key := range slices.Concat(t.failures, t.broken) {
		if which(key) {
			fmt.Fprintf(w, "\n--- %s\n%s", key, strings.Join(t.output[key], ""))
		}
	}
}

// mostSlow is how many of the slowest tests are named: those that decide how long a run takes.
const mostSlow = 20

// slowest names the tests that took the longest, waiting for others included.
func (t *tally) slowest(most int) (lines []string) {
	for key, took := range t.took {
		if took >= 1 {
			lines = append(lines, fmt.Sprintf("%6.1f s  %s", took, key))
		}
	}
	slices.Sort(lines)
	return lines[max(0, len(lines)-most):]
}

func list(w io.Writer, title string, lines []string) {
	if len(lines) > 0 {
		fmt.Fprintln(w, "\n"+title)
	}
	for _, s := range slices.Sorted(slices.Values(lines)) {
		fmt.Fprintln(w, "  "+s)
	}
}

func short(pkg string) string {
	return strings.TrimPrefix(strings.TrimPrefix(pkg, "plumb/"), "internal/")
}

var skipLine = regexp.MustCompile(`^\s+\S+_test\.go:\d+: (.*)`)

// reason finds what a test said when it skipped.
func reason(output []string) string {
	for _, line := range slices.Backward(output) {
		if m := skipLine.FindStringSubmatch(line); m != nil {
			return m[1]
		}
	}
	return "no reason given"
}
