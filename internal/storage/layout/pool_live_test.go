package layout

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/internal/change"
	"plumb/internal/change/changetest"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/provision"
	"plumb/internal/provision/spec"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

func (x *box) fuse() {
	x.t.Helper()
	if testing.Short() {
		x.t.Skip("starts zfs-fuse: run without -short")
	}
	_, err := x.ZFSFuse(64) // a pool of somebody else's, and the daemon
	sandbox.Need(x.t, err)
}

func (x *box) pool(name string) spec.Pool {
	file := func(n string) spec.Disk { return spec.Disk{Path: filepath.Join(x.Dir, n), Size: 64 << 20} }
	return spec.Pool{Name: name, Layout: spec.Mirror, Data: []spec.Disk{file("a"), file("b")}, Log: []spec.Disk{x.disk("log", 64)}, Cache: []spec.Disk{x.disk("cache", 64)}}
}

// makings are a pool with the datasets of a server.
func (x *box) makings(p spec.Pool, at string) []change.Act {
	ctx := x.t.Context()
	acts := x.acts(func(h host.Reader) (provision.Making, error) {
		return x.lay.Pool(ctx, h, p, provision.Birth{Root: map[string]string{"atime": "off"}, Pool: map[string]string{"autotrim": "on"}})
	}).Acts
	return append(acts, x.datasets(p.Name, at)...)
}

func (x *box) datasets(pool, at string) (acts []change.Act) {
	for _, v := range []provision.Volume{{Dataset: pool + "/db"}, {Dataset: pool + "/db/data", At: at, Properties: map[string]string{"recordsize": "16K"}}} {
		acts = append(acts, x.acts(func(h host.Reader) (provision.Making, error) {
			return x.lay.Volume(x.t.Context(), h, v, provision.Owner{User: "nobody", Group: "nogroup", Perm: 0o750})
		}).Acts...)
	}
	return acts
}

func TestPool(t *testing.T) {
	x := newBox(t)
	x.fuse()
	name := x.ownPool("")
	x.name = name
	p, at := x.pool(name), filepath.Join(x.Dir, "mnt")
	acts := x.makings(p, at)
	was := x.state()
	number, err := x.apply(acts)
	if err != nil {
		t.Fatal(err)
	}
	if got := x.sh(`zfs get -H -o value recordsize "$1/db/data"; zfs get -H -o value atime "$1/db/data"; stat -c '%U:%G %a' "$2"; zpool get ashift "$1" | tail -n 1 | tr -s ' '; cat /proc/self/mountinfo`, name, at); !strings.HasPrefix(got, "16K\noff\nnobody:nogroup 750\n"+name+" ashift 12 ") || !strings.Contains(got, name+"/db/data") {
		t.Error(got)
	}
	if again := x.makings(p, at); len(again) > 0 {
		t.Errorf("asked again: %+v", again)
	}
	other := p
	other.Data = p.Data[:1]
	other.Layout = spec.Stripe
	if _, err := x.lay.Pool(t.Context(), x.doer, other, provision.Birth{}); err == nil || !strings.Contains(err.Error(), "exists, and its data are mirror of") {
		t.Error(err)
	}
	x.poolKeepsWhatIsIn(number, name, at)
	_, end := x.held()
	time.AfterFunc(2*time.Second, end)
	if err := x.undo(number, change.UndoOptions{}); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("PLUMB_REAL") != "" {
		os.Remove(at) // zfs mount, by hand, had made it anew
	}
	if now := x.state(); now != was {
		t.Errorf("undo left\n%s\nof\n%s", now, was)
	}
	x.oldLabels(was)
	x.deadInTheMidst(p, was)
	t.Run("deaths", func(t *testing.T) {
		if sandbox.Full() {
			changetest.Run(t, x.crash(acts))
			return
		}
		sandbox.NeedTime(t, "lets the machine die ten times among pools, or with PLUMB_REAL=full at every operation: PLUMB_REAL=1 go test ./internal/storage/layout -run Pool")
		x.someDeaths(acts, was)
	})
}

