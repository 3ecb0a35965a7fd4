// Command report reads the output of go test -json and prints what a person
// wants at the end: the packages, the whole output of what failed, the list
// of what was skipped and why, and one closing line with the counts.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

// event is one line of go test -json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// tally is what was seen so far.
type tally struct {
	output                  map[string][]string // by package and test
	passed, failed, skipped int
	skips, failures         []string
	broken                  bool // a package failed outside its tests
}

func main() {
	t := tally{output: map[string][]string{}}
	if err := t.read(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
	t.print(os.Stdout)
	if t.failed > 0 || t.broken || t.passed == 0 {
		os.Exit(1)
	}
}

func (t *tally) read(r io.Reader, w io.Writer) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Fprintln(w, lines.Text()) // a build error, before the first event
			t.broken = true
			continue
		}
		t.add(e, w)
	}
	return lines.Err()
}

func (t *tally) add(e event, w io.Writer) {
	key := e.Package + " " + e.Test
	switch {
	case e.Action == "output" || e.Action == "build-output":
		t.output[key] = append(t.output[key], e.Output)
	case e.Test == "":
		t.addPackage(e, key, w)
	case e.Action == "pass":
		t.passed++
		delete(t.output, key)
	case e.Action == "skip":
		t.skipped++
		t.skips = append(t.skips, short(e.Package)+" "+e.Test+": "+reason(t.output[key]))
	case e.Action == "fail":
		t.failed++
		t.failures = append(t.failures, key)
	}
}

func (t *tally) addPackage(e event, key string, w io.Writer) {
	switch e.Action {
	case "pass":
		fmt.Fprintf(w, "ok    %-28s %6.1f s\n", short(e.Package), e.Elapsed)
	case "fail":
		t.broken = true
		t.failures = append(t.failures, key)
		fmt.Fprintf(w, "FAIL  %-28s %6.1f s\n", short(e.Package), e.Elapsed)
	}
}

func (t *tally) print(w io.Writer) {
	for _, key := range t.failures {
		fmt.Fprintf(w, "\n--- %s\n%s", key, strings.Join(t.output[key], ""))
	}
	slices.Sort(t.skips)
	if len(t.skips) > 0 {
		fmt.Fprintln(w, "\nskipped:")
	}
	for _, s := range t.skips {
		fmt.Fprintln(w, "  "+s)
	}
	fmt.Fprintf(w, "\n%d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped)
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
