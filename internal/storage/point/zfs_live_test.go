package point

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/inventory/kinds"
	"plumb/internal/protect"
	"plumb/test/mortal"
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

const name = "plumb-20261123T210500Z-4f3a"

var facts = map[string]string{protect.FactPoint: "20261123T210500Z-4f3a", protect.FactPosition: "binlog.000001:4, GTID 0-1-42"}

// server makes datasets as a server has them: data, a log below it, and somebody else's.
func server(t *testing.T) (pool *sandbox.Pool, z ZFS, vols []protect.Volume) {
	t.Helper()
	sandbox.NeedLong(t, "makes a pool: run without -short")
	pool, z = somePool(t)
	for _, set := range [][]string{{"db", "recordsize=16K"}, {"other"}, {"db/log", "compression=gzip-1"}, {"db/foreign"}} {
		_, err := pool.Dataset(set[0], set[1:]...)
		must(t, err)
	}
	sh(t, "sh", "-ec", "mkdir "+pool.Dir+"/db/sub; echo inner >"+pool.Dir+"/db/sub/inner; ln -s /etc "+pool.Dir+"/db/link")
	for _, of := range []string{"db", "db/log"} {
		must(t, os.WriteFile(filepath.Join(pool.Dir, of, "file"), []byte("data of "+of), 0o600))
		vols = append(vols, protect.Volume{Storage: z.Name(), Name: pool.Name + "/" + of, Pool: pool.Name, Mountpoint: filepath.Join(pool.Dir, of)})
	}
	return pool, z, vols
}

// somePool makes a pool of the ZFS that is here.
func somePool(t *testing.T) (*sandbox.Pool, ZFS) {
	t.Helper()
	b := sandbox.ForTest(t, "")
	make, fuse := b.AnyZFS()
	pool, err := make(256)
	sandbox.Need(t, err)
	return pool, ZFS{Fuse: fuse}
}

func snapshots(t *testing.T, pool *sandbox.Pool) []string {
	return strings.Fields(sh(t, "zfs", "list", "-H", "-r", "-t", "snapshot", "-o", "name", pool.Name))
}

func TestPointsOnZFS(t *testing.T) {
	pool, z, vols := server(t)
	d, ctx := hosttest.LiveDoer(t), t.Context()
	must(t, z.Settle(ctx, d, vols))
	all, err := z.Snapshot(ctx, d, vols, name, facts)
	must(t, err)
	if len(all) != 2 || all[0].Birth != all[1].Birth || all[0].GUID == all[1].GUID || all[0].Snapshot != vols[0].Name+"@"+name {
		t.Fatalf("%+v", all)
	}
	if left := snapshots(t, pool); z.Fuse != (len(left) > 2) { // what it took beside goes when nothing is held any more
		t.Errorf("there are %v", left)
	}
	must(t, z.Tidy(ctx, d, all, name))
	if left := snapshots(t, pool); len(left) != 2 { // those of the other datasets are gone
		t.Errorf("there are %v", left)
	}
	if got := sh(t, "zfs", "get", "-Hp", "-o", "value", protect.FactPosition, all[1].Snapshot); got != facts[protect.FactPosition]+"\n" {
		t.Errorf("the snapshot says %q", got)
	}
	found, err := z.Find(ctx, d, vols, name)
	must(t, err)
	if !slices.Equal(found, all) {
		t.Errorf("found %+v", found)
	}
	must(t, z.Mark(ctx, d, all[0], map[string]string{protect.FactLabel: "proven"}))
	if got := sh(t, "zfs", "get", "-Hp", "-o", "value", protect.FactLabel, all[0].Snapshot); got != "proven\n" {
		t.Errorf("it is marked %q", got)
	}
	if free, err := z.Free(ctx, d, all[0]); err != nil || free < 0.5 || free > 1 {
		t.Errorf("of a new pool %v is free, %v", free, err)
	}
	copies(t, z, d, all, vols)
	sh(t, "zfs", "hold", "somebody", all[1].Snapshot)
	if s, err := z.State(ctx, d, all[1]); err != nil || !s.Held || s.Gone || s.Other {
		t.Errorf("%+v, %v", s, err)
	}
	if err := z.Destroy(ctx, d, all); err == nil || !strings.Contains(err.Error(), all[1].Snapshot+": it is held") || len(snapshots(t, pool)) != 2 {
		t.Errorf("what is held: %v", err)
	}
	sh(t, "zfs", "release", "somebody", all[1].Snapshot)
	must(t, z.Destroy(ctx, d, all))
	must(t, z.Destroy(ctx, d, all)) // again, as after a death
	if s, err := z.State(ctx, d, all[0]); err != nil || !s.Gone || len(snapshots(t, pool)) != 0 {
		t.Errorf("%+v, %v; there are %v", s, err, snapshots(t, pool))
	}
}

