package prune_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/internal/protect/keep"
	"plumb/internal/protect/prune"
	"plumb/internal/stack"
	"plumb/internal/storage/point"
	"plumb/test/sandbox"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func sh(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v: %s", argv, err, out)
	}
	return string(out)
}

// machine is this one until it dies at its nth change: before that or after, and all that
// comes later fails.
type machine struct {
	*host.LiveDoer
	n, at int
	after bool
}

var errDead = errors.New("the machine is dead")

func (m *machine) step(do func() error) error {
	m.n++
	if m.n == m.at && m.after {
		_ = do() // nobody is left to hear of it
	}
	if m.at > 0 && m.n >= m.at {
		return errDead
	}
	return do()
}

func (m *machine) Hold(context.Context, host.Target) (host.Held, error) {
	return nil, errors.New("not here")
}

func (m *machine) Replace(ctx context.Context, name string, data []byte, perm os.FileMode) error {
	return m.step(func() error { return m.LiveDoer.Replace(ctx, name, data, perm) })
}

func (m *machine) Append(ctx context.Context, name string, data []byte) error {
	return m.step(func() error { return m.LiveDoer.Append(ctx, name, data) })
}

func (m *machine) Remove(ctx context.Context, name string) error {
	return m.step(func() error { return m.LiveDoer.Remove(ctx, name) })
}

func (m *machine) Run(ctx context.Context, argv ...string) (out []byte, err error) {
	if len(argv) > 1 && argv[0] == "zfs" && slices.Contains([]string{"get", "list"}, argv[1]) {
		return m.LiveDoer.Run(ctx, argv...)
	}
	err = m.step(func() (err error) { out, err = m.LiveDoer.Run(ctx, argv...); return err })
	return out, err
}

func (m *machine) Pipe(ctx context.Context, p host.Pipe) (f host.Flow, err error) {
	err = m.step(func() (err error) { f, err = m.LiveDoer.Pipe(ctx, p); return err })
	return f, err
}

// scene is a dataset with points of every hour, and what others made on it.
type scene struct {
	prune.Pruner
	z       point.ZFS
	pool    *sandbox.Pool
	dataset string
	points  []protect.Point
}

var noon = time.Date(2027, 3, 14, 12, 0, 0, 0, time.UTC)

func newScene(t *testing.T, pool *sandbox.Pool, z point.ZFS, name string, n int) *scene {
	t.Helper()
	_, err := pool.Dataset(name)
	must(t, err)
	s := &scene{z: z, pool: pool, dataset: pool.Name + "/" + name}
	s.Keeper = &protect.Keeper{Do: &machine{LiveDoer: hosttest.LiveDoer(t)}, Storages: []protect.Storage{z}, Store: protect.Store{Dir: filepath.Join(t.TempDir(), "points")},
		Books: filepath.Join(t.TempDir(), "books"), Now: func() time.Time { return noon }}
	sh(t, "zfs", "snapshot", s.dataset+"@autosnap_before")
	v := protect.Volume{Storage: z.Name(), Name: s.dataset, Pool: pool.Name, Mountpoint: filepath.Join(pool.Dir, name)}
	for i := range n {
		at := noon.Add(time.Duration(i-n) * time.Hour)
		p := protect.Point{ID: fmt.Sprintf("%s-%04x", at.Format("20060102T150405Z"), i), State: protect.Taken, Label: protect.Crash, Server: protect.Server{Ref: stack.Ref{Kind: "mysql", Name: "3306"}},
			Times: protect.Times{Snapshot: at}}
		p.Members, err = z.Snapshot(t.Context(), s.Keeper.Do, []protect.Volume{v}, protect.SnapshotName(p.ID), nil)
		must(t, err)
		must(t, s.Keeper.Store.Put(t.Context(), s.Keeper.Do, p))
		s.points = append(s.points, p)
	}
	return s
}

func (s *scene) plan(t *testing.T, last, agreed int) keep.Plan {
	t.Helper()
	plans, err := s.Plan(t.Context(), s.Keeper.Do, prune.Options{Rules: keep.Rules{Last: last}, AllRight: agreed})
	if err != nil || len(plans) != 1 {
		t.Fatal(plans, err)
	}
	return plans[0]
}

