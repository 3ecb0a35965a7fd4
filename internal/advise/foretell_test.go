package advise_test

import (
	"slices"
	"strings"
	"testing"

	"plumb/internal/advise"
	"plumb/internal/stack"
)

// foretold judges a stack by the embedded rules and says what is foretold.
func foretold(t *testing.T, s *stack.Stack) ([]advise.Foretold, advise.Advice) {
	t.Helper()
	base, cat := embedded(t)
	now := base.Judge(s)
	a := advise.From(now, s, cat, advise.Options{})
	return advise.Foretell(base.Judge, now, a, s, cat), a
}

// postgresHost is a PostgreSQL 15 with its defaults, under a load for which
// its cache is too small.
func postgresHost() (*stack.Stack, *stack.Thing) {
	var see stack.Observation
	see.New("host", "h")
	m := see.New("memory", "host")
	m.Set("limit", stack.Int(16<<30), "test")
	for name, n := range map[string]int64{"spare": 12 << 30, "expected": 1 << 30, "known": 1 << 30, "servers": 1} {
		m.Set(name, stack.Int(n), "test")
	}
	db := see.New("postgres", "5432")
	for name, v := range map[string]stack.Value{
		"version": stack.Text("15.18"), "version_num": stack.Int(150018), "uptime": stack.Int(7200), "replication_role": stack.Text("primary"),
		"shared_buffers": stack.Int(128 << 20), "work_mem": stack.Int(4 << 20), "max_connections": stack.Int(100), "data_size": stack.Int(8 << 30), "fsync": stack.Bool(true), "synchronous_commit": stack.Text("on"),
		"commit_delay": stack.Int(0), "wal_compression": stack.Text("off"), "max_wal_size": stack.Int(1 << 30), "checkpoint_timeout": stack.Int(300),
		"database_window": stack.Int(7200), "blocks_read_per_second": stack.Float(5000), "transactions_per_second": stack.Float(1000),
		"wal_window": stack.Int(7200), "wal_bytes_per_hour": stack.Int(1 << 20), "wal_fpi_share": stack.Float(0.1),
		"wal_clients_waiting": stack.Float(0), "wal_clients_busy": stack.Float(8), "wal_flushes_per_second": stack.Float(300),
		"checkpoints_window": stack.Int(7200), "checkpoints_requested": stack.Int(0), "checkpoints_requested_share": stack.Float(0), "checkpoints_per_hour": stack.Float(12),
	} {
		db.Set(name, v, "test")
	}
	db.Link("memory", m.Ref)
	s := &stack.Stack{}
	s.Add("test", see)
	return s, s.Find(db.Ref)
}

// TestForetellsWhatTheLoadDecides: a server whose cache grows is asked again
// about its commits and its WAL, and not about what fires or is settled.
func TestForetellsWhatTheLoadDecides(t *testing.T) {
	s, _ := postgresHost()
	all, a := foretold(t, s)
	if !slices.ContainsFunc(a.Plan.Steps, func(p advise.Step) bool { return p.Knob.Name == "shared_buffers" }) {
		t.Fatalf("the plan has no shared_buffers: %+v", a.Plan.Steps)
	}
	if len(all) != 1 || all[0].Server.Kind != "postgres" || !all[0].Restart || all[0].Idle {
		t.Fatalf("foretold %+v", all)
	}
	for _, id := range []string{"postgres/commits-wait-for-wal", "postgres/wal-compression-off", "postgres/max-wal-size-small"} {
		if !slices.Contains(all[0].Rules, id) {
			t.Errorf("%s is not foretold: %v", id, all[0].Rules)
		}
	}
	if slices.Contains(all[0].Rules, "cross/postgres-shared-buffers-default") {
		t.Error("what fires already is foretold")
	}
	if about := strings.Join(all[0].About, " "); !strings.Contains(about, "WAL") || !strings.Contains(about, "commits") || strings.Contains(about, "time") {
		t.Errorf("about %q", about)
	}
}

func TestForetellsNothingThatIsSettled(t *testing.T) {
	s, db := postgresHost()
	db.Set("wal_compression", stack.Text("lz4"), "test")
	db.Set("commit_delay", stack.Int(100), "test")
	untold := []string{"checkpoints_window", "checkpoints_requested", "checkpoints_requested_share", "checkpoints_per_hour"}
	s.Gaps = append(s.Gaps, stack.Gap{Of: db.Ref, Facts: untold, Why: "not told"})
	for _, name := range untold {
		delete(db.Facts, name)
	}
	all, _ := foretold(t, s)
	for _, f := range all {
		for _, id := range []string{"postgres/commits-wait-for-wal", "postgres/wal-compression-off", "postgres/max-wal-size-small"} {
			if slices.Contains(f.Rules, id) {
				t.Errorf("%s is foretold, though a setting or what the server tells rules it out", id)
			}
		}
	}
}

// TestForetellsOfIdleServers: without advice a server that works is judged
// already; one that does nothing is judged when it works.
func TestForetellsOfIdleServers(t *testing.T) {
	s, db := postgresHost()
	db.Set("shared_buffers", stack.Int(4<<30), "test")
	if all, _ := foretold(t, s); len(all) != 0 {
		t.Errorf("of a server that works: %+v", all)
	}
	db.Set("transactions_per_second", stack.Float(0.5), "test")
	for _, name := range []string{"wal_clients_waiting", "wal_clients_busy", "wal_flushes_per_second"} {
		db.SetAbsent(name, "test") // as of a server on which fewer than four clients are busy
	}
	all, _ := foretold(t, s)
	if len(all) != 1 || !all[0].Idle || all[0].Restart || !slices.Contains(all[0].Rules, "postgres/commits-wait-for-wal") {
		t.Errorf("of one that is idle: %+v", all)
	}
}

// TestServersThatHaveJustStartedAreNotCalledIdle: what they have counted says nothing yet, whatever their clients do.
func TestServersThatHaveJustStartedAreNotCalledIdle(t *testing.T) {
	s, db := postgresHost()
	db.Set("shared_buffers", stack.Int(4<<30), "test")
	db.Set("uptime", stack.Int(36), "test")
	if all, _ := foretold(t, s); len(all) != 1 || !all[0].Young || all[0].Idle {
		t.Errorf("eight clients are busy on a server that started 36 s ago: %+v", all)
	}
	db.Set("uptime", stack.Int(7200), "test")
	db.Set("transactions_per_second", stack.Float(0.5), "test")
	if all, _ := foretold(t, s); len(all) != 0 {
		t.Errorf("eight clients wait for their commits on a server that ends few: %+v", all)
	}
}
