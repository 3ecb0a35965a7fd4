package sampler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"plumb/internal/engine/samplertest"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/test/sandbox"
)

// TestVeryManySessions: all are counted, and the longest are listed, also where the performance
// schema has an event of each that is under way. Where it is off, nothing is asked of it.
func TestVeryManySessions(t *testing.T) {
	sandbox.NeedTime(t, "it opens 5,000 sessions: make test-real")
	const many = 5000
	on := allOn + "\nperformance_schema_instrument = 'wait/synch/%/innodb/%=ON'" // without them latches are a gap
	for name, settings := range map[string]string{"Off": "", "On": on, "Events": on + "\nperformance_schema_instrument = 'wait/synch/cond/%=ON'"} {
		t.Run(name, func(t *testing.T) {
			l := start(t, sandbox.MySQLOptions{Settings: settings + "\nmax_connections = 5100\nback_log = 5100"})
			l.Busy(many, "DO SLEEP(3600)")
			if b := l.Must("status"); samplertest.Reads(b, "threads_connected") < many {
				t.Errorf("%v are connected", samplertest.Reads(b, "threads_connected"))
			}
			b := l.Counted(many)
			if len(b.Sessions) != series.MostSessions {
				t.Errorf("%d sessions are listed, want %d", len(b.Sessions), series.MostSessions)
			}
			soonest := time.Hour
			for range 5 {
				began := time.Now()
				_, _ = l.Take("sessions") // one that is late is an error
				soonest = min(soonest, time.Since(began))
			}
			if soonest > sample.Second*9/10 { // as long as a source of a second is waited for
				t.Errorf("to read them takes %v", soonest)
			}
			if settings == "" {
				return
			}
			l.Must("statements")
			if gaps := l.Must("files").Gaps; len(gaps) > 0 {
				t.Errorf("gaps: %v", gaps)
			}
			for _, s := range b.Sessions {
				if s.Class != series.ClassOther || name == "Events" && !strings.HasPrefix(s.Wait, "wait/synch/cond/") {
					t.Fatalf("the performance schema does not tell what it waits for: %+v", s)
				}
			}
		})
	}
}

// TestSessionsThatTheSchemaLost: a performance schema that has no room for all
// sessions does not make them fewer.
func TestSessionsThatTheSchemaLost(t *testing.T) {
	l := start(t, sandbox.MySQLOptions{Settings: "performance_schema = ON\nperformance_schema_max_thread_instances = 30\nperformance_schema_consumer_events_waits_current = ON"})
	l.Busy(60, "DO SLEEP(3600)")
	l.Must("status")
	l.Counted(60)
	if gaps := fmt.Sprint(l.Must("files").Gaps); !strings.Contains(gaps, "had no room for some sessions") {
		t.Errorf("gaps %v", gaps)
	}
}

// TestVeryManyTables: what is read of a server with ten thousand tables is whole,
// or says that it is not.
func TestVeryManyTables(t *testing.T) {
	sandbox.NeedTime(t, "it makes 10,000 tables: make test-real")
	l := start(t, sandbox.MySQLOptions{Settings: "performance_schema = ON\ninnodb_flush_log_at_trx_commit = 0\ninnodb_file_per_table = OFF\nsync_frm = OFF\ntable_open_cache = 4000"})
	l.Exec("CREATE DATABASE shop", "CREATE TABLE shop.p (id INT PRIMARY KEY)")
	for i := range 10_000 {
		l.Exec(fmt.Sprintf("CREATE TABLE shop.t%d (id INT PRIMARY KEY, v INT, w INT, KEY one (v), KEY two (v, w), KEY needed (w), FOREIGN KEY (w) REFERENCES shop.p (id))", i))
	}
	for _, part := range []string{"status", "sessions", "files", "history", "statements"} {
		l.Must(part)
	}
	all, err := l.of.Indexes(t.Context(), l.Host)
	t.Logf("%d indexes; %v", len(all), err)
	if err == nil {
		t.Error("it does not say that it has not looked at all indexes")
	}
	for _, x := range all {
		if x.Name != "one" && x.Name != "two" || x.Name == "two" && !x.Unread {
			t.Fatalf("%+v can be done without", x)
		}
	}
	l.Must("status")
}
