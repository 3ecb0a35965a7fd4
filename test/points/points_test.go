// Package points tries points in time on real servers and real storage, from the process
// that is found to the copy that answers.
package points

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/check"
	"plumb/internal/engine/mysql"
	mysqlpoint "plumb/internal/engine/mysql/point"
	"plumb/internal/engine/postgres"
	postgrespoint "plumb/internal/engine/postgres/point"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/load"
	"plumb/internal/observe"
	"plumb/internal/product"
	"plumb/internal/protect"
	"plumb/internal/protect/clone"
	"plumb/internal/protect/drill"
	"plumb/internal/protect/instance"
	"plumb/internal/stack"
	"plumb/internal/storage/block"
	"plumb/internal/storage/filesystem"
	"plumb/internal/storage/point"
	"plumb/internal/storage/zfs"
	"plumb/internal/system/kernel"
	"plumb/internal/system/process"
	"plumb/test/sandbox"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bench is a real server on real storage, and a keeper of its points.
type bench struct {
	*protect.Keeper
	family
	box    *sandbox.Box
	pool   *sandbox.Pool
	server *sandbox.Server
	under  string // the name of its ground
	cat    *catalog.Catalog
	maker  instance.Maker
}

func newBench(t *testing.T, b *sandbox.Box, pool *sandbox.Pool, s *sandbox.Server) *bench {
	t.Helper()
	cat := hosttest.Catalog(t)
	live := host.NewLiveDoer(host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{product.MySQL: mysql.Dialer{}, product.Postgres: postgres.Dialer{}}}))
	t.Cleanup(func() { live.Close() })
	state := t.TempDir()
	k := &protect.Keeper{Do: live, Engines: []protect.Engine{mysqlpoint.New(cat, nil), postgrespoint.New(nil)}, Storages: []protect.Storage{point.ZFS{}, point.ZFS{Fuse: true}, point.Btrfs{}},
		Store: protect.Store{Dir: filepath.Join(state, "points")}, Now: time.Now, Plumb: "test", Host: "here", Books: filepath.Join(state, "books")}
	return &bench{Keeper: k, box: b, pool: pool, server: s, cat: cat,
		maker: instance.Maker{Keeper: k, Dir: sandbox.Directory(t, "copies")}}
}

// look reads the host.
func (b *bench) look(t *testing.T) *stack.Stack {
	t.Helper()
	phases := [][]observe.Probe{
		{kernel.New(b.cat), process.Probe{}, block.NewProbe(b.cat), filesystem.Probe{}, zfs.NewProbe(b.cat)},
		{mysql.NewProbe(b.cat, nil), postgres.NewProbe(b.cat, nil)},
	}
	s, err := check.Observe(t.Context(), host.NewCached(b.Do.(*host.LiveDoer).Live), b.cat, phases, time.Minute)
	must(t, err)
	return s
}

// db gives the server of the bench as the stack names it.
func (b *bench) db(t *testing.T, s *stack.Stack) stack.Ref {
	t.Helper()
	for _, r := range s.Roles {
		if r.Name == "data" && r.PID == b.server.PID {
			return r.DB
		}
	}
	t.Fatalf("the server with process %d is not in the stack", b.server.PID)
	return stack.Ref{}
}

// plan makes the plan of a point.
func (b *bench) plan(t *testing.T) protect.Plan {
	t.Helper()
	s := b.look(t)
	p, err := b.Plan(t.Context(), b.Do, s, b.db(t, s))
	must(t, err)
	return p
}

// writers commit rows from several sessions: session w writes (w, 0), (w, 1), (w, 2), …, so
// that what is missing shows.
type writers struct {
	stop func()
	mu   sync.Mutex
	last [4]int        // the newest row of each session that was acknowledged
	slow time.Duration // the longest commit since it was last asked
}

// writing starts the writers. insert has two placeholders.
func writing(t *testing.T, db *sql.DB, insert string) *writers {
	t.Helper()
	w := &writers{}
	var done atomic.Bool // and not the context, which would leave open whether the last statement was done
	var all sync.WaitGroup
	for who := range w.last {
		w.last[who] = -1
		all.Go(func() {
			for i := 0; !done.Load(); i++ {
				began := time.Now()
				if _, err := db.Exec(insert, who, i); err != nil {
					t.Errorf("write: %v", err)
					return
				}
				w.note(who, i, time.Since(began))
			}
		})
	}
	w.stop = func() { done.Store(true); all.Wait() }
	return w
}

func (w *writers) note(who, i int, took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last[who], w.slow = i, max(w.slow, took)
}

// acknowledged gives the newest row of each session, and the longest commit since the last call.
func (w *writers) acknowledged() ([4]int, time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	slow := w.slow
	w.slow = 0
	return w.last, slow
}

// lost says what of the rows that were acknowledged a copy does not have, or which of its own
// lack one before.
func lost(ctx context.Context, a load.Admin, acknowledged [4]int) error {
	rows, err := a.Query(ctx, "SELECT who, COUNT(*), MAX(n) FROM plumbtest.t GROUP BY who ORDER BY who")
	if err != nil {
		return err
	}
	newest := [4]int{-1, -1, -1, -1}
	for _, row := range rows.Values {
		var who, count, most int
		if _, err := fmt.Sscan(host.Text(row, 0)+" "+host.Text(row, 1)+" "+host.Text(row, 2), &who, &count, &most); err != nil {
			return err
		}
		if count != most+1 {
			return fmt.Errorf("session %d has %d rows up to %d", who, count, most)
		}
		newest[who] = most
	}
	for who, n := range acknowledged {
		if newest[who] < n {
			return fmt.Errorf("of session %d row %d was acknowledged, and the copy ends at %d", who, n, newest[who])
		}
	}
	return nil
}

