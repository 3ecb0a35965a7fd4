package points

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"plumb/internal/protect"
	"plumb/test/sandbox"
)

// counted are servers that count the statements by which somebody is locked or a backup is announced.
var counted = map[string]struct {
	family
	locking func(t *testing.T, b *bench) int
}{
	"mariadb": {families[0], func(t *testing.T, b *bench) int {
		n, err := strconv.Atoi(b.ask(t, "SELECT CAST(SUM(VARIABLE_VALUE) AS INT) FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME IN ('COM_FLUSH', 'COM_LOCK_TABLES', 'COM_BACKUP', 'COM_BACKUP_LOCK', 'COM_BACKUP_TABLE')"))
		must(t, err)
		return n
	}},
	"postgres": {family{name: "postgres", tables: families[1].tables, start: func(t *testing.T, b *sandbox.Box, data, log string) (*sandbox.Server, error) {
		return b.Postgres(sandbox.PostgresOptions{Port: sandbox.FreePort(t), Datadir: data, WALdir: log + "/wal", Settings: "shared_buffers = 64MB\nlogging_collector = on\nlog_statement = all"})
	}}, func(t *testing.T, b *bench) int {
		// What is logged later is written later: what came before a mark is there when the mark is.
		mark := fmt.Sprintf("mark %d", time.Now().UnixNano())
		b.ask(t, "SELECT '"+mark+"'")
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if text := logOf(t, b); bytes.Contains(text, []byte(mark)) {
				return len(locksPostgres.FindAll(text, -1))
			}
		}
		t.Fatalf("%q is not in the log", mark)
		return 0
	}},
}

// logOf reads what a PostgreSQL has logged.
func logOf(t *testing.T, b *bench) (all []byte) {
	files, err := filepath.Glob(b.server.Dir + "/log/*.log")
	must(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		all = append(all, text...)
	}
	return all
}

// locksPostgres are the statements that lock, wait for a checkpoint, or announce a backup.
var locksPostgres = regexp.MustCompile(`(?i)(statement|execute [^:]*): .*(\block\b|advisory|pg_backup_start|pg_start_backup|pg_switch_wal|\bcheckpoint\b)`)

// TestNobodyIsLocked: of a server that keeps all on one pool, a point is taken without a statement by which anybody waits. The server
// itself counts them, and counts those of a point that is taken with a protocol.
func TestNobodyIsLocked(t *testing.T) {
	for name, of := range counted {
		t.Run(name, func(t *testing.T) {
			b := on(t, grounds[1], of.family, 1024)
			plan := b.plan(t)
			had := of.locking(t, b)
			p, err := b.Take(t.Context(), plan, protect.TakeOptions{})
			must(t, err)
			if n := of.locking(t, b) - had; p.Mode != protect.ModeCrash || n != 0 || p.Times.Held != 0 {
				t.Errorf("mode %s: %d locking statements, held %s", p.Mode, n, p.Times.Held)
			}
			controls := 0
			for _, mode := range possible(plan) {
				if mode == protect.ModeCrash {
					continue
				}
				before := of.locking(t, b)
				_, err := b.Take(t.Context(), plan, protect.TakeOptions{Mode: mode})
				must(t, err)
				if of.locking(t, b) == before {
					t.Errorf("mode %s: what it types is not counted, and the count of nothing says nothing", mode)
				}
				controls++
			}
			if controls == 0 {
				t.Errorf("nothing but mode crash was tried: %q", possible(plan))
			}
		})
	}
}
