package viewtest

import (
	"fmt"
	"math"
	"time"

	"plumb/internal/rule"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/watch"
)

// MomentTime is when the first of the made moments is.
var MomentTime = time.Date(2026, 11, 25, 3, 12, 5, 0, time.UTC)

// Hostile is what a stranger calls himself to drive a terminal or a page.
const Hostile = "\x1b]0;owned\x07\x1b[2J<img src=x onerror=\"document.title='owned'\">\u202egnp.\u200b名前名前\u009b31m\r\n"

func ref(kind, name string) stack.Ref { return stack.Ref{Kind: kind, Name: name} }

func some(f float64) *float64 { return &f }

// Moment is the nth of a made feed of one a second: a MariaDB that a disk limits
// from the 5th on, a PostgreSQL with strings of a stranger, a MongoDB that is
// down; gaps, a verdict that ended, things nobody can tell.
func Moment(n int) watch.Moment {
	at := MomentTime.Add(time.Duration(n) * time.Second)
	wave := math.Sin(float64(n) / 7)
	m := watch.Moment{Version: 1, At: at, Window: 5 * time.Second, Hostname: "db1",
		Servers:  []watch.Server{madeMaria(wave), madePostgres(wave), {Ref: ref("mongo", "27017"), Product: "mongodb", Title: "MongoDB 8.0.4", Up: false}},
		Tree:     madeTree(n, wave),
		Timeline: []watch.Span{{ID: "lock/blocked", Server: ref("postgres", "5432"), Title: "sessions wait for a lock that 4711 holds", Share: &watch.Interval{Value: 0.31, Low: 0.22, High: 0.41}, From: MomentTime.Add(-40 * time.Minute), To: MomentTime.Add(-31 * time.Minute)}},
		Gaps: []series.Gap{{Of: ref("block", "sda"), Name: "nvme_used", Why: "nvme: not installed", Hint: "apt-get install nvme-cli"},
			{Of: ref("mongo", "27017"), Why: "connect to 127.0.0.1:27017: connection refused", Hint: "systemctl start mongod"}}}
	if n >= 5 {
		m.Verdicts = madeVerdicts()
		m.Timeline = append(m.Timeline, watch.Span{ID: "device/saturated", Server: ref("mysql", "3306"), Things: []stack.Ref{ref("block", "sda")}, Title: m.Verdicts[0].Title, Share: m.Verdicts[0].Share, From: MomentTime.Add(5 * time.Second)},
			watch.Span{ID: "log/flush", Server: ref("mysql", "3306"), Title: m.Verdicts[1].Title, Share: m.Verdicts[1].Share, From: MomentTime.Add(5 * time.Second)})
	}
	return m
}

// Unlike is such a moment whose statements stand in another order by each of their figures: the costliest but one
// examined most rows, the next grew most, and the one behind it touched most bytes.
func Unlike(n int) watch.Moment {
	m := Moment(n)
	all := m.Servers[0].Statements
	all[1].Examined, all[2].SlowerCalls, all[3].Bytes = some(5e9), some(900), some(3e9)
	return m
}

func madeVerdicts() []watch.Verdict {
	db, sda := ref("mysql", "3306"), ref("block", "sda")
	return []watch.Verdict{{ID: "device/saturated", Server: db, Things: []stack.Ref{sda}, Title: "sda is saturated: requests take 6.2 times as long as unloaded",
		Say:      "Requests to sda take 6.2 times as long as when it has nothing else to do. Of what it can do, 99.8 % is in use; 11 requests are under way on average.",
		Share:    &watch.Interval{Value: 0.78, Low: 0.7, High: 0.84},
		Evidence: []rule.Evidence{{Of: sda, Name: "response_ratio", Fact: stack.Fact{Value: stack.Float(6.2)}}, {Of: db, Name: "io_wait", Fact: stack.Fact{Value: stack.Float(0.7)}}},
		Against:  []watch.Against{{Says: "the device also has work of others", Holds: rule.Quiet}, {Says: "the requests have become larger", Holds: rule.Unknown}},
		Effects:  []string{"log/flush"}, Rules: []string{"mysql/buffer-pool-default"}, Do: []string{"read less: a larger buffer pool, or an index"}, Since: MomentTime.Add(5 * time.Second)},
		{ID: "log/flush", Server: db, Title: "commits wait for the log of mysql:3306", Say: "40 % of the active time goes into waiting until a log is durable.",
			Share: &watch.Interval{Value: 0.4, Low: 0.32, High: 0.48}, Causes: []string{"device/saturated"}, Against: []watch.Against{{Says: "the processor is what is short", Holds: rule.Fires}}, Since: MomentTime.Add(5 * time.Second)}}
}

