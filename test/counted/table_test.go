package main

import (
	"strings"
	"testing"

	"plumb/test/watch/counted"
)

func TestTable(t *testing.T) {
	soon, late := 12.3, 31.0
	var b strings.Builder
	err := table(&b, []counted.Run{
		{Test: "TestLock/twin", Run: 1, Right: true},
		{Test: "TestLock/incident", Run: 2, Wanted: "lock/blocked", Said: "lock/blocked", First: "lock/blocked", All: []string{"lock/blocked", "log/flush"}, Right: true, Seconds: &late},
		{Test: "TestLock/incident", Run: 1, Wanted: "lock/blocked", Said: "lock/blocked", First: "lock/blocked", Right: true, Seconds: &soon},
		{Test: "TestFlush/incident", Run: 1, Wanted: "log/flush", Said: "device/saturated", First: "device/saturated", Seconds: &soon},
		{Test: "TestFlush/twin", Run: 1, Said: "cpu/busy", First: "cpu/busy", All: []string{"client/idle", "cpu/busy"}, Right: true},
		{Test: "TestFlush/twin", Run: 2, Said: "device/latency", First: "device/latency", All: []string{"device/latency"}, True: []string{"device/latency"}, Right: true},
		{Test: "TestSwap/incident", Run: 1, Skipped: "no swap"},
	})
	if err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{"incidents  2 of 3 right (21 to 94 %, 95 %); asked is 95 %; in 2 it was the first", "twins      1 of 3 with a false verdict; asked is 1 at most; 1 with one that is true", "raised     1 of those right later than 25 s; the last was Lock, run 2, after 31.0 s", "not run    1", "log/flush"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if lines := strings.Split(text, "\n"); !strings.HasPrefix(lines[1], "Flush") || !strings.Contains(lines[1], "WRONG") || !strings.HasPrefix(lines[4], "Lock") {
		t.Errorf("\n%s", text)
	}
}
