package counted

import (
	"os"
	"path/filepath"
	"strings"
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

func TestTable(t *testing.T) {
	soon, late := 12.3, 31.0
	var b strings.Builder
	err := Table(&b, []Run{
		{Test: "TestLock/twin", Run: 1, Right: true},
		{Test: "TestLock/incident", Run: 2, Wanted: "lock/blocked", Said: "lock/blocked", First: "lock/blocked", All: []string{"lock/blocked", "log/flush"}, Right: true, Seconds: &late},
		{Test: "TestLock/incident", Run: 1, Wanted: "lock/blocked", Said: "lock/blocked", First: "lock/blocked", Right: true, Seconds: &soon},
		{Test: "TestFlush/incident", Run: 1, Wanted: "log/flush", Said: "device/saturated", First: "device/saturated", Seconds: &soon},
		{Test: "TestFlush/twin", Run: 1, Said: "cpu/busy", First: "cpu/busy", Right: true},
		{Test: "TestSwap/incident", Run: 1, Skipped: "no swap"},
	})
	if err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{"incidents  2 of 3 right (21 to 94 %, 95 %)", "twins      1 of 2 with a verdict", "raised     1 of those right later than 25 s; the last was Lock, run 2, after 31.0 s", "not run    1", "log/flush"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if lines := strings.Split(text, "\n"); !strings.HasPrefix(lines[1], "Flush") || !strings.Contains(lines[1], "WRONG") || !strings.HasPrefix(lines[3], "Lock") {
		t.Errorf("\n%s", text)
	}
}
