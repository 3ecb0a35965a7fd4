package points

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"plumb/internal/check"
	"plumb/internal/engine/postgres"
	postgrespoint "plumb/internal/engine/postgres/point"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/protect"
	"plumb/internal/protect/clone"
	"plumb/internal/protect/drill"
	"plumb/internal/protect/instance"
	"plumb/internal/storage/block"
	"plumb/internal/storage/filesystem"
	"plumb/internal/storage/point"
	"plumb/internal/system/kernel"
	"plumb/internal/system/process"
	"plumb/test/sandbox"
)

// TestPointsOfPostgreSQL takes points under load and drills them: of a server whose files
// all lie in one subvolume of btrfs, and of one with its WAL on another filesystem.
func TestPointsOfPostgreSQL(t *testing.T) {
	for name, c := range map[string]struct {
		apart bool
		mode  string
	}{"one subvolume": {false, protect.ModeCrash}, "one subvolume, with its protocol": {false, protect.ModeBackupAPI}, "two filesystems": {true, protect.ModeBackupAPI}} {
		t.Run(name, func(t *testing.T) { onBtrfs(t, c.apart, c.mode) })
	}
}

func onBtrfs(t *testing.T, apart bool, mode string) {
	sandbox.NeedLong(t, "starts servers on filesystems of their own: run without -short")
	b := sandbox.ForTest(t, "")
	data, err := b.Filesystem("fs", "btrfs", 1024, nil, "")
	sandbox.Need(t, err)
	o := sandbox.PostgresOptions{Datadir: filepath.Join(data, "pg")}
	if apart {
		wal, err := b.Filesystem("walfs", "btrfs", 512, nil, "")
		sandbox.Need(t, err)
		o.WALdir = filepath.Join(wal, "pg")
	}
	for _, dir := range []string{o.Datadir, o.WALdir} {
		if dir != "" { // of a filesystem whose top is root's alone
			_, err := b.Mkdir(dir)
			must(t, err)
			must(t, os.Chown(filepath.Dir(dir), 0, 0))
		}
	}
	s, err := b.Postgres(o)
	sandbox.Need(t, err)
	k := newBench(t, b, nil, s)
	live := host.NewLiveDoer(host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{"postgres": postgres.Dialer{}}}))
	t.Cleanup(func() { live.Close() })
	k.Do, k.Engines, k.Storages = live, []protect.Engine{postgrespoint.New(nil)}, []protect.Storage{point.Btrfs{}}
	must(t, s.Exec("CREATE SCHEMA plumbtest", "CREATE TABLE plumbtest.t (id SERIAL PRIMARY KEY, who INT, n INT)"))
	phases := [][]observe.Probe{{kernel.New(k.cat), process.Probe{}, block.NewProbe(k.cat), filesystem.Probe{}}, {postgres.NewProbe(k.cat, nil)}}
	seen, err := check.Observe(t.Context(), host.NewCached(live.Live), k.cat, phases, time.Minute)
	must(t, err)
	plan, err := k.Plan(t.Context(), live, seen, k.db(t, seen))
	must(t, err)
	if len(plan.Set.Strays) > 0 || (plan.Set.Apart != "") != apart {
		t.Fatalf("the set is %+v", plan.Set)
	}
	db, err := s.Open()
	must(t, err)
	defer db.Close()
	w := writing(t, db, "INSERT INTO plumbtest.t (who, n) VALUES ($1, $2)")
	defer w.stop()
	time.Sleep(time.Second)
	told, _ := w.acknowledged()
	p, err := k.Take(t.Context(), plan, protect.TakeOptions{Mode: mode})
	must(t, err)
	_, slow := w.acknowledged()
	w.stop()
	if (p.Label == protect.Crash) != (mode == protect.ModeCrash) {
		t.Errorf("a point of mode %s is labelled %s", mode, p.Label)
	}
	if best, err := plan.Choose(""); err != nil || apart != (best.Name == protect.ModeBackupAPI) {
		t.Errorf("mode %s would be taken unasked, %v", best.Name, err)
	}
	t.Logf("%s of %s at %s, held %s, of which the storage %s, the longest commit %s, doubts %q", p.Mode, p.Server.Product, p.Position, p.Times.Held, p.Times.Storage, slow, p.Doubts)
	r, err := drill.Drill{Maker: k.maker, Full: true}.Run(t.Context(), p)
	must(t, err)
	t.Logf("%+v", r)
	if !r.OK {
		t.Fatal(r.Why)
	}
	if p, err = k.Store.Get(t.Context(), k.Do, p.ID); err != nil || p.Label != protect.Proven {
		t.Errorf("%+v, %v", p, err)
	}
	rows(t, k, p, told)
	k.sealed(t, p, o.Datadir)
	must(t, k.Destroy(t.Context(), p.ID))
}

// rows wants that a copy of the point has all that was acknowledged.
func rows(t *testing.T, b *bench, p protect.Point, acknowledged [4]int) {
	t.Helper()
	began := time.Now()
	c, err := b.maker.Make(t.Context(), p, instance.Options{Name: "rows-" + p.ID, Purpose: protect.ForUse, Number: 2})
	must(t, err)
	defer func() { must(t, c.Remove(t.Context())) }()
	a, err := c.Start(t.Context(), time.Minute)
	must(t, err)
	defer a.Close()
	t.Logf("a copy of the point answered after %s", time.Since(began))
	must(t, lost(t.Context(), a, acknowledged))
	must(t, a.Exec(t.Context(), "CREATE DATABASE other", `\connect other`, "CREATE TABLE here (n INT)", `\connect postgres;`, "UPDATE plumbtest.t SET n = -1"))
}

// sealed wants that the files of a point can be read, and not written.
func (k *bench) sealed(t *testing.T, p protect.Point, data string) {
	t.Helper()
	m := clone.Maker{Maker: k.maker, Dir: t.TempDir()}
	c, err := m.Make(t.Context(), p, clone.Options{Name: "look", Purpose: protect.ForBrowse})
	must(t, err)
	in := filepath.Join(c.Dir, "root", data)
	if text, err := os.ReadFile(in + "/PG_VERSION"); err != nil || len(text) == 0 {
		t.Errorf("%q, %v", text, err)
	}
	if err := os.Remove(in + "/PG_VERSION"); !errors.Is(err, syscall.EROFS) {
		t.Errorf("it can be written: %v", err)
	}
	must(t, m.Drop(t.Context(), "look"))
}

// TestACopyTakesNoName: beside a copy that uses the server's own port number, as each copy of one on 5432 does, the server is called as before.
func TestACopyTakesNoName(t *testing.T) {
	b, v := onBtrfsOf(t, families[1], "db/data", "db/log")
	server := b.db(t, b.look(t)).String()
	id := pointID.FindString(v.typed(0, "snapshot", server))
	v.typed(0, "clone", id, "--name", "same", "--port", fmt.Sprint(b.server.Port))
	says(t, v.typed(0, "snapshot", server), "of "+server)
	v.typed(0, "clone", "drop", "same", "--yes")
}
