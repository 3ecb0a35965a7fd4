package main

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// maxFlaky is how many flaky tests a run may have.
const maxFlaky = 2

// runner runs one test alone.
type runner interface {
	// run gives the test's events as go test -json writes them.
	run(test id) io.Reader
}

// rerun runs each test that failed again, alone, at most times. What passes
// then is flaky; its failure is shown when it happens, since the closing lines
// only name it. Tests of a package that crashed are left: what came after them
// never ran.
func (t *tally) rerun(times int, alone runner, w io.Writer) {
	if times == 0 {
		return
	}
	var left []id
	verdict := map[id]bool{} // of whole tests: their parts failed with them
	for _, key := range t.failures {
		if slices.Contains(t.broken, id{pkg: key.pkg}) {
			left = append(left, key)
			continue
		}
		top := key.top()
		passes, known := verdict[top]
		if !known {
			passes = t.passesAlone(top, times, alone, w)
			verdict[top] = passes
		}
		if !passes {
			left = append(left, key)
			continue
		}
		t.pass(key)
		fmt.Fprintf(w, "\n--- flaky: %s\n%s", key, strings.Join(t.output[key], ""))
	}
	t.failures = left
}

// passesAlone runs a test until it passes, and notes it as flaky then.
func (t *tally) passesAlone(test id, times int, alone runner, w io.Writer) bool {
	for n := 1; n <= times; n++ {
		fmt.Fprintf(w, "again %s\n", test)
		one := newTally()
		if _, err := one.read(alone.run(test), suite{}, io.Discard); err != nil || one.bad() {
			continue
		}
		t.flaky = append(t.flaky, fmt.Sprintf("%s: passed when run again, time %d", test, n))
		return true
	}
	return false
}

// again runs tests with the go command, as the suite of their package did.
type again map[string]suite

func (a again) run(test id) io.Reader {
	cmd := a[test.pkg].command("-count", "1", "-run", "^"+regexp.QuoteMeta(test.test)+"$", strings.TrimSuffix(test.pkg, raceMark))
	out, _ := cmd.Output() // how it ended is in the events
	return bytes.NewReader(out)
}