// copies clones a snapshot, looks at the clone, and drops it.
func copies(t *testing.T, z ZFS, d *host.LiveDoer, all []protect.Member, vols []protect.Volume) {
	ctx, dir := t.Context(), t.TempDir()
	book, err := kinds.Books(d, filepath.Join(dir, "books")).Open(ctx, "run1")
	must(t, err)
	at := filepath.Join(dir, "copy [1]*")
	must(t, os.Mkdir(at, 0o755))
	must(t, os.WriteFile(filepath.Join(vols[0].Mountpoint, "file"), []byte("later"), 0o600))
	must(t, z.Clone(ctx, d, all[0], protect.CloneAt{Dir: at, Book: book}))
	text, err := os.ReadFile(filepath.Join(at, "file"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(at, "more"), text, 0o600))
	s, err := z.State(ctx, d, all[0])
	if string(text) != "data of db" || err != nil || len(s.Clones) != 1 {
		t.Fatalf("the clone holds %q; %+v, %v", text, s, err)
	}
	if got := sh(t, "findmnt", "-n", "-o", "OPTIONS", "-M", at); !strings.Contains(got, "nosuid,nodev") {
		t.Errorf("the clone is mounted %s", got)
	}
	if got := sh(t, "zfs", "get", "-Hp", "-o", "value", "recordsize,canmount", s.Clones[0]); got != "16384\nnoauto\n" {
		t.Errorf("the clone has %q", got)
	}
	if err := z.Destroy(ctx, d, all); err == nil || !strings.Contains(err.Error(), all[0].Snapshot+": it ") || len(z.there(t, d, all)) != 2 {
		t.Errorf("what has clones: %v", err)
	}
	if err := z.Clone(ctx, d, all[1], protect.CloneAt{Dir: at, Book: book}); err == nil || !strings.Contains(err.Error(), "holds") {
		t.Errorf("on a directory that is taken: %v", err)
	}
	part := all[0]
	for within, want := range map[string]string{"/sub": "inner\n", "/link": ""} { // of what the server sees by a bind mount, no more is seen
		part.Within = within
		seen := filepath.Join(dir, "seen"+filepath.Base(within))
		must(t, os.Mkdir(seen, 0o755))
		if err := z.Clone(ctx, d, part, protect.CloneAt{Dir: seen, Book: book}); (err == nil) != (want != "") {
			t.Errorf("the clone of %s: %v", within, err)
		}
		if got := sh(t, "ls", seen); got != want {
			t.Errorf("of %s are seen %q", within, got)
		}
	}
	other := all[0]
	other.GUID = "7"
	free := filepath.Join(dir, "free")
	must(t, os.Mkdir(free, 0o755))
	if err := z.Clone(ctx, d, other, protect.CloneAt{Dir: free, Book: book}); err == nil {
		t.Error("another snapshot was cloned")
	}
	must(t, book.Close(ctx))
	if s, err = z.State(ctx, d, all[0]); err != nil || len(s.Clones) > 0 {
		t.Errorf("after the run: %+v, %v", s, err)
	}
	if books, _ := filepath.Glob(filepath.Join(dir, "books/*.book")); len(books) > 0 {
		t.Errorf("%v is left", books)
	}
}

func (z ZFS) there(t *testing.T, h host.Reader, all []protect.Member) (there []protect.Member) {
	for _, m := range all {
		if s, err := z.State(t.Context(), h, m); err == nil && !s.Gone {
			there = append(there, m)
		}
	}
	return there
}