// TestPoints takes points under load, drills them, and makes clones of one.
func TestPoints(t *testing.T) {
	for _, of := range families {
		t.Run(of.name, func(t *testing.T) { points(t, of) })
	}
}

func points(t *testing.T, of family) {
	b := onPool(t, of)
	db, err := b.server.Open()
	must(t, err)
	defer db.Close()
	plan := b.plan(t)
	if len(plan.Set.Volumes) != 2 || plan.Set.Apart != "" || len(plan.Set.Strays) > 0 {
		t.Fatalf("the set is %+v", plan.Set)
	}
	w := writing(t, db, of.insert)
	time.Sleep(time.Second)
	var taken []protect.Point
	for _, mode := range possible(plan) {
		p, err := b.Take(t.Context(), plan, protect.TakeOptions{Mode: mode})
		must(t, err)
		t.Logf("%s: %s at %s, held %s, of which the storage %s, doubts %q", mode, p.Label, p.Position, p.Times.Held, p.Times.Storage, p.Doubts)
		if (p.Label == protect.Crash) != (mode == protect.ModeCrash) {
			t.Errorf("a point of mode %s is labelled %s", mode, p.Label)
		}
		taken = append(taken, p)
	}
	time.Sleep(time.Second)
	w.stop()
	var rows int64
	must(t, db.QueryRow("SELECT COUNT(*) FROM plumbtest.t").Scan(&rows))
	for _, p := range taken {
		r, err := drill.Drill{Maker: b.maker, Ready: true}.Run(t.Context(), p)
		must(t, err)
		t.Logf("%s: %+v", p.Mode, r)
		if !r.OK || p.Mode == protect.ModeLocked && (r.Exact == nil || !*r.Exact) {
			t.Errorf("%s: the drill says %+v", p.Mode, r)
		}
		if p, err := b.Store.Get(t.Context(), b.Do, p.ID); err != nil || p.Label != protect.Proven {
			t.Errorf("%s: the label is %s, %v", p.Mode, p.Label, err)
		}
	}
	ready, err := b.Store.Get(t.Context(), b.Do, taken[len(taken)-1].ID)
	must(t, err)
	if len(ready.Ready) != 2 {
		t.Errorf("the drill kept %+v", ready.Ready)
	}
	b.clone(t, ready, rows)
	for _, p := range taken {
		must(t, b.Destroy(t.Context(), p.ID))
	}
	var n int64
	must(t, db.QueryRow("SELECT COUNT(*) FROM plumbtest.t").Scan(&n))
	if n != rows {
		t.Errorf("the source has %d rows, and had %d", n, rows)
	}
	if left, err := b.maker.Keeper.Do.Glob(t.Context(), b.maker.Dir+"/*"); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// possible lists the modes that are tried: those without an order of their own.
func possible(p protect.Plan) (names []string) {
	for _, m := range p.Modes {
		if m.Not == "" && m.Name != protect.ModeFreeze {
			names = append(names, m.Name)
		}
	}
	return names
}

// clone makes a server of a point, and asks it.
func (b *bench) clone(t *testing.T, p protect.Point, rows int64) {
	t.Helper()
	m := clone.Maker{Maker: b.maker, Dir: filepath.Join(b.Books, "clones")}
	port := sandbox.FreePort(t)
	c, err := m.Make(t.Context(), p, clone.Options{Name: "dev", Purpose: protect.ForUse, Port: port, Memory: 512 << 20,
		Masks: []string{"UPDATE plumbtest.t SET n = -1 WHERE who = 0"}})
	must(t, err)
	t.Logf("the clone answered after %s", c.Ready)
	db, err := b.socket(c.Run, port).Open()
	must(t, err)
	defer db.Close()
	var n, unmasked int64
	must(t, db.QueryRow("SELECT COUNT(*) FROM plumbtest.t").Scan(&n))
	must(t, db.QueryRow("SELECT COUNT(*) FROM plumbtest.t WHERE n >= 0 AND who = 0").Scan(&unmasked))
	if n == 0 || n > rows || unmasked != 0 {
		t.Errorf("the clone has %d rows, %d unmasked; the source had %d", n, unmasked, rows)
	}
	if _, err := db.Exec("INSERT INTO plumbtest.t (who, n) VALUES (9, 9)"); err != nil {
		t.Errorf("write to the clone: %v", err)
	}
	if err := b.Destroy(t.Context(), p.ID); err == nil {
		t.Error("a point was destroyed that has a clone")
	}
	must(t, m.Drop(t.Context(), "dev"))
	if _, err := m.Get(t.Context(), b.Do, "dev"); !errors.Is(err, clone.ErrNoClone) {
		t.Errorf("after the drop: %v", err)
	}
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", c.PID)); err == nil && strings.Contains(string(text), c.Dir) {
		t.Error("the clone still runs")
	}
}
