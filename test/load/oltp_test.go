package load_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// result is what the tests look at in a run's JSON.
type result struct {
	Server struct{ Product, Isolation string }
	Total  struct {
		Done, Reads, Writes, Other, Failed, Retried int64
	}
	Rate     struct{ Value float64 }
	Measured float64 `json:"measured_seconds"`
	Seed     string
	Open     *struct{ Offered, Served float64 } `json:"open_loop"`
	Marks    []struct{ Kind string }
	Series   []struct{ Warmup bool }
	Audit    []struct{ Name, Verdict string }
}

func TestOLTP(t *testing.T) {
	for _, engine := range []string{"mysql", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			at := args(server(t, engine), []string{"--tables=2", "--table_size=2000"})
			out, _ := plumb(t, 0, args([]string{"oltp", "oltp_read_write", "prepare"}, at)...)
			reads(t, out, `^oltp is ready: 2 tables, 4,000 rows`)
			out, _ = plumb(t, 0, args([]string{"oltp", "read_write", "run", "--threads=2", "--time=2", "--warmup=1", "--json", "--isolation=RC"}, at)...)
			var r result
			document(t, "load", out, &r)
			n, again := r.Total.Done, r.Total.Retried // a deadlock's victim had sent some of its queries already
			if reads, others := r.Total.Reads-14*n, r.Total.Writes+r.Total.Other-6*n; n == 0 ||
				reads < 0 || reads > 14*again || others < 0 || others > 6*again {
				t.Errorf("%+v: 20 queries each are wanted, 14 of them reads", r.Total)
			}
			if r.Server.Isolation != "READ COMMITTED" || r.Open != nil || r.Seed == "" || len(r.Series) < 3 || !r.Series[0].Warmup {
				t.Errorf("%+v", r)
			}
			out, _ = plumb(t, 0, args([]string{"oltp", "point_select", "run", "--rate=200", "--time=2"}, at)...)
			reads(t, out, `^response +done +per second`, `^service `, `200/s, Poisson`, `/s were due`)
			plumb(t, 0, args([]string{"oltp", "read_only", "warmup"}, at)...)
			out, errs := plumb(t, 0, args([]string{"oltp", "oltp_write_only", "run", "--report=sysbench", "--report-interval=1", "--max-time=2", "--num-threads=2"}, at)...)
			reads(t, out, `^\[ 1s \] thds: 2 tps: [\d.]+ qps: `, `^    transactions: +\d+ +\([\d.]+ per sec\.\)$`, `^         95th percentile: +[\d.]+$`)
			reads(t, errs, `^note: --max-time is called --time$`, `^warning: measured for 2(\.\d+)? s only`)
			_, errs = plumb(t, 3, args([]string{"oltp", "read_write", "run"}, server(t, engine), []string{"--tables=2", "--table-size=3000"})...)
			reads(t, errs, `^plumb: .*2000.*3000$`, `^hint: `)
			out, _ = plumb(t, 0, args([]string{"oltp", "read_write", "cleanup"}, at)...)
			reads(t, out, `^removed sbtest1, sbtest2$`)
			_, errs = plumb(t, 3, args([]string{"oltp", "read_write", "run"}, at)...)
			reads(t, errs, `^hint: plumb load oltp prepare`)
		})
	}
}

// The same seed and number of events: the same operations, whatever the
// number of threads.
func TestEventsAreTheSameForAnyNumberOfThreads(t *testing.T) {
	at := args(server(t, "mysql"), []string{"--tables=3", "--table-size=500"})
	plumb(t, 0, args([]string{"oltp", "read_only", "prepare"}, at)...)
	defer plumb(t, 0, args([]string{"oltp", "read_only", "cleanup"}, at)...)
	for _, threads := range []string{"1", "7"} {
		out, _ := plumb(t, 0, args([]string{"oltp", "read_only", "run", "--events=300", "--seed=5", "--json", "--threads", threads}, at)...)
		var r result
		document(t, "load", out, &r)
		if r.Total.Done != 300 || r.Seed != "5" {
			t.Errorf("%s threads: %+v", threads, r)
		}
	}
}