// swapping is a machine on which somebody puts another snapshot in the place of one, just
// before its name is changed.
type swapping struct {
	*host.LiveDoer
	swap func(name string)
}

func (s swapping) Run(ctx context.Context, argv ...string) ([]byte, error) {
	if argv[1] == "rename" && !strings.HasSuffix(argv[2], asideMark) {
		s.swap(argv[2])
	}
	return s.LiveDoer.Run(ctx, argv...)
}

func (s swapping) Pipe(context.Context, host.Pipe) (host.Flow, error) {
	return host.Flow{Code: 1}, errors.New("Permission denied. Channel programs must be run as root.")
}

// A snapshot that was swapped for another of the same name is not destroyed, whether that
// was before the destruction or in its midst.
func TestSwappedSnapshotsStay(t *testing.T) {
	pool, z, vols := server(t)
	d := hosttest.LiveDoer(t)
	swap := func(name string) { sh(t, "zfs", "destroy", name); sh(t, "zfs", "snapshot", name) }
	for i := range swaps() {
		all, err := z.Snapshot(t.Context(), d, vols[1:], name, nil)
		must(t, err)
		if i%2 == 0 {
			swap(all[0].Snapshot)
			err = z.Destroy(t.Context(), d, all)
		} else {
			err = z.Destroy(t.Context(), swapping{d, swap}, all)
		}
		if err == nil || !strings.Contains(err.Error(), "another snapshot of that name") {
			t.Errorf("time %d: %v", i, err)
		}
		if left := snapshots(t, pool); len(left) != 1 || left[0] != all[0].Snapshot {
			t.Fatalf("time %d: there are %v", i, left)
		}
		sh(t, "zfs", "destroy", all[0].Snapshot)
	}
	t.Logf("0 of %d destroyed", swaps())
}

// swaps is how often a snapshot is swapped for another of its name, in turn before its destruction and in the midst of it. Each turn
// does the same as the one before.
func swaps() int {
	if os.Getenv("PLUMB_REAL") != "" {
		return 100
	}
	return 10
}

// Of the process that is killed: its directory and its volumes' names and mount points.
const envPoint = "PLUMB_POINT"

// mortalPoint takes a point, clones it and destroys both.
func mortalPoint(ctx context.Context, told string) error {
	words := strings.Split(told, ",")
	m, err := mortal.Born()
	if err != nil {
		return err
	}
	z := ZFS{Fuse: words[1] == "true"}
	vols := toldVolumes(z, words[2:])
	all, err := z.Snapshot(ctx, m, vols, name, facts)
	if err != nil {
		return err
	}
	book, err := kinds.Books(m, filepath.Join(words[0], "books")).Open(ctx, "run1")
	if err == nil {
		err = z.Tidy(ctx, m, all, name)
	}
	if err == nil {
		err = z.Clone(ctx, m, all[0], protect.CloneAt{Dir: filepath.Join(words[0], "copy"), Book: book})
	}
	if err == nil {
		err = book.Close(ctx)
	}
	if err == nil {
		err = z.Destroy(ctx, m, all)
	}
	m.Tell()
	return err
}

func toldVolumes(z ZFS, words []string) (vols []protect.Volume) {
	for i := 0; i+1 < len(words); i += 2 {
		pool, _, _ := strings.Cut(words[i], "/")
		vols = append(vols, protect.Volume{Storage: z.Name(), Name: words[i], Pool: pool, Mountpoint: words[i+1]})
	}
	return vols
}

// pace is of how many deaths one is tried.
func pace() int {
	if os.Getenv("PLUMB_REAL") != "" {
		return 1
	}
	return 7
}

// undestroying is a machine on which nobody may destroy.
type undestroying struct{ *host.LiveDoer }

func (u undestroying) Run(ctx context.Context, argv ...string) ([]byte, error) {
	if len(argv) > 1 && argv[1] == "destroy" {
		return nil, errors.New("permission denied")
	}
	return u.LiveDoer.Run(ctx, argv...)
}