// left gives the snapshots there are, and checks that they are those of the points, and the foreign one.
func (s *scene) left(t *testing.T) (n int) {
	t.Helper()
	want := []string{s.dataset + "@autosnap_before"}
	all, err := s.Keeper.Store.List(t.Context(), s.Keeper.Do)
	must(t, err)
	for _, p := range all {
		if p.State != protect.Taken {
			t.Errorf("point %s is left %s", p.ID, p.State)
		}
		want = append(want, p.Members[0].Snapshot)
	}
	have := strings.Fields(sh(t, "zfs", "list", "-H", "-r", "-t", "snapshot", "-o", "name", s.dataset))
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(want, have) {
		t.Errorf("there are the snapshots %q, and should be %q", have, want)
	}
	return len(all)
}

func pool(t *testing.T) (*sandbox.Pool, point.ZFS) {
	t.Helper()
	if testing.Short() {
		t.Skip("makes a pool: run without -short")
	}
	b, err := sandbox.New("")
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	make, fuse := b.AnyZFS()
	p, err := make(256)
	sandbox.Need(t, err)
	return p, point.ZFS{Fuse: fuse}
}

func TestPruneOnZFS(t *testing.T) {
	pool, z := pool(t)
	t.Run("what stays", func(t *testing.T) {
		s := newScene(t, pool, z, "stays", 12)
		sh(t, "zfs", "hold", "me", s.points[0].Members[0].Snapshot)
		sh(t, "zfs", "clone", s.points[1].Members[0].Snapshot, pool.Name+"/dev")
		sh(t, "zfs", "destroy", s.points[2].Members[0].Snapshot)
		sh(t, "zfs", "snapshot", s.points[2].Members[0].Snapshot)
		plan := s.plan(t, 7, 2)
		for i, want := range []string{"holds", "/dev was made of it", "all of its snapshots are gone", "no rule", "no rule", "last 7 of 7"} {
			if f := plan.Fates[i]; !strings.Contains(strings.Join(f.Why, "; "), want) || f.Goes != (i >= 2 && i <= 4) {
				t.Errorf("point %d: %+v", i, f.Why)
			}
		}
		// Between the plan and its end somebody else is at work.
		sh(t, "zfs", "clone", s.points[3].Members[0].Snapshot, pool.Name+"/late")
		done, err := s.Carry(t.Context(), plan)
		if err == nil || len(done) != 3 || !done[0].Ended || !done[0].Gone || done[1].Gone || !strings.Contains(done[1].Why, "late was made of") || !done[2].Gone {
			t.Errorf("%+v, %v", done, err)
		}
		sh(t, "zfs", "destroy", s.points[2].Members[0].Snapshot) // somebody's own, which has the name
		if n := s.left(t); n != 10 {
			t.Errorf("%d points are left", n)
		}
		if plan := s.plan(t, 1, 0); len(plan.Going()) > 0 || len(plan.Brakes) == 0 {
			t.Errorf("%+v", plan.Brakes)
		} else if _, err := s.Carry(t.Context(), plan); err == nil || s.left(t) != 10 {
			t.Errorf("a brake does not hold: %v", err)
		}
		must(t, s.Keeper.Change(t.Context(), s.points[5].ID, func(p *protect.Point) { p.Label = protect.Proven }))
		stale := plan
		stale.Fates = []keep.Fate{{Point: s.points[5], Goes: true, Why: []string{"test"}}}
		if done, err := s.Carry(t.Context(), stale); err == nil || done[0].Gone || s.left(t) != 10 {
			t.Errorf("a point that was proven since: %+v, %v", done, err)
		}
		must(t, os.WriteFile(filepath.Join(s.Keeper.Store.Dir, "20270101T000000Z-0000.json"), []byte(`{"form":1,`), 0o600))
		if _, err := s.Plan(t.Context(), s.Keeper.Do, prune.Options{Rules: keep.Rules{Last: 1}}); err == nil {
			t.Error("a point that cannot be read is passed over")
		}
	})
	t.Run("the machine dies", func(t *testing.T) {
		deaths := 0
		for _, after := range []bool{false, true} {
			for at := 1; ; at++ {
				s := newScene(t, pool, z, fmt.Sprintf("dies%v%d", after, at), 5)
				alive := s.Keeper.Do
				plan := s.plan(t, 3, 2)
				s.Keeper.Do = &machine{LiveDoer: hosttest.LiveDoer(t), at: at, after: after}
				_, err := s.Carry(t.Context(), plan)
				s.Keeper.Do = alive
				must(t, s.Keeper.Sweep(t.Context()))
				plan = s.plan(t, 3, len(s.plan(t, 3, 0).Fates)-3)
				if _, err := s.Carry(t.Context(), plan); err != nil {
					t.Fatalf("died at %d (after: %v): %v", at, after, err)
				}
				if n := s.left(t); n != 3 {
					t.Errorf("died at %d (after: %v): %d points are left", at, after, n)
				}
				if err == nil {
					break
				}
				deaths++
			}
		}
		if deaths < 16 {
			t.Errorf("only %d deaths", deaths)
		}
		t.Logf("%d deaths", deaths)
	})
}

