package replicate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/internal/stack"
	"plumb/test/mortal"
	"plumb/test/sandbox"
)

func memberOf(snapshot, guid string) protect.Member {
	dataset, _, _ := strings.Cut(snapshot, "@")
	pool, _, _ := strings.Cut(snapshot, "/")
	return protect.Member{Volume: protect.Volume{Storage: "zfs", Name: dataset, Pool: pool}, Snapshot: snapshot, GUID: guid}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func sh(t *testing.T, line string) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", line).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", line, err, out)
	}
	return strings.TrimSpace(string(out))
}

// world is two pools of whatever ZFS is there, the first with data.
type world struct {
	from, to *sandbox.Pool
	fuse     bool
	dir      string
	keeper   *protect.Keeper
	points   int
	sums     map[string]string // of the files in each snapshot
}

func twoPools(t *testing.T) *world {
	t.Helper()
	if testing.Short() {
		t.Skip("makes pools: run without -short")
	}
	b, err := sandbox.New("")
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	make, fuse := b.AnyZFS()
	w := &world{fuse: fuse, sums: map[string]string{}, dir: filepath.Join(b.Dir, "points")}
	w.from, err = make(256)
	sandbox.Need(t, err)
	w.to, err = make(256)
	must(t, err)
	for _, set := range []string{"db", "db/log"} {
		_, err := w.from.Dataset(set)
		must(t, err)
	}
	w.keeper = keeper(hosttest.LiveDoer(t), w.dir)
	return w
}

func keeper(d protect.Machine, dir string) *protect.Keeper {
	return &protect.Keeper{Do: d, Store: protect.Store{Dir: dir}, Now: time.Now}
}

func (w *world) replicator() Replicator { return Replicator{Keeper: w.keeper, Fuse: w.fuse} }

func (w *world) target() Target { return Target{Dataset: w.to.Name + "/copies"} }

// point writes something and takes a point.
func (w *world) point(t *testing.T, kilobytes int) protect.Point {
	t.Helper()
	w.points++
	p := protect.Point{ID: fmt.Sprintf("20261123T2105%02dZ-4f3a", w.points), State: protect.Taken, Server: protect.Server{Ref: stack.Ref{Kind: "mysql", Name: "3306"}}}
	for _, set := range []string{"db", "db/log"} {
		sh(t, fmt.Sprintf("head -c %dK /dev/urandom > %s/%s/file%d", kilobytes, w.from.Dir, set, w.points))
		snapshot := w.from.Name + "/" + set + "@" + protect.SnapshotName(p.ID)
		w.sums[snapshot] = sh(t, fmt.Sprintf("cat %s/%s/file* | sha256sum", w.from.Dir, set))
		sh(t, "zfs snapshot "+snapshot)
		p.Members = append(p.Members, memberOf(snapshot, sh(t, "zfs get -Hp -o value guid "+snapshot)))
	}
	must(t, w.keeper.Store.Put(t.Context(), w.keeper.Do, p))
	return p
}

// same checks that the target has all of a point, byte for byte, and that it is closed.
func (w *world) same(t *testing.T, p protect.Point) {
	t.Helper()
	for _, m := range p.Members {
		replica := w.target().Dataset + "/" + strings.ReplaceAll(m.Name, "/", ":")
		name := replica + "@" + protect.SnapshotName(p.ID)
		if got := sh(t, "zfs get -Hp -o value guid "+name); got != m.GUID {
			t.Errorf("%s has the GUID %s, want %s", name, got, m.GUID)
		}
		if got := sh(t, "zfs get -Hp -o value readonly "+replica+"; zfs get -Hp -o value mounted "+replica); got != "on\nno" {
			t.Errorf("readonly and mounted of %s are %q", replica, got)
		}
		dir := filepath.Join(filepath.Dir(w.dir), "look")
		sh(t, fmt.Sprintf("zfs clone -o mountpoint=%s %s %s/look", dir, name, w.to.Name))
		if w.fuse {
			sh(t, "grep -q "+dir+" /proc/mounts || zfs mount "+w.to.Name+"/look")
		}
		if got := sh(t, "cat "+dir+"/file* | sha256sum"); got != w.sums[m.Snapshot] {
			t.Errorf("the files of %s are not those of %s", name, m.Snapshot)
		}
		sh(t, fmt.Sprintf("for i in $(seq 100); do zfs destroy %s/look && exit; sleep .1; done; exit 1", w.to.Name))
	}
}

func (w *world) holds(t *testing.T) (held []string) {
	all, err := w.keeper.Store.List(t.Context(), w.keeper.Do)
	must(t, err)
	for _, p := range all {
		for _, h := range p.Holds {
			held = append(held, p.ID+" "+h.Owner)
		}
	}
	return held
}

