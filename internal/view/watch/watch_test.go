package watch_test

import (
	"strings"
	"testing"
	"time"

	"plumb/internal/host/hosttest"
	"plumb/internal/rule"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/view/page"
	"plumb/internal/view/schema"
	"plumb/internal/view/viewtest"
	view "plumb/internal/view/watch"
	"plumb/internal/watch"
)

var (
	at   = time.Date(2026, 11, 25, 3, 12, 5, 0, time.UTC)
	db   = stack.Ref{Kind: "mysql", Name: "3306"}
	disk = stack.Ref{Kind: "block", Name: "sda"}
)

func number(f float64) *float64 { return &f }

// moment is one with a chain of two limits, made for this test.
func moment() watch.Moment {
	saturated := watch.Verdict{ID: "device/saturated", Server: db, Things: []stack.Ref{disk}, Title: "sda is saturated: requests take 6.2 times as long as unloaded",
		Say:      "Requests to sda take 6.2 times as long as when it has nothing else to do. Of what it can do, 99.8 % is in use; 11 requests are under way on average.",
		Share:    &watch.Interval{Value: 0.78, Low: 0.7, High: 0.84},
		Evidence: []rule.Evidence{{Of: disk, Name: "response_ratio", Fact: stack.Fact{Value: stack.Float(6.2)}}, {Of: db, Name: "io_wait", Fact: stack.Fact{Value: stack.Float(0.7)}}},
		Against:  []watch.Against{{Says: "the device also has work of others", Holds: rule.Quiet}, {Says: "the requests have become larger", Holds: rule.Unknown}},
		Effects:  []string{"log/flush"}, Rules: []string{"mysql/buffer-pool-default"}, Do: []string{"read less: a larger buffer pool, or an index"}, Since: at.Add(-time.Minute)}
	flush := watch.Verdict{ID: "log/flush", Server: db, Title: "commits wait for the log of mysql:3306", Say: "40 % of the active time goes into waiting until a log is durable.",
		Share: &watch.Interval{Value: 0.4, Low: 0.32, High: 0.48}, Causes: []string{"device/saturated"}, Against: []watch.Against{{Says: "the processor is what is short", Holds: rule.Fires}}, Since: at.Add(-time.Minute)}
	server := watch.Server{Ref: db, Product: "mariadb", Title: "MariaDB 10.11.14", Up: true, Active: number(12),
		Classes:  []watch.Share{{Class: series.ClassRead, Of: watch.Interval{Value: 0.5, Low: 0.44, High: 0.56}}, {Class: series.ClassLog, Of: watch.Interval{Value: 0.4, Low: 0.32, High: 0.48}}},
		Rates:    []watch.Rate{{Name: "commits_rate", Label: "transactions", Value: 812.4, Unit: "rate"}, {Name: "redo_written_rate", Label: "log written", Value: 3.1e6, Unit: "bytes/s"}},
		Sessions: []series.Session{{Of: db, ID: 9, User: "app", Active: true, Class: series.ClassRead, Wait: "wait/io/table/sql/handler", For: 3 * time.Second, Text: "SELECT c FROM t WHERE id = ?", BlockedBy: []int64{7}}},
		Statements: []watch.StatementChange{{Statement: series.Statement{Of: db, ID: "1f", Text: "SELECT c FROM t WHERE id = ?\x1b[2J", Calls: 48000, Seconds: 400}, Over: 58 * time.Second, Share: 0.8, SlowerCalls: number(120), MoreCalls: number(-3)},
			{Statement: series.Statement{Of: db, ID: "rest", Rest: true, Calls: 10, Seconds: 1}, Share: 0.002}},
		Ruled:   []watch.Ruled{{ID: "cpu/busy", Why: "db.cpu_stall = 2 %"}},
		Unknown: []watch.UnknownVerdict{{ID: "intruder/others", Missing: []rule.Missing{{Of: disk, Name: "others", Why: "read /proc/17/io: permission denied", Hint: "run as root"}}}}}
	return watch.Moment{Version: 1, At: at, Window: 5 * time.Second, Hostname: "db1", Servers: []watch.Server{server}, Verdicts: []watch.Verdict{saturated, flush},
		Timeline: []watch.Span{{ID: "device/saturated", Server: db, Title: "sda is saturated", From: at.Add(-time.Minute)}},
		Tree:     []watch.Node{{Of: db, Label: "MariaDB 10.11.14", Verdict: "log/flush"}}, Gaps: []series.Gap{{Of: disk, Name: "nvme_used", Why: "nvme: not installed", Hint: "apt-get install nvme-cli"}}}
}