func madeMaria(wave float64) watch.Server {
	db := ref("mysql", "3306")
	s := watch.Server{Ref: db, Product: "mariadb", Title: "MariaDB 10.11.14", Up: true, Active: some(12 + 3*wave),
		Classes: []watch.Share{{Class: series.ClassCPU, Of: watch.Interval{Value: 0.1, Low: 0.06, High: 0.15}}, {Class: series.ClassRead, Of: watch.Interval{Value: 0.5, Low: 0.44, High: 0.56}}, {Class: series.ClassLog, Of: watch.Interval{Value: 0.4, Low: 0.32, High: 0.48}}},
		Rates:   []watch.Rate{{Name: "commits_rate", Label: "transactions", Value: 812 + 100*wave, Unit: "rate"}, {Name: "questions_rate", Label: "statements", Value: 12345 + 1000*wave, Unit: "rate"}, {Name: "redo_written_rate", Label: "log written", Value: 3.1e6, Unit: "bytes/s"}},
		Ruled:   []watch.Ruled{{ID: "cpu/busy", Why: "db.cpu_stall = 2 %"}},
		Unknown: []watch.UnknownVerdict{{ID: "intruder/others", Missing: []rule.Missing{{Of: ref("block", "sda"), Name: "others", Why: "read /proc/17/io: permission denied", Hint: "run as root"}}}}}
	for i := range 30 {
		x := series.Session{Of: db, ID: int64(1000 + i), User: "app", Client: "10.0.0.7", Database: "shop", Active: true, Class: series.ClassRead, Wait: "wait/io/table/sql/handler", For: time.Duration(30-i) * 100 * time.Millisecond, Text: fmt.Sprintf("SELECT c FROM sbtest%d WHERE id = ?", i+1)}
		if i == 3 {
			x.BlockedBy, x.Class = []int64{1000}, series.ClassLock
		}
		s.Sessions = append(s.Sessions, x)
		s.Statements = append(s.Statements, watch.StatementChange{Statement: series.Statement{Of: db, Database: "shop", ID: fmt.Sprint(i), Text: x.Text, Calls: float64(48000 - 1000*i), Seconds: float64(400 - 10*i), Examined: some(1e6), Returned: some(48000)}, Over: time.Minute, Share: 0.2 / float64(i+1), SlowerCalls: some(120 - 10*float64(i)), MoreCalls: some(-3)})
	}
	s.Plans = []series.Plan{{Of: db, Statement: "0", By: "a sample of it that the server kept", Steps: []series.PlanStep{{Does: "sorts", Mark: true}, {Depth: 1, Does: "reads all rows of sbtest1", Rows: some(98665), Cost: some(10091.5), Mark: true}}},
		{Of: db, Statement: "1", Why: "explaining runs functions that others may have written, with the rights of our user", Hint: "plumb watch --grants"}}
	s.Indexes = &watch.Indexes{List: []series.Index{{Of: db, Database: "shop", Table: "orders", Name: "customer", DoneBy: "customer_date"}, {Of: db, Database: "shop", Table: "items", Name: Hostile, Unread: true, Since: MomentTime.Add(-90 * 24 * time.Hour)}},
		Why: "which indexes of mysql:3306 are not read: the instrument is off"}
	return s
}

func madePostgres(wave float64) watch.Server {
	db := ref("postgres", "5432")
	return watch.Server{Ref: db, Product: "postgresql", Title: "PostgreSQL 17.2", Up: true, Active: some(2 + wave),
		Rates: []watch.Rate{{Name: "commits_rate", Label: "transactions", Value: 31 + 3*wave, Unit: "rate"}},
		Sessions: []series.Session{{Of: db, ID: 4711, User: Hostile, Client: Hostile, Database: Hostile, Class: series.ClassOther, Wait: Hostile, For: 3 * time.Hour, InTx: 3 * time.Hour, Text: Hostile},
			{Of: db, ID: 4712, User: "名前名前名前名前", Active: true, Class: series.ClassCPU, For: time.Second, Text: "SELECT '名前', \t\x00 e\u0301 FROM \"👩‍👩‍👧‍👦\""}},
		Statements: []watch.StatementChange{{Statement: series.Statement{Of: db, ID: "x", Database: Hostile, Text: "SELECT " + Hostile, Calls: 3, Seconds: 1, Bytes: some(81920)}, Over: 20 * time.Second, Share: 0.9}, {Statement: series.Statement{Of: db, ID: "rest", Rest: true, Calls: 10, Seconds: 0.1}, Over: 20 * time.Second, Share: 0.1}}}
}

func madeTree(n int, wave float64) []watch.Node {
	limit := func(id string) string {
		if n < 5 {
			return ""
		}
		return id
	}
	rate := func(name, label string, v float64, unit string) watch.Rate {
		return watch.Rate{Name: name, Label: label, Value: v, Unit: unit}
	}
	disk := []watch.Rate{rate("reads_rate", "reads", 900+50*wave, "rate"), rate("writes_rate", "writes", 300, "rate"), rate("read_response", "read takes", 6200, "us"), rate("response_ratio", "times unloaded", 6.2, "float"), rate("capacity_used", "of capacity", 0.998, "ratio")}
	return []watch.Node{
		{Of: ref("mysql", "3306"), Label: "MariaDB 10.11.14", Verdict: limit("log/flush")},
		{Of: ref("process", "812"), Depth: 1, Label: "process 812", Values: []watch.Rate{rate("threads", "threads", 41, "int"), rate("rss", "memory", 1.5e9, "bytes")}},
		{Of: ref("filesystem", "/var/lib/mysql"), Depth: 1, Label: "/var/lib/mysql (ext4)", Values: []watch.Rate{rate("free", "free", 81e9, "bytes"), rate("used_percent", "used", 0.61, "ratio")}},
		{Of: ref("block", "sda"), Depth: 2, Label: "sda", Values: disk, Verdict: limit("device/saturated")},
		{Of: ref("postgres", "5432"), Label: "PostgreSQL 17.2"},
		{Of: ref("filesystem", "/srv/"+Hostile), Depth: 1, Label: "/srv/" + Hostile, Values: []watch.Rate{rate("free", "free", 9e9, "bytes")}},
		{Of: ref("block", "sda"), Depth: 2, Label: "sda", Values: disk},
		{Of: ref("mongo", "27017"), Label: "MongoDB 8.0.4"},
	}
}