func TestReplicateOnZFS(t *testing.T) {
	w := twoPools(t)
	r, ctx := w.replicator(), t.Context()
	first := w.point(t, 2000)
	full, err := r.Run(ctx, first, w.target(), Options{})
	must(t, err)
	w.same(t, first)
	second := w.point(t, 100)
	some, err := r.Run(ctx, second, w.target(), Options{})
	must(t, err)
	w.same(t, second)
	if full.Sent[0].Bytes < 2000<<10 || some.Sent[0].Bytes > 1000<<10 || some.Sent[0].Base == "" || len(some.Sent) != 2 {
		t.Errorf("full %+v, then %+v", full, some)
	}
	again, err := r.Run(ctx, second, w.target(), Options{})
	if err != nil || !again.Sent[0].There || again.Sent[0].Bytes != 0 {
		t.Errorf("again %+v, %v", again, err)
	}
	wantHeld := ""
	if w.fuse {
		wantHeld = second.ID + " replicate " + w.target().Dataset
	}
	if held := strings.Join(w.holds(t), ", "); held != wantHeld {
		t.Errorf("held are %q", held)
	}
	if got := sh(t, "zfs get -Hp -o value "+lastMark+" "+w.target().Dataset); got != second.ID {
		t.Errorf("the target says that its last point is %q", got)
	}
	if !w.fuse {
		w.bookmarks(t, second)
	}
	w.refusals(t)
}

// bookmarks destroys the snapshots that both sides have here: the bookmark is enough.
func (w *world) bookmarks(t *testing.T, last protect.Point) {
	for _, m := range last.Members {
		if got := sh(t, "zfs list -H -d 1 -t bookmark -o name "+m.Name); strings.Count(got, "\n") != 0 || !strings.HasSuffix(got, last.ID) {
			t.Errorf("bookmarks %q", got)
		}
		sh(t, "zfs destroy "+m.Snapshot)
	}
	third := w.point(t, 100)
	some, err := w.replicator().Run(t.Context(), third, w.target(), Options{})
	must(t, err)
	w.same(t, third)
	if !strings.Contains(some.Sent[0].Base, "#") {
		t.Errorf("%+v", some)
	}
}

