package points

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/internal/protect"
)

// ending is a storage that calls a function just before or just after its snapshots.
type ending struct {
	protect.Storage
	before, after func()
}

func (e *ending) Snapshot(ctx context.Context, d host.Streamer, vols []protect.Volume, name string, facts map[string]string) ([]protect.Member, error) {
	e.before()
	defer e.after()
	return e.Storage.Snapshot(ctx, d, vols, name, facts)
}

// noting notes which session is held: on a machine with others, the newest need not be ours.
type noting struct {
	protect.Machine
	id int64
}

func (n *noting) Hold(ctx context.Context, t host.Target) (host.Held, error) {
	h, err := n.Machine.Hold(ctx, t)
	if err == nil {
		n.id = h.ID()
	}
	return h, err
}

// TestLockLostMidway ends the session that holds the lock while the snapshot is taken: the point is
// labelled crash, and the server is free. PLUMB_ROUNDS says how often, on each server.
func TestLockLostMidway(t *testing.T) {
	n := count(t, "PLUMB_ROUNDS", 50, 4)
	for _, of := range []family{families[0], fetched[0]} {
		t.Run(of.name, func(t *testing.T) {
			if of.name != families[0].name {
				needFetched(t)
			}
			lostMidway(t, on(t, grounds[1], of, 1024), n)
		})
	}
}

func lostMidway(t *testing.T, b *bench, n int) {
	db, err := b.server.Open()
	must(t, err)
	defer db.Close()
	w := writing(t, db, b.insert)
	defer w.stop()
	plan := b.plan(t)
	noting := &noting{Machine: b.Do}
	b.Do = noting
	kill := func() {
		_, err := db.Exec(fmt.Sprintf("KILL %d", noting.id))
		must(t, err)
	}
	at := slices.IndexFunc(b.Storages, func(s protect.Storage) bool { return s.Name() == "btrfs" })
	none := func() {}
	e := &ending{b.Storages[at], none, none}
	b.Storages[at] = e
	crash := 0
	for i := range n {
		e.before, e.after = kill, none
		if i%2 == 1 {
			e.before, e.after = none, kill
		}
		p, err := b.Take(t.Context(), plan, protect.TakeOptions{Mode: protect.ModeLocked})
		must(t, err)
		if p.Label == protect.Crash && p.Fell() != "" {
			crash++
		} else {
			t.Errorf("%s is labelled %s, doubts %q", p.ID, p.Label, p.Doubts)
		}
		within, cancel := context.WithTimeout(t.Context(), 20*time.Second) // how soon is measured elsewhere
		if _, err := db.ExecContext(within, "INSERT INTO plumbtest.t (who, n) VALUES (9, 9)"); err != nil {
			t.Errorf("the server is not free: %v", err)
		}
		cancel()
		must(t, b.Destroy(t.Context(), p.ID))
	}
	t.Logf("%s: %d of %d points are labelled crash", plan.Server.Product, crash, n)
}