// works waits until plumb load has so many sessions at MariaDB.
func works(t *testing.T, sessions int) {
	t.Helper()
	db, err := servers.Server(t, "mysql").Open()
	must(t, err)
	defer db.Close()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var n int
		must(t, db.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = 'sbtest'").Scan(&n))
		if n >= sessions {
			return
		}
	}
	t.Fatal("it does not begin")
}

func TestInterruptShowsWhatWasMeasured(t *testing.T) {
	at := args(server(t, "mysql"), []string{"--tables=1", "--table-size=500"})
	plumb(t, 0, args([]string{"oltp", "read_only", "prepare"}, at)...)
	defer plumb(t, 0, args([]string{"oltp", "read_only", "cleanup"}, at)...)
	cmd := exec.Command(built.Path, args([]string{"load", "oltp", "read_only", "run", "--time=100", "--threads=2"}, at)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	must(t, cmd.Start())
	works(t, 2)
	time.Sleep(2 * time.Second) // something is measured
	must(t, cmd.Process.Signal(os.Interrupt))
	began := time.Now()
	cmd.Wait()
	if took := time.Since(began); took > 30*time.Second || cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("exit %d after %v", cmd.ProcessState.ExitCode(), took)
	}
	reads(t, out.String(), `^Reasons to doubt this result:$`, `interrupted after \d`, `^ +done +per second`)
	reads(t, errs.String(), `^plumb: oltp_read_only was interrupted after \d`)
}

func TestLedger(t *testing.T) {
	at := server(t, "postgres")
	book := filepath.Join(t.TempDir(), "run.ledger")
	tables := args(at, []string{"--tables=1", "--table-size=500"})
	plumb(t, 0, args([]string{"oltp", "write_only", "prepare"}, tables)...)
	defer plumb(t, 0, args([]string{"oltp", "write_only", "cleanup"}, tables)...)
	plumb(t, 0, args([]string{"oltp", "write_only", "run", "--time=1", "--ledger", book}, tables)...)
	_, errs := plumb(t, 3, args([]string{"oltp", "write_only", "run", "--time=1", "--ledger", book}, tables)...)
	reads(t, errs, `it already exists$`, `^hint: a ledger is never overwritten`)
	out, _ := plumb(t, 0, args([]string{"verify", "--ledger", book}, at)...)
	reads(t, out, `^No acknowledged commit is lost: all [\d,]+ are in the server's table$`)
	must(t, servers.Server(t, "postgres").Exec("SELECT 1")) // the table is in sbtest, which only plumb uses
	out, _ = plumb(t, 0, args([]string{"verify", "--json", "--ledger", book}, at)...)
	var v struct{ Acknowledged, Found, Lost int64 }
	document(t, "load-verify", out, &v)
	if v.Acknowledged == 0 || v.Found != v.Acknowledged || v.Lost != 0 {
		t.Errorf("%+v", v)
	}
}

func TestCalibrate(t *testing.T) {
	out, _ := plumb(t, 0, args([]string{"calibrate", "--time=0.5", "--threads=1", "--json"}, server(t, "postgres"))...)
	var doc struct {
		Ceilings []struct {
			Target string
			Error  string
			Rate   struct{ Value float64 }
		}
	}
	document(t, "load-calibrate", out, &doc)
	if len(doc.Ceilings) != 4 {
		t.Fatalf("%+v", doc)
	}
	for _, c := range doc.Ceilings {
		if c.Error != "" || c.Rate.Value < 10 { // on a machine that has other work
			t.Errorf("%+v", c)
		}
	}
	if !strings.HasPrefix(doc.Ceilings[3].Target, "PostgreSQL") {
		t.Errorf("the server is missing: %+v", doc)
	}
}