func TestScreenOfAMoment(t *testing.T) {
	got := view.Text(moment(), hosttest.Windows(t), page.Screen{Width: 80})
	viewtest.Golden(t, "moment.txt", got)
	viewtest.Fits(t, "a moment", got, 80)
	if strings.Contains(got, "\x1b") {
		t.Error("a statement drives the terminal")
	}
}

// TestNamesOnTheScreenAreOneLine: nobody's name goes on as if Plumb said the rest.
func TestNamesOnTheScreenAreOneLine(t *testing.T) {
	m, forged := moment(), "x\nforged"
	m.Hostname += forged
	m.Servers[0].Ref.Name += forged
	m.Servers[0].Title += forged
	m.Servers[0].Sessions[0].User += forged
	m.Gaps[0].Why += forged
	for i := range m.Verdicts {
		m.Verdicts[i].Server = m.Servers[0].Ref
		m.Verdicts[i].Title += forged
		m.Verdicts[i].Say += forged
	}
	got := strings.Join(strings.Fields(view.Text(m, hosttest.Windows(t), page.Screen{Width: 80})), " ")
	if all, one := strings.Count(got, "forged"), strings.Count(got, "x; forged"); all < 9 || one != all {
		t.Errorf("%d of %d names are on one line: %s", one, all, got)
	}
}

// TestScreenOfPlans has what was asked of a server besides: plans, and indexes.
func TestScreenOfPlans(t *testing.T) {
	m := viewtest.Moment(9)
	m.Servers = m.Servers[:1]
	m.Servers[0].Statements = m.Servers[0].Statements[:3]
	m.Servers[0].Statements = append(m.Servers[0].Statements, watch.StatementChange{Statement: series.Statement{ID: "own", Text: series.OwnMark + "what Plumb itself asks", Calls: 40}, Over: 20 * time.Second, Share: 0.01})
	m.Servers[0].Sessions, m.Verdicts, m.Gaps = nil, nil, nil
	viewtest.Golden(t, "plans.txt", view.Text(m, hosttest.Windows(t), page.Screen{Width: 80}))
	viewtest.FitsSchema(t, schema.Of("watch"), view.Document(m, hosttest.Windows(t)))
}

// TestOwnStatementsAreShown: they come last, so neither one that costs nothing nor
// many that cost much may hide them.
func TestOwnStatementsAreShown(t *testing.T) {
	own := watch.StatementChange{Statement: series.Statement{ID: "own", Text: series.OwnMark + "what Plumb itself asks"}, Share: 0.2}
	for _, others := range [][]float64{{0.8, 0.001}, {0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}} {
		m := viewtest.Moment(1)
		m.Servers = m.Servers[:1]
		m.Servers[0].Statements = nil
		for _, share := range others {
			m.Servers[0].Statements = append(m.Servers[0].Statements, watch.StatementChange{Statement: series.Statement{ID: "other", Text: "SELECT 1"}, Share: share})
		}
		m.Servers[0].Statements = append(m.Servers[0].Statements, own)
		if got := view.Text(m, hosttest.Windows(t), page.Screen{Width: 80}); !strings.Contains(got, "Plumb's own") {
			t.Errorf("beside statements of %v of the time, Plumb's own do not show:\n%s", others, got)
		}
	}
}

func TestScreensWithLittle(t *testing.T) {
	cat := hosttest.Windows(t)
	quiet := moment()
	quiet.Verdicts = nil
	brief := moment()
	brief.Verdicts, brief.Servers[0].Brief = nil, []string{"log/flush"}
	down := moment()
	down.Verdicts, down.Servers = nil, []watch.Server{{Ref: db, Title: "MariaDB", Unknown: []watch.UnknownVerdict{{ID: "lock/blocked"}}}}
	s := page.Screen{Width: 80}
	viewtest.Golden(t, "little.txt", view.Text(quiet, cat, s)+"---\n"+view.Text(brief, cat, s)+"---\n"+view.Text(down, cat, s)+"---\n"+view.Text(watch.Moment{At: at}, cat, s))
}

func TestDocumentOfAMoment(t *testing.T) {
	cat := hosttest.Windows(t)
	for _, m := range []watch.Moment{moment(), {At: at, Version: 1}} {
		viewtest.FitsSchema(t, schema.Of("watch"), view.Document(m, cat))
	}
}
