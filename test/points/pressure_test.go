package points

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"plumb/internal/load"
	"plumb/internal/load/durability"
	"plumb/internal/load/fill"
	"plumb/internal/load/tpcc"
	"plumb/test/reaper"
)

// warehouses of the load, each of about 70 MB.
const warehouses = 1

// envSmall has warehouses of a hundredth of the rows, where the processor is emulated.
const envSmall = "PLUMB_SMALL"

// terminals that work on them, without pause.
const terminals = 4

// work says what plumb load tpcc does to a server.
func (b *bench) work(seed uint64, ledger *durability.Ledger) tpcc.Config {
	return tpcc.Config{Server: b.driven(b.server), Warehouses: warehouses, Seed: 1, Run: seed, Sessions: terminals, Ledger: ledger, Small: os.Getenv(envSmall) != ""}
}

// prepareWork makes the tables that the load works on.
func (b *bench) prepareWork(t *testing.T) {
	t.Helper()
	_, err := tpcc.Prepare(t.Context(), b.work(1, nil), fill.Options{})
	must(t, err)
}

// pressure is one run of the load.
type pressure struct {
	ledger *durability.Ledger
	stop   func() *load.Result // ends the load and gives what it measured
}

// press begins a run of the load, with a ledger of its own if that has a name. What happens in the warm-up does not count.
func (b *bench) press(t *testing.T, seed uint64, path string, warmup time.Duration) *pressure {
	t.Helper()
	server := b.driven(b.server)
	ledger, err := durability.Begin(t.Context(), server, path, durability.Header{Target: b.name, Workload: "tpcc", Seed: seed})
	must(t, err)
	w, err := tpcc.New(t.Context(), b.work(seed, ledger))
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	type end struct {
		*load.Result
		error
	}
	ended := make(chan end, 1)
	go func() {
		r, err := load.Run(ctx, w, load.Options{Threads: terminals, Time: time.Hour, Warmup: warmup, Seed: seed, Retries: 100})
		ended <- end{r, err}
	}()
	return &pressure{ledger: ledger, stop: func() *load.Result {
		cancel()
		e := <-ended
		must(t, e.error)
		must(t, ledger.Close())
		must(t, e.Ended)
		// What is to be tried again when the load ends counts as failed: one of each terminal.
		if e.Total.Failed > terminals || slices.ContainsFunc(e.Errors, func(n load.ErrorCount) bool { return n.Class != load.Retry.String() }) {
			t.Errorf("%d transactions failed: %+v", e.Total.Failed, e.Errors)
		}
		return e.Result
	}}
}

// acknowledgedBy keeps the ledger as it is now, once it has some commits, and gives the name of what was kept.
// What was acknowledged in the last few milliseconds may not be in it yet.
func (p *pressure) acknowledgedBy(t *testing.T, least int64) (path string) {
	t.Helper()
	path = p.ledger.Path() + ".kept"
	for late := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(p.ledger.Path())
		must(t, err)
		must(t, os.WriteFile(path, text, 0o600))
		n, err := durability.Read(path)
		must(t, err)
		if n.Acknowledged() >= least {
			return path
		}
		if time.Now().After(late) {
			t.Fatalf("the load had committed %d times after a minute", n.Acknowledged())
		}
	}
}

// ledgers makes a directory for ledgers, in memory where it can: on a disk they wait as long as the server.
func ledgers(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "plumb-test-ledgers-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	must(t, reaper.Mind(dir))
	return dir
}

// verify compares a ledger with what a copy holds, as plumb load verify does.
func (b *bench) verify(ctx context.Context, a load.Admin, ledger string) (*durability.Outcome, error) {
	use := "USE work"
	if b.server.Engine == "postgres" {
		use = "SET search_path = public"
	}
	if err := a.Exec(ctx, use); err != nil {
		return nil, err
	}
	v, err := durability.Verify(ctx, a, ledger)
	if err == nil && (v.Lost > 0 || v.Damaged > 0) {
		err = fmt.Errorf("%s: of %d acknowledged commits %d are lost, the first of them %v; %d records are damaged", filepath.Base(ledger), v.Acknowledged, v.Lost, v.FirstLost, v.Damaged)
	}
	return v, err
}