// A snapshot that may be renamed and not destroyed keeps its name.
func TestUndestroyedOnZFS(t *testing.T) {
	pool, z, vols := server(t)
	if !z.Fuse {
		t.Skip("root destroys in one step: a user who is not root tries it in TestAllowedOnZFS")
	}
	d, ctx := hosttest.LiveDoer(t), t.Context()
	all, err := z.Snapshot(ctx, d, vols, name, facts)
	must(t, err)
	before := snapshots(t, pool)
	if err := z.Destroy(ctx, undestroying{d}, all); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("it was destroyed: %v", err)
	}
	if after := snapshots(t, pool); !slices.Equal(after, before) {
		t.Errorf("there was %v, and there is %v", before, after)
	}
	must(t, z.Destroy(ctx, d, all))
}

// Killed before or after any operation, nothing of a point is lost: what it made is found and
// goes, and nothing else.
func TestPointOfAKilledRun(t *testing.T) {
	if told := os.Getenv(envPoint); told != "" {
		must(t, mortalPoint(t.Context(), told))
		return
	}
	pool, z, vols := server(t)
	d, ctx := hosttest.LiveDoer(t), t.Context()
	sh(t, "zfs", "snapshot", "-r", pool.Name+"/db@daily")
	before, dir := sh(t, "zfs", "list", "-H", "-r", "-t", "all", "-o", "name", pool.Name), t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "copy"), 0o755))
	life := func(at int, how string) int {
		c := exec.Command(os.Args[0], "-test.run=^TestPointOfAKilledRun$")
		c.Env = append(os.Environ(), fmt.Sprintf("%s=%s,%v,%s,%s,%s,%s", envPoint, dir, z.Fuse, vols[0].Name, vols[0].Mountpoint, vols[1].Name, vols[1].Mountpoint))
		return mortal.Live(t, c, at, how)
	}
	n, most, began := life(0, "never"), 0, time.Now()
	if n < 20 {
		t.Fatalf("only %d operations", n)
	}
	mortal.Ways(t, n, pace(), func(at int, how string) {
		life(at, how)
		swept, err := kinds.Books(d, filepath.Join(dir, "books")).Sweep(ctx)
		must(t, err)
		for _, s := range swept {
			must(t, s.Err)
		}
		found, err := z.Find(ctx, d, vols, name)
		must(t, err)
		most = max(most, len(found))
		if err := z.Destroy(ctx, d, found); err != nil {
			t.Fatalf("killed %s operation %d of %d: %v", how, at, n, err)
		}
		if after := sh(t, "zfs", "list", "-H", "-r", "-t", "all", "-o", "name", pool.Name); after != before {
			t.Errorf("killed %s operation %d of %d: there was\n%sand there is\n%s", how, at, n, before, after)
		}
		mounts, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil || bytes.Contains(mounts, []byte(dir)) {
			t.Errorf("killed %s operation %d of %d: something is mounted", how, at, n)
		}
	})
	t.Logf("%d operations, one death in %d, in %v; the most that was found were %d snapshots", n, pace(), time.Since(began).Round(time.Second), most)
	if most < 2 || z.Fuse && most < 3 {
		t.Error("no death left what the command took of others")
	}
}

// TestSnapshotsOfAPoolThatIsAwayAreUnknown holds that only a pool that is here can tell that a
// snapshot is gone: a prune forgets a point of which all is gone.
func TestSnapshotsOfAPoolThatIsAwayAreUnknown(t *testing.T) {
	sandbox.NeedLong(t, "makes a pool: run without -short")
	pool, z := somePool(t)
	sh(t, "zfs", "create", pool.Name+"/db")
	d := hosttest.LiveDoer(t)
	m := protect.Member{Volume: volumes(z, pool.Name+"/db")[0], Snapshot: pool.Name + "/db@never", GUID: "1", Birth: "1"}
	if s, err := z.State(t.Context(), d, m); err != nil || !s.Gone {
		t.Fatalf("a snapshot that is gone: %+v, %v", s, err)
	}
	sh(t, "zpool", "export", pool.Name)
	s, err := z.State(t.Context(), d, m)
	sh(t, "zpool", "import", "-d", filepath.Dir(pool.Files[0]), pool.Name)
	if err == nil || s.Gone || !strings.Contains(err.Error(), "not imported") {
		t.Errorf("the pool is away: %+v, %v", s, err)
	}
}
