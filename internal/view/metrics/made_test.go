package metrics

import (
	"strings"
	"testing"
	"time"

	"plumb/internal/advise"
	"plumb/internal/backup/known"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/internal/rule"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/watch"
)

// What is fed in these tests is made up; the tests that need a real feed run a
// real plumb in test/watchmetrics.

var (
	db   = stack.Ref{Kind: "mysql", Name: "3306"}
	disk = stack.Ref{Kind: "block", Name: "sda"}
)

// clock is a time that a test moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func (c *clock) pass(d time.Duration) { c.at = c.at.Add(d) }

// madeExporter is one that has seen a server on a disk, with everything known.
func madeExporter(t testing.TB, o Options) (*Exporter, *clock) {
	t.Helper()
	c := &clock{time.Date(2026, 11, 25, 3, 12, 0, 0, time.UTC)}
	o.Catalog, o.Now = hosttest.Windows(t), c.now
	if o.Verdicts == nil {
		o.Verdicts = []string{"device/saturated", "lock/blocked", "log/flush"}
	}
	e := New(o)
	feed(e, c.at)
	return e, c
}

func feed(e *Exporter, at time.Time) {
	e.Picture(at, madePicture(at))
	block := series.Batch{Source: "block", Every: time.Second, At: at, Took: 3 * time.Millisecond}
	block.Set(disk, "reads", 1000)
	block.Set(disk, "read_ms", 2500)
	block.Set(disk, "in_flight", 3)
	e.Batch(block)
	status := series.Batch{Source: "mysql:3306 status", Every: time.Second, At: at}
	status.Set(db, "questions", 77)
	status.Set(db, "row_lock_ms", 1500)
	status.Set(db, "checkpoint_age_ratio", .5)
	status.Set(stack.Ref{Kind: "process", Name: "812"}, "cpu_user_ms", 9000)
	status.Set(stack.Ref{Kind: "process", Name: "1"}, "cpu_user_ms", 1)
	status.Statements = []series.Statement{
		{Of: db, Database: "shop", ID: "cheap", Calls: 9, Seconds: 1},
		{Of: db, Database: "shop", ID: "long", Text: "SELECT ?", Calls: 3, Seconds: 8},
		{Of: db, ID: series.UnlistedID, Rest: true, Calls: 900, Seconds: 99}, // which is no counter
	}
	e.Batch(status)
	e.Moment(madeMoment(at))
	e.Checked([]advise.Finding{{Rule: &rule.Rule{ID: "mysql/sync-binlog-off", Harm: "danger"}, Cases: []advise.Case{{Things: []stack.Ref{db}}, {Things: []stack.Ref{db, disk}}}}})
	e.Kept([]protect.Point{
		{ID: "20261125T000000-1234", State: protect.Taken, Label: protect.Proven, Server: protect.Server{Ref: db}, Times: protect.Times{Snapshot: at.Add(-3 * time.Hour)}},
		{ID: "20261125T020000-1234", State: protect.Taken, Label: protect.Crash, Server: protect.Server{Ref: db}, Times: protect.Times{Snapshot: at.Add(-time.Hour)}},
		{ID: "20261125T030000-1234", State: protect.Taking, Label: protect.Crash, Server: protect.Server{Ref: db}, Times: protect.Times{Snapshot: at}},
	}, nil)
	hour := func(n int) time.Time { return at.Truncate(time.Hour).Add(time.Duration(n) * time.Hour) }
	e.Recalled([]known.Place{
		{URL: "file:///mnt/nas", Servers: []known.Server{{Name: "mysql:3306", Newest: hour(-6), Ends: []time.Time{hour(-30), hour(-6)}}, {Name: "command:dump"}}},
		{URL: "s3://b", Listed: hour(-1), Unusable: 2, Servers: []known.Server{{Name: "mysql:3306", Backups: 7, Newest: hour(-5), Restored: hour(-4)}}},
	})
}

func madePicture(at time.Time) *stack.Stack {
	s := &stack.Stack{TakenAt: at}
	var o stack.Observation
	o.New("host", "host").Set("hostname", stack.Text("db1"), "made")
	o.New("host", "host").Set("memory_total", stack.Int(1<<30), "made")
	o.New("process", "812")
	o.New("mysql", "3306").Link("process", stack.Ref{Kind: "process", Name: "812"})
	b := o.New("block", "sda")
	b.Set("model", stack.Text("QEMU \"disk\""), "made")
	b.Set("servers", stack.List([]string{"mysql:3306"}), "made")
	p := o.New("points", "mysql:3306")
	p.Set("in_policy", stack.Bool(true), "made")
	p.Set("failing", stack.List([]string{"drill: no memory"}), "made")
	s.Add("made", o)
	return s
}

func madeMoment(at time.Time) watch.Moment {
	return watch.Moment{At: at, Window: 5 * time.Second,
		Servers:  []watch.Server{{Ref: db, Product: "mariadb", Title: "MariaDB 10.11", Up: true, Unknown: []watch.UnknownVerdict{{ID: "log/flush"}}}},
		Verdicts: []watch.Verdict{{ID: "lock/blocked", Server: db, Since: at.Add(-time.Minute), Share: &watch.Interval{Value: .6, Low: .4, High: .8}}},
		Tree:     []watch.Node{{Of: disk, Values: []watch.Rate{{Name: "read_response", Value: 800}, {Name: "reads_rate", Value: 5}}}},
	}
}

func stackRef(kind, name string) stack.Ref { return stack.Ref{Kind: kind, Name: name} }

// pageOf is what a scrape would give.
func pageOf(t testing.TB, e *Exporter) string {
	t.Helper()
	var b strings.Builder
	if err := e.Text(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