// deadInTheMidst lets the machine die between the end of a pool and the last of its labels, and goes on.
func (x *box) deadInTheMidst(p spec.Pool, was string) {
	t := x.t
	t.Helper()
	acts := x.acts(func(h host.Reader) (provision.Making, error) {
		return x.lay.Pool(t.Context(), h, p, provision.Birth{})
	}).Acts
	for at := 0; ; at++ {
		dir := filepath.Join(x.Dir, fmt.Sprintf("plumb-undo%d", at))
		executor := func(d host.Doer) *change.Executor {
			return &change.Executor{Doer: d, Dir: dir, Plumb: "test", Now: time.Now}
		}
		out, err := executor(x.doer).Apply(t.Context(), change.Draft{Steps: []change.Prepared{{Step: change.Step{Knob: stack.Knob{Of: stack.Ref{Kind: "host", Name: "test"}, Name: "it"}}, Recipe: change.Recipe{Acts: acts}}}}, change.ApplyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		m := hosttest.NewMortal(x.doer, at+1, []string{hosttest.Before, hosttest.After}[at%2])
		ctx, cancel := context.WithCancel(t.Context())
		go func() { // nobody waits for a dead machine
			for ; ctx.Err() == nil && !m.Dead(); time.Sleep(20 * time.Millisecond) {
			}
			cancel()
		}()
		err = executor(m).Undo(ctx, []int{out.Number}, change.UndoOptions{})
		cancel()
		whole := err == nil
		if !whole {
			if err := executor(x.doer).Undo(t.Context(), []int{out.Number}, change.UndoOptions{}); err != nil {
				t.Fatalf("dead at operation %d of the undo, going on: %v", at+1, err)
			}
		}
		if now := x.state(); now != was {
			t.Fatalf("dead at operation %d of the undo, going on left\n%s\nin place of\n%s", at+1, now, was)
		}
		if whole {
			return
		}
	}
}

// someDeaths lets the machine die at some operations, and takes it back or goes on.
func (x *box) someDeaths(acts []change.Act, was string) {
	t := x.t
	t.Helper()
	draft := change.Draft{Steps: []change.Prepared{{Step: change.Step{Knob: stack.Knob{Of: stack.Ref{Kind: "host", Name: "test"}, Name: "it"}}, Recipe: change.Recipe{Acts: acts}}}}
	done := ""
	for at := 0; ; at += 5 {
		dir := filepath.Join(x.Dir, fmt.Sprintf("plumb%d", at))
		m := hosttest.NewMortal(x.doer, at, []string{hosttest.Before, hosttest.After, hosttest.Amid}[at%3])
		out, err := (&change.Executor{Doer: m, Dir: dir, Plumb: "test", Now: time.Now}).Apply(t.Context(), draft, change.ApplyOptions{})
		m.Rest()
		alive := &change.Executor{Doer: x.doer, Dir: dir, Plumb: "test", Now: time.Now}
		switch {
		case at == 0:
			if done = x.state(); err != nil {
				t.Fatal(err)
			}
		case m.N < at:
			t.Logf("died at every fifth of %d operations", m.N)
			return
		case at%2 == 0 && out.Number > 0 && alive.Resume(t.Context(), out.Number) == nil:
			if now := x.state(); now != done {
				t.Fatalf("dead at operation %d, going on left\n%s\nin place of\n%s", at, now, done)
			}
		}
		if all, err := alive.Changes(t.Context()); err == nil && len(all) > 0 {
			if err := alive.Undo(t.Context(), []int{out.Number}, change.UndoOptions{}); err != nil {
				t.Fatalf("dead at operation %d: undo: %v", at, err)
			}
		}
		if now := x.state(); now != was {
			t.Fatalf("dead at operation %d, the undo left\n%s\nin place of\n%s", at, now, was)
		}
	}
}

func (x *box) poolKeepsWhatIsIn(number int, name, at string) {
	t := x.t
	t.Helper()
	if os.Getenv("PLUMB_REAL") == "" {
		return // each of its acts waits for what is busy for a moment
	}
	x.sh(`printf theirs >"$1/file"`, at)
	if err := x.undo(number, change.UndoOptions{Force: true}); err == nil || x.sh(`cat "$1/file"`, at) != "theirs" {
		t.Errorf("a file in it: %v", err)
	}
	x.sh(`zfs unmount "$1/db/data"`, name)
	if err := x.undo(number, change.UndoOptions{Force: true}); err == nil || x.sh(`zfs mount "$1/db/data"; cat "$2/file"`, name, at) != "theirs" {
		t.Errorf("unmounted by hand: %v", err)
	}
	x.sh(`rm "$2/file"; zfs create "$1/theirs"`, name, at)
	if err := x.undo(number, change.UndoOptions{Force: true}); err == nil || !strings.Contains(x.sh("zfs list -H -o name"), name+"/theirs") {
		t.Errorf("a dataset in it: %v", err)
	}
	x.sh(`zfs destroy "$1/theirs"`, name)
}

// oldLabels leaves labels of a real pool on a disk, and looks.
func (x *box) oldLabels(was string) {
	t := x.t
	t.Helper()
	d := x.disk("old", 64)
	x.loops = x.loops[:len(x.loops)-1]
	f := spec.Filesystem{Type: "ext4", Device: d}
	refused := func(want string) {
		t.Helper()
		before := x.sh(`sha256sum <"$1"`, d.Path)
		if _, err := x.lay.Filesystem(t.Context(), x.doer, f, filepath.Join(x.Dir, "mnt9"), provision.Birth{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if x.sh(`sha256sum <"$1"`, d.Path) != before {
			t.Error("it was written to")
		}
	}
	x.sh(`zpool create -m none plumbold "$1"`, d.Path)
	refused("is part of the pool plumbold")
	x.sh(`zpool export plumbold`)
	if op := script(unknownPool, "plumbold"); exec.Command(op.Argv[0], op.Argv[1:]...).Run() == nil {
		t.Error("a pool that is not imported has lost its name")
	}
	x.sh(`zpool import plumbold`)
	x.sh(`zpool destroy plumbold`)
	refused("4 labels of ZFS")
	x.sh(`dd if=/dev/zero of="$1" bs=1M count=1 conv=notrunc status=none`, d.Path)
	refused("2 labels of ZFS")
	if now := x.state(); now != was {
		t.Errorf("looking left\n%s\nof\n%s", now, was)
	}
}

// A pool that somebody has exported is on its disks: an undo does not take it for gone, and does not remove its files. Nor does one that
// finds the pool kept because something is in it.
func TestAnExportedPoolIsNotGone(t *testing.T) {
	x := newBox(t)
	x.fuse()
	name := x.ownPool("e")
	p := spec.Pool{Name: name, Layout: spec.Mirror, Data: []spec.Disk{x.disk("a", 64), x.disk("b", 64)}}
	files := spec.Pool{Name: name, Layout: spec.Stripe, Data: []spec.Disk{{Path: filepath.Join(x.Dir, "f"), Size: 64 << 20}}}
	for what, pool := range map[string]spec.Pool{"disks": p, "a file": files} {
		was := x.state()
		number, err := x.apply(x.acts(func(h host.Reader) (provision.Making, error) {
			return x.lay.Pool(t.Context(), h, pool, provision.Birth{})
		}).Acts)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		x.sh(`zfs create -o mountpoint=none "$1/theirs"; zpool export "$1"`, name)
		if err := x.undo(number, change.UndoOptions{Force: true}); err == nil || !strings.Contains(err.Error(), "and may be there all the same") {
			t.Errorf("%s: exported: %v", what, err)
		}
		x.sh(`zpool import -d "$1" -d /dev "$2"; zfs list -H -o name "$2/theirs"`, x.Dir, name)
		if err := x.undo(number, change.UndoOptions{Force: true}); err == nil {
			t.Errorf("%s: a dataset in it, it is undone", what)
		}
		x.sh(`zpool export "$2"; zpool import -d "$1" -d /dev "$2"; zfs destroy "$2/theirs"`, x.Dir, name)
		if err := x.undo(number, change.UndoOptions{}); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if now := x.state(); now != was {
			t.Errorf("%s: undo left\n%s\nof\n%s", what, now, was)
		}
	}
}

// A look that is killed leaves its mount to zfs-fuse: the next look ends it, keeps what holds something as it was, and destroys what holds
// nothing.
func TestALookThatIsKilledIsFollowedByAnother(t *testing.T) {
	x := newBox(t)
	x.fuse()
	pool, at, bin := x.ownPool("k"), filepath.Join(x.Dir, "mnt"), t.TempDir()
	x.sh(`zpool create -m none -O canmount=off "$1" "$2"
printf '#!/bin/sh\ncase "$1" in /run/*) kill -9 0 ;; esac; exec /usr/bin/find "$@"\n' >"$3/find"; chmod 755 "$3/find"`, pool, x.disk("look", 64).Path, bin)
	data, acts := pool+"/db/data", x.datasets(pool, at)
	number, err := x.apply(acts)
	if err != nil {
		t.Fatal(err)
	}
	x.sh(`printf theirs >"$1/file"; zfs unmount "$2"`, at, data)
	op := destroying(acts, data)
	killed := func() {
		t.Helper()
		c := exec.Command(op.Argv[0], op.Argv[1:]...)
		c.Env, c.SysProcAttr = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH")), &syscall.SysProcAttr{Setpgid: true}
		if out, err := c.CombinedOutput(); !strings.Contains(fmt.Sprint(err), "killed") {
			t.Fatalf("it was to be killed amid the look: %v: %s", err, out)
		}
		where := strings.TrimSpace(x.sh(`findmnt -n -o TARGET -S "$1"`, data))
		if !strings.HasPrefix(where, "/run/plumb-look.") {
			t.Fatalf("it is mounted at %q", where)
		}
		t.Cleanup(func() { os.Remove(where); os.Remove(filepath.Dir(where)) })
	}
	killed()
	if err := x.undo(number, change.UndoOptions{Force: true}); err == nil || !strings.Contains(err.Error(), data+" holds file: it is kept") {
		t.Fatalf("a file in it: %v", err)
	}
	if open := x.open(number); !slices.Equal(open, []string{pool + "/db", data}) {
		t.Errorf("open is %q", open)
	}
	if got := x.sh(`zfs get -H -o value canmount,mountpoint,mounted "$1"`, data); got != "noauto\n"+at+"\nno\n" {
		t.Errorf("it is kept as\n%s", got)
	}
	x.sh(`zfs mount "$1"; rm "$2/file"`, data, at)
	killed()
	if err := x.undo(number, change.UndoOptions{Force: true}); err != nil || strings.Contains(x.sh("zfs list -H -o name"), data) {
		t.Errorf("nothing in it: %v", err)
	}
}

// destroying is the operation by which a dataset is taken away.
func destroying(acts []change.Act, dataset string) change.Op {
	return acts[slices.IndexFunc(acts, func(a change.Act) bool { return a.Make != nil && a.Make.Dataset == dataset })].Make.Undo[0]
}

// A dataset that is busy just then is looked into again: that it cannot be mounted does not say that something is in it.
func TestALookAtWhatIsBusyIsTriedAgain(t *testing.T) {
	x := newBox(t)
	x.fuse()
	pool, at, bin := x.ownPool("b"), filepath.Join(x.Dir, "mnt"), t.TempDir()
	x.sh(`zpool create -m none -O canmount=off "$1" "$2"
printf '#!/bin/sh\n[ "$1" != mount ] || { cat "%s/said" >&2; exit 1; }; exec %s "$@"\n' "$3" "$(command -v zfs)" >"$3/zfs"; chmod 755 "$3/zfs"`, pool, x.disk("busy", 64).Path, bin)
	data, acts := pool+"/db/data", x.datasets(pool, at)
	if _, err := x.apply(acts); err != nil {
		t.Fatal(err)
	}
	op := destroying(acts, data)
	for said, want := range map[string]int{"cannot mount 'x': mountpoint or dataset is busy": 1, "cannot mount 'x': no such pool": change.Kept} {
		x.sh(`printf %s "$1" >"$2/said"`, said, bin)
		c := exec.Command(op.Argv[0], op.Argv[1:]...)
		c.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		out, _ := c.CombinedOutput()
		if got := c.ProcessState.ExitCode(); got != want || !strings.Contains(string(out), said) {
			t.Errorf("%s: exit status %d: %s", said, got, out)
		}
		if got := x.sh(`zfs get -H -o value canmount,mountpoint,mounted "$1"`, data); got != "on\n"+at+"\nno\n" {
			t.Errorf("%s: it is left as\n%s", said, got)
		}
	}
}