// TestRenamedDataset: its snapshots are not gone, and so their records stay.
func TestRenamedDataset(t *testing.T) {
	pool, z := pool(t)
	s := newScene(t, pool, z, "named", 3)
	sh(t, "zfs", "unmount", s.dataset) // zfs-fuse renames nothing that is mounted, nor what was just unmounted
	rename := func(from, to string) {
		sh(t, "sh", "-c", `n=0; until zfs rename "$1" "$2"; do n=$((n+1)); [ $n -lt 100 ] || exit 1; sleep 0.2; done`, "sh", from, to)
	}
	rename(s.dataset, s.dataset+".old")
	for i, f := range s.plan(t, 1, 0).Fates {
		if want := "named.old@plumb-" + s.points[i].ID + " now"; f.Goes || !strings.Contains(f.Why[0], want) {
			t.Errorf("%+v, want %s", f.Why, want)
		}
	}
	if _, err := s.Plan(t.Context(), s.Keeper.Do, prune.Options{Point: s.points[0].ID}); err == nil || !strings.Contains(err.Error(), "named.old@") {
		t.Errorf("by its name: %v", err)
	}
	rename(s.dataset+".old", s.dataset)
	if n := s.left(t); n != 3 {
		t.Errorf("%d points are left", n)
	}
}

// TestPoolThatIsLost: of a pool that was exported all points stay, but for one that is forgotten, whose snapshot is there when the pool
// is back.
func TestPoolThatIsLost(t *testing.T) {
	pool, z := pool(t)
	s := newScene(t, pool, z, "lost", 3)
	first, ctx := s.points[0], t.Context()
	named := func(forget bool) ([]keep.Plan, error) {
		return s.Plan(ctx, s.Keeper.Do, prune.Options{Point: first.ID, Forget: forget})
	}
	if _, err := named(true); err == nil || !strings.Contains(err.Error(), "all of the storage of point") {
		t.Errorf("what answers would be forgotten: %v", err)
	}
	sh(t, "zpool", "export", s.pool.Name)
	in := sync.OnceFunc(func() { sh(t, "zpool", "import", "-d", filepath.Dir(s.pool.Files[0]), s.pool.Name) })
	defer in()
	if plan := s.plan(t, 1, 2); len(plan.Going()) > 0 || !strings.Contains(plan.Fates[0].Why[0], "not imported") {
		t.Errorf("by rules there go %+v", plan.Fates)
	}
	if _, err := named(false); err == nil || !strings.Contains(err.Error(), "not imported") || !strings.Contains(hint.Of(err), "--forget") {
		t.Errorf("by its name: %v, hint %s", err, hint.Of(err))
	}
	plans, err := named(true)
	must(t, err)
	must(t, s.Keeper.Hold(ctx, first.ID, "audit"))
	if done, err := s.Carry(ctx, plans[0]); err == nil || done[0].Gone || !strings.Contains(err.Error(), "held by audit") {
		t.Errorf("held since: %+v, %v", done, err)
	}
	must(t, s.Keeper.Release(ctx, first.ID, "audit"))
	done, err := s.Carry(ctx, plans[0])
	if err != nil || len(done) != 1 || !done[0].Gone || len(done[0].Left) != 1 || !strings.Contains(done[0].Left[0].Left, "not imported") {
		t.Errorf("%+v, %v", done, err)
	}
	in()
	if have := sh(t, "zfs", "list", "-H", "-t", "snapshot", "-o", "name", first.Members[0].Snapshot); strings.TrimSpace(have) != first.Members[0].Snapshot {
		t.Errorf("of the point that was forgotten there is %q", have)
	}
	sh(t, "zfs", "destroy", first.Members[0].Snapshot)
	if n := s.left(t); n != 2 {
		t.Errorf("%d points are left", n)
	}
}
