package counted

import (
	"os"
	"path/filepath"
	"testing"
)

// The output of a package whose tests failed in each way there is.
const output = `=== RUN   TestLock
=== RUN   TestLock/incident
    scene_test.go:377: RUN RIGHT TestLock/incident: want "lock/blocked"
=== RUN   TestLock/twin
    scene_test.go:377: RUN RIGHT TestLock/twin: want ""
    scene_test.go:420: at the top stands "log/flush", want "lock/blocked"
--- FAIL: TestLock (10.00s)
    --- PASS: TestLock/incident (5.00s)
    --- FAIL: TestLock/twin (5.00s)
=== RUN   TestSwap
=== RUN   TestSwap/incident
    kernel_test.go:121: no swap can be made here: exit status 1
--- PASS: TestSwap (0.10s)
    --- SKIP: TestSwap/incident (0.10s)
=== RUN   TestServer
=== RUN   TestServer/incident
    scene_test.go:200: mariadbd ended at once
--- FAIL: TestServer (0.10s)
    --- FAIL: TestServer/incident (0.10s)
`

func TestMerge(t *testing.T) {
	noted := []Run{{Test: "TestLock/incident", Right: true}, {Test: "TestLock/twin", Right: true}, {Test: "TestHung/incident", Right: true}}
	got := map[string]Run{}
	for _, r := range Merge(noted, output+"=== RUN   TestHung\n=== RUN   TestHung/incident\npanic: test timed out after 20m0s\n") {
		got[r.Test] = r
	}
	for name, want := range map[string]Run{
		"TestLock/incident":   {Right: true},
		"TestLock/twin":       {Why: `at the top stands "log/flush", want "lock/blocked"`},
		"TestSwap/incident":   {Skipped: "no swap can be made here: exit status 1"},
		"TestServer/incident": {Why: "mariadbd ended at once"},
		"TestHung/incident":   {Why: "panic: test timed out after 20m0s"},
	} {
		if r := got[name]; r.Test != name || r.Right != want.Right || r.Why != want.Why || r.Skipped != want.Skipped {
			t.Errorf("%s: %+v, want %+v", name, r, want)
		}
	}
	if len(got) != 5 {
		t.Errorf("%d runs of 5", len(got))
	}
}

// A run that a kill cut off in the middle of its line is none, and those after it count.
func TestALineThatWasCutOff(t *testing.T) {
	name := filepath.Join(t.TempDir(), "runs")
	for _, r := range []string{"a", "b"} {
		if err := Append(name, Run{Test: r, Run: 1}); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data[:len(data)-7], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Append(name, Run{Test: "c", Run: 1}); err != nil {
		t.Fatal(err)
	}
	all, torn, err := Read(name)
	if err != nil || torn != 1 || len(all) != 2 || all[0].Test != "a" || all[1].Test != "c" {
		t.Errorf("%+v, %d torn, %v", all, torn, err)
	}
	if all, torn, err := Read(name + ".none"); err != nil || torn != 0 || all != nil {
		t.Errorf("of no file: %+v, %d, %v", all, torn, err)
	}
}