// refusals tries what must change nothing at the target.
func (w *world) refusals(t *testing.T) {
	next := w.point(t, 10)
	replica := w.target().Dataset + "/" + strings.ReplaceAll(next.Members[0].Name, "/", ":")
	sh(t, "zfs create "+w.to.Name+"/theirs")
	gone := next
	gone.Members = append([]protect.Member(nil), next.Members...)
	gone.Members[0].GUID = "7"
	sh(t, "zfs snapshot "+replica+"@newer")
	list := "zfs list -H -r -t all -o name " + w.to.Name
	before := sh(t, list)
	for want, try := range map[string]struct {
		p protect.Point
		t Target
	}{
		"was not made by plumb replicate": {next, Target{Dataset: w.to.Name + "/theirs"}},
		"one below the other":             {next, Target{Dataset: w.from.Name + "/db/copies"}},
		"does not exist here":             {next, w.target()},
		"another of its name is there":    {gone, w.target()},
		"cannot be reached":               {next, Target{Host: "127.0.0.1", Port: 1, Dataset: "tank/x"}},
	} {
		_, err := w.replicator().Run(t.Context(), try.p, try.t, Options{})
		if errors.Is(err, host.ErrNoCommand) { // no ssh
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if after := sh(t, list); after != before {
		t.Errorf("there was\n%s\nand there is\n%s", before, after)
	}
	if held := strings.Join(w.holds(t), ", "); strings.Contains(held, next.ID) { // each run would keep another point
		t.Errorf("nothing of it was sent, and it is held: %s", held)
	}
	sh(t, "zfs destroy "+replica+"@newer")
	_, err := w.replicator().Run(t.Context(), next, w.target(), Options{})
	must(t, err)
	w.same(t, next)
}

// cutting is a machine whose first stream ends amid.
type cutting struct {
	*host.LiveDoer
	left int64
}

func (c *cutting) Pipe(ctx context.Context, p host.Pipe) (host.Flow, error) {
	if p.In != nil && c.left > 0 {
		p.In = io.MultiReader(io.LimitReader(p.In, c.left), broken{})
		c.left = 0
	}
	return c.LiveDoer.Pipe(ctx, p)
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the line is cut") }

// A stream that was cut is resumed where ZFS can, else begun anew.
func TestReplicateAfterACut(t *testing.T) {
	w := twoPools(t)
	p := w.point(t, 20000)
	r := w.replicator()
	r.Keeper = keeper(&cutting{LiveDoer: hosttest.LiveDoer(t), left: 12 << 20}, w.dir)
	_, err := r.Run(t.Context(), p, w.target(), Options{})
	if err == nil || !strings.Contains(err.Error(), "the line is cut") && !strings.Contains(err.Error(), "accepts no more") {
		t.Fatalf("it was cut, and %v", err)
	}
	if held := w.holds(t); len(held) != 1 {
		t.Errorf("held are %v", held)
	}
	done, err := w.replicator().Run(t.Context(), p, w.target(), Options{})
	must(t, err)
	w.same(t, p)
	if done.Resumed == w.fuse || !w.fuse && done.Sent[0].Bytes > 12<<20 {
		t.Errorf("%+v", done)
	}
	if w.fuse {
		return
	}
	next := w.point(t, 20000) // whose snapshots are gone when it could be resumed
	r.Keeper = keeper(&cutting{LiveDoer: hosttest.LiveDoer(t), left: 12 << 20}, w.dir)
	if _, err = r.Run(t.Context(), next, w.target(), Options{}); err == nil {
		t.Fatal("it was not cut")
	}
	for _, m := range next.Members {
		sh(t, "zfs destroy "+m.Snapshot)
	}
	last := w.point(t, 100)
	_, err = w.replicator().Run(t.Context(), last, w.target(), Options{})
	must(t, err)
	w.same(t, last)
}

// An encrypted dataset goes raw, and stays so.
func TestReplicateEncrypted(t *testing.T) {
	w := twoPools(t)
	if w.fuse {
		t.Skip("zfs-fuse has no encryption: test/real/vm runs it on OpenZFS")
	}
	w.encrypt(t)
	first := w.point(t, 2000)
	for _, p := range []protect.Point{first, w.point(t, 100)} {
		sent, err := w.replicator().Run(t.Context(), p, w.target(), Options{})
		must(t, err)
		if sent.Sent[0].Way != wayRaw {
			t.Errorf("%+v", sent)
		}
		for _, m := range p.Members {
			replica := w.target().Dataset + "/" + strings.ReplaceAll(m.Name, "/", ":")
			if got := sh(t, "zfs get -H -o value guid "+replica+"@"+protect.SnapshotName(p.ID)+"; zfs get -H -o value keystatus "+replica); got != m.GUID+"\nunavailable" {
				t.Errorf("%q", got)
			}
		}
	}
	_, err := w.replicator().Run(t.Context(), w.point(t, 100), w.target(), Options{Decrypted: true})
	if err == nil || !strings.Contains(err.Error(), "mixed") {
		t.Errorf("mixed: %v", err)
	}
	sh(t, "zfs destroy -r "+w.target().Dataset) // a target of our own
	_, err = w.replicator().Run(t.Context(), w.point(t, 100), w.target(), Options{Decrypted: true})
	must(t, err)
}

// encrypt makes the datasets anew, encrypted.
func (w *world) encrypt(t *testing.T) {
	t.Helper()
	sh(t, "zfs destroy -r "+w.from.Name+"/db; echo 12345678 | zfs create -o encryption=on -o keyformat=passphrase "+w.from.Name+"/db; zfs create "+w.from.Name+"/db/log")
}

const envReplica = "PLUMB_REPLICA" // of the process that is killed: its directory, point, target and implementation

func TestReplicateOfAKilledRun(t *testing.T) {
	if told := os.Getenv(envReplica); told != "" {
		must(t, mortalRun(t.Context(), strings.Split(told, ",")))
		return
	}
	w := twoPools(t)
	first, second := w.point(t, 500), w.point(t, 100)
	bare := func() { // as before the first point
		sh(t, "zfs list "+w.target().Dataset+" 2>/dev/null >&2 || exit 0; for i in $(seq 100); do zfs destroy -r "+w.target().Dataset+" && exit; sleep .1; done; exit 1")
	}
	life := func(p protect.Point, at int, how string) int {
		c := exec.Command(os.Args[0], "-test.run=^TestReplicateOfAKilledRun$")
		c.Env = append(os.Environ(), fmt.Sprintf("%s=%s,%s,%s,%v", envReplica, w.dir, p.ID, w.target(), w.fuse))
		return mortal.Live(t, c, at, how)
	}
	n := life(first, 0, "never")
	every := 5
	if os.Getenv("PLUMB_REAL") != "" {
		every = 1
	}
	tried := 0
	mortal.Ways(t, n, every, func(at int, how string) {
		bare()
		for _, p := range []protect.Point{first, second} {
			p, err := w.keeper.Store.Get(t.Context(), w.keeper.Do, p.ID)
			must(t, err)
			life(p, at, how)
			if _, err := w.replicator().Run(t.Context(), p, w.target(), Options{}); err != nil {
				t.Fatalf("killed %s operation %d of %d: %v", how, at, n, err)
			}
			tried++
		}
		w.same(t, second)
	})
	t.Logf("%d operations, %d deaths", n, tried)
}

func mortalRun(ctx context.Context, words []string) error {
	m, err := mortal.Born()
	if err != nil {
		return err
	}
	k := keeper(m, words[0])
	p, err := k.Store.Get(ctx, m, words[1])
	if err != nil {
		return err
	}
	_, err = Replicator{Keeper: k, Fuse: words[3] == "true"}.Run(ctx, p, Target{Dataset: words[2]}, Options{})
	m.Tell()
	return err
}
