package sampler

import (
	"strings"
	"testing"

	"plumb/internal/series"
	"plumb/test/sandbox"
)

// TestVeryManySessions: all are counted, and the longest are listed. Each is a
// process, so there are fewer than the thousands that one MariaDB is tried with.
func TestVeryManySessions(t *testing.T) {
	sandbox.NeedTime(t, "it opens 1,000 sessions: make test-real")
	const many = 1000
	l := start(t, sandbox.PostgresOptions{Settings: "max_connections = 1050\nshared_buffers = 64MB"})
	l.Busy(many, "SELECT pg_sleep(3600)")
	if b := l.Counted(many); len(b.Sessions) != series.MostSessions {
		t.Errorf("%d sessions are listed, want %d", len(b.Sessions), series.MostSessions)
	}
}

// TestVeryManyTables: what is read of a database with ten thousand tables is whole,
// or says that it is not.
func TestVeryManyTables(t *testing.T) {
	sandbox.NeedTime(t, "it makes 10,000 tables: make test-real")
	l := start(t, sandbox.PostgresOptions{Settings: settings + "\nfsync = off"}) // its last checkpoint has 40,000 files
	l.Exec("CREATE EXTENSION pg_stat_statements", `CREATE PROCEDURE many() LANGUAGE plpgsql AS $$ BEGIN
FOR i IN 1..10000 LOOP
EXECUTE format('CREATE TABLE t%s (id int PRIMARY KEY, v int, w int)', i);
EXECUTE format('CREATE INDEX one%s ON t%s (v)', i, i);
EXECUTE format('CREATE INDEX two%s ON t%s (v, w)', i, i);
IF i % 100 = 0 THEN COMMIT; END IF;
END LOOP; END $$`, "CALL many()")
	for _, part := range []string{"status", "sessions", "io", "statements", "texts"} {
		l.Must(part)
	}
	all, err := l.of.Indexes(t.Context(), l.Host, "postgres")
	t.Logf("%d indexes; %v", len(all), err)
	if err == nil {
		t.Error("it does not say that it has not looked at all indexes")
	}
	for _, x := range all {
		if !strings.HasPrefix(x.Name, "one") && (!strings.HasPrefix(x.Name, "two") || !x.Unread) {
			t.Fatalf("%+v can be done without", x)
		}
	}
	l.Must("status")
}
