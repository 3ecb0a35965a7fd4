package capture

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/watch"
)

var start = time.Date(2026, 11, 25, 3, 0, 0, 0, time.UTC)

// A ring has the last five minutes, and before them the picture they are of.
func TestRing(t *testing.T) {
	var r Ring
	first, second := &stack.Stack{TakenAt: start}, &stack.Stack{TakenAt: start.Add(8 * time.Minute)}
	r.Picture(start, first)
	for i := range 600 {
		at := start.Add(time.Duration(i) * time.Second)
		if i == 480 {
			r.Picture(at, second)
		}
		r.Batch(series.Batch{Source: "block", At: at})
	}
	items := r.Items()
	if items[0].Picture != first || items[1].Batch == nil {
		t.Errorf("it begins with %+v", items[0])
	}
	if from, to := items[1].At, items[len(items)-1].At; to.Sub(from) != Before || to != start.Add(599*time.Second) {
		t.Errorf("it has %s to %s", from, to)
	}
	if len(items) != 1+301+1 {
		t.Errorf("%d items", len(items))
	}
}

func TestRingIsBounded(t *testing.T) {
	var r Ring
	for range 3 * mostItems {
		r.Batch(series.Batch{At: start})
	}
	if n := len(r.Items()); n > mostItems {
		t.Errorf("%d items", n)
	}
}

func TestTrigger(t *testing.T) {
	db := stack.Ref{Kind: "mysql", Name: "3306"}
	said := func(minutes int, ids ...string) watch.Moment {
		m := watch.Moment{At: start.Add(time.Duration(minutes) * time.Minute)}
		for _, id := range ids {
			m.Verdicts = append(m.Verdicts, watch.Verdict{ID: id, Server: db})
		}
		return m
	}
	var all Trigger
	only := Trigger{Only: []string{"log/flush"}}
	for i, c := range []struct {
		moment     watch.Moment
		all, flush string
	}{
		{said(0), "", ""},
		{said(1, "client/idle"), "", ""},
		{said(2, "device/saturated", "log/flush"), "device/saturated", "log/flush"},
		{said(3, "device/saturated", "log/flush"), "", ""}, // they go on
		{said(4), "", ""},                     // they end
		{said(5, "device/saturated"), "", ""}, // again, too soon
		{said(6, "device/saturated", "log/flush"), "log/flush", ""},
		{said(7), "", ""},
		{said(20, "device/saturated"), "device/saturated", ""},
	} {
		for who, want := range map[*Trigger]string{&all: c.all, &only: c.flush} {
			got := ""
			if v := who.Raised(c.moment); v != nil {
				got = v.ID
			}
			if got != want {
				t.Errorf("moment %d: %q, want %q", i, got, want)
			}
		}
	}
}

// What two servers suffer from at once, such as their disk, is captured for each, one after the other.
func TestTriggerOfTwoServers(t *testing.T) {
	a, b := stack.Ref{Kind: "mysql", Name: "3306"}, stack.Ref{Kind: "postgres", Name: "5432"}
	var trigger Trigger
	for i, want := range []stack.Ref{a, b, {}} {
		v := trigger.Raised(watch.Moment{At: start.Add(time.Duration(i) * watch.Length),
			Verdicts: []watch.Verdict{{ID: "device/saturated", Server: a}, {ID: "device/saturated", Server: b}, {ID: "log/flush", Server: a}}})
		if got := (stack.Ref{}); v != nil && v.Server != want || v == nil && want != got {
			t.Errorf("moment %d: %+v, want one of %s", i, v, want)
		}
	}
}

// The threads of this very process are real ones.
func TestThreads(t *testing.T) {
	live := host.NewLive(host.LiveOptions{})
	defer live.Close()
	text, err := Threads(t.Context(), live, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(text, fmt.Sprint(strings.Count(text, "capture.test"), " threads of process ", os.Getpid())) {
		t.Errorf("%s", text)
	}
	if _, err := Threads(t.Context(), live, 1<<30); err == nil {
		t.Error("a process that is not there has threads")
	}
}
