package layout

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/change/changetest"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/provision"
	"plumb/internal/provision/spec"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// box is a place with real disks, which are files behind loop devices.
type box struct {
	*sandbox.Box
	t     *testing.T
	doer  *host.LiveDoer
	lay   Layout
	loops []string
	name  string // of its pool
}

func newBox(t *testing.T) *box {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root for loop devices")
	}
	b, err := sandbox.New("")
	sandbox.Need(t, err)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	b.OnClose(func() error { // of a test that failed
		_ = exec.Command("sh", "-c", `umount "$1/mnt"; chattr -i "$1/mnt"`, "sh", b.Dir).Run()
		return nil
	})
	if err := os.Chown(b.Dir, 0, 0); err != nil { // a mount point lies where root alone makes things
		t.Fatal(err)
	}
	x := &box{Box: b, t: t, doer: host.NewLiveDoer(host.NewLive(host.LiveOptions{})), lay: Layout{Fstab: b.Dir + "/fstab"}}
	t.Cleanup(func() { x.doer.Close() })
	if err := os.WriteFile(x.lay.Fstab, []byte("# ours\nUUID=1 / ext4 defaults 0 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *box) disk(name string, megabytes int) spec.Disk {
	x.t.Helper()
	loop, err := x.Loop(name, megabytes)
	sandbox.Need(x.t, err)
	x.loops = append(x.loops, loop)
	return spec.Disk{Path: loop}
}

func (x *box) sh(script string, args ...string) string {
	x.t.Helper()
	out, err := exec.Command("sh", append([]string{"-ec", script, "sh"}, args...)...).CombinedOutput()
	if err != nil {
		x.t.Fatalf("%s: %v: %s", script, err, out)
	}
	return string(out)
}

// acts asks for a making with a machine that refuses every write.
func (x *box) acts(of func(host.Reader) (provision.Making, error)) provision.Making {
	x.t.Helper()
	r := hosttest.NewRefusing(x.doer)
	m, err := of(r)
	if tried := r.Attempts(); len(tried) > 0 || err != nil {
		x.t.Fatalf("%v, tried %v", err, tried)
	}
	return m
}

// state is all that undo must bring back: names, owners and attributes below the box, mounts, both ends of the disks, pools.
func (x *box) state() string {
	x.t.Helper()
	out := x.sh(`cd "$1"; grep " $1/" /proc/self/mountinfo | cut -d ' ' -f 5 || :
find . -mindepth 1 ! -name '*.img' ! -path './plumb*' -printf '%p %y %m %U:%G\n' | sort; lsattr -d mnt* 2>/dev/null || :; cat fstab
shift; for l; do (head -c 16M "$l"; tail -c 16M "$l") | cmp -s -n 33554432 - /dev/zero && echo zero || echo used; done`, append([]string{x.Dir}, x.loops...)...)
	if x.name != "" { // others' pools come and go meanwhile
		out += x.sh(`zfs list -H -r -t all -o name | grep "^$1" || :`, x.name)
	}
	return regexp.MustCompile(`plumb-[a-z2-7]{26}`).ReplaceAllString(out, "plumb-MARK")
}

type recipe []change.Act

func (recipe) Kinds() []string { return []string{"host"} }

func (r recipe) Recipe(context.Context, host.Reader, *stack.Stack, change.Want) (change.Recipe, error) {
	return change.Recipe{Effect: catalog.Now, Acts: r}, nil
}

func (x *box) crash(acts []change.Act) changetest.Case {
	fact := &catalog.Fact{Kind: "host", Name: "it", Type: catalog.Int, Knob: &catalog.Knob{Effect: catalog.Now}}
	return changetest.Case{
		Doer: x.doer, Setter: recipe(acts), Dir: filepath.Join(x.Dir, "plumb"), Makes: true, Few: 1000, State: x.state,
		Catalog: &catalog.Catalog{Kinds: map[string]*catalog.Kind{"host": {Name: "host", Facts: map[string]*catalog.Fact{"it": fact}}}},
		Observe: func() *stack.Stack {
			s, obs := &stack.Stack{}, stack.Observation{}
			obs.New("host", "test").Set("it", stack.Int(0), "here")
			s.Add("test", obs)
			return s
		},
		Knob: stack.Knob{Of: stack.Ref{Kind: "host", Name: "test"}, Name: "it"}, To: stack.Int(1),
	}
}

func (x *box) executor() *change.Executor {
	return &change.Executor{Doer: x.doer, Dir: filepath.Join(x.Dir, "plumb"), Plumb: "test", Now: time.Now}
}

func (x *box) apply(acts []change.Act) (int, error) {
	draft := change.Draft{Steps: []change.Prepared{{Step: change.Step{Knob: stack.Knob{Of: stack.Ref{Kind: "host", Name: "test"}, Name: "it"}}, Recipe: change.Recipe{Acts: acts}}}}
	out, err := x.executor().Apply(x.t.Context(), draft, change.ApplyOptions{})
	return out.Number, err
}

func (x *box) undo(number int, o change.UndoOptions) error {
	return x.executor().Undo(x.t.Context(), []int{number}, o)
}

func megabytes(kind string) int {
	if kind == "xfs" {
		return 600 // less has no room for its log
	}
	return 130
}

// volumes makes a filesystem with a directory that is the server's.
func (x *box) filesystem(kind, at string) (spec.Filesystem, []change.Act, provision.Making) {
	f := spec.Filesystem{Type: kind, Device: x.disk(kind, megabytes(kind)), Chunk: 64 << 10, Width: 4}
	if kind == "btrfs" {
		f.Chunk, f.Width = 0, 0
	}
	m := x.acts(func(h host.Reader) (provision.Making, error) {
		return x.lay.Filesystem(x.t.Context(), h, f, at, provision.Birth{Mount: []string{"noatime"}})
	})
	return f, append(m.Acts, x.data(at)...), m
}

func (x *box) data(at string) []change.Act {
	return x.acts(func(h host.Reader) (provision.Making, error) {
		return x.lay.Volume(x.t.Context(), h, provision.Volume{Role: "data", At: at + "/data"}, provision.Owner{User: "nobody", Group: "nogroup", Perm: 0o750})
	}).Acts
}

func TestFilesystems(t *testing.T) {
	for _, kind := range spec.Filesystems() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			x := newBox(t)
			at := filepath.Join(x.Dir, "mnt")
			f, acts, m := x.filesystem(kind, at)
			was := x.state()
			number, err := x.apply(acts)
			if err != nil {
				t.Fatal(err)
			}
			x.looksMade(f, at, m)
			x.keepsWhatIsIn(number, at)
			if err := x.undo(number, change.UndoOptions{}); err != nil {
				t.Fatal(err)
			}
			if now := x.state(); now != was {
				t.Errorf("undo left\n%s\nof\n%s", now, was)
			}
		})
	}
}

func (x *box) looksMade(f spec.Filesystem, at string, m provision.Making) {
	t := x.t
	t.Helper()
	if got := x.sh(`stat -c '%U:%G %a' "$1/data"; tail -n 1 "$2"`, at, x.lay.Fstab); !strings.HasPrefix(got, "nobody:nogroup 750\nUUID="+m.Made["uuid"]+" "+at+" "+f.Type+" defaults,nofail,noatime 0 ") {
		t.Error(got)
	}
	if out, err := exec.Command("findmnt", "--verify", "--tab-file", x.lay.Fstab).CombinedOutput(); err != nil && !strings.Contains(string(out), "\n0 parse errors") {
		t.Errorf("%s", out)
	}
	switch f.Type {
	case "ext4":
		if got := x.sh(`dumpe2fs -h "$1" 2>/dev/null`, f.Device.Path); !regexp.MustCompile(`RAID stride: +16\nRAID stripe width: +64\n`).MatchString(got) || !strings.Contains(got, m.Made["uuid"]) {
			t.Error(got)
		}
	case "xfs":
		if got := x.sh(`xfs_info "$1"`, at); !regexp.MustCompile(`sunit=16 +swidth=64 blks`).MatchString(got) {
			t.Error(got)
		}
	}
	// Asked again, nothing is left to do.
	again := x.acts(func(h host.Reader) (provision.Making, error) {
		return x.lay.Filesystem(t.Context(), h, f, at, provision.Birth{})
	})
	if acts := append(again.Acts, x.data(at)...); len(acts) > 0 {
		t.Errorf("asked again: %+v", acts)
	}
}

// keepsWhatIsIn puts a file into it, which no undo may lose, not even one by force, and not when
// somebody has unmounted it.
func (x *box) keepsWhatIsIn(number int, at string) {
	x.t.Helper()
	x.sh(`printf theirs >"$1/data/file"`, at)
	if err := x.undo(number, change.UndoOptions{}); err == nil {
		x.t.Error("undone with a file in it")
	}
	if os.Getenv("PLUMB_REAL") != "" { // each of its acts waits for what is busy for a moment
		if err := x.undo(number, change.UndoOptions{Force: true}); err == nil {
			x.t.Error("undone by force with a file in it")
		}
	}
	got := x.sh(`mountpoint -q "$1" || mount -o ro "$2" "$1"; cat "$1/data/file"`, at, x.loops[0])
	if got != "theirs" {
		x.t.Errorf("the file is %q", got)
	}
	x.sh(`rm "$1/data/file"`, at)
}

// open lists the places of what is open of a change.
func (x *box) open(number int) (places []string) {
	x.t.Helper()
	all, err := x.executor().Changes(x.t.Context())
	if err != nil {
		x.t.Fatal(err)
	}
	for _, p := range all[number-1].Acts {
		if p.State != change.Undone && p.State != change.Left {
			places = append(places, p.Act.Place())
		}
	}
	return places
}

// A filesystem that others have put something into stays as it is, whoever asks: its owners, its mount, and its line in fstab.
// Leaving it so ends the undo.
func TestWhatHoldsDataIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	x := newBox(t)
	at := filepath.Join(x.Dir, "mnt")
	_, acts, _ := x.filesystem("ext4", at)
	number, err := x.apply(acts)
	if err != nil {
		t.Fatal(err)
	}
	x.sh(`printf theirs >"$1/data/file"`, at)
	was := x.state()
	for _, o := range []change.UndoOptions{{}, {Force: true}, {Keep: true}} {
		if err := x.undo(number, o); (err == nil) != o.Keep || x.state() != was {
			t.Errorf("%+v: %v, left\n%s\nof\n%s", o, err, x.state(), was)
		}
	}
	if open := x.open(number); open != nil {
		t.Errorf("open is %q", open)
	}
	x.sh(`umount "$1"; chattr -i "$1" 2>/dev/null || :; rmdir "$1"`, at)
}

// Somebody has unmounted it: nobody sees what is in it before the undo looks. Nothing is lost by force, and leaving it as it is ends the undo.
func TestWhatIsNotMountedIsLeftToo(t *testing.T) {
	t.Parallel()
	x := newBox(t)
	at := filepath.Join(x.Dir, "mnt")
	f, acts, _ := x.filesystem("ext4", at)
	number, err := x.apply(acts)
	if err != nil {
		t.Fatal(err)
	}
	x.sh(`printf theirs >"$1/data/file"; umount "$1"`, at)
	for _, o := range []change.UndoOptions{{}, {Force: true}} {
		if err := x.undo(number, o); err == nil || !strings.Contains(err.Error(), f.Device.Path+" holds data: it is kept") || !strings.HasPrefix(hint.Of(err), "--keep leaves these") {
			t.Errorf("%+v: %v, %s", o, err, hint.Of(err))
		}
	}
	if err := x.undo(number, change.UndoOptions{Keep: true}); err != nil {
		t.Error(err)
	}
	if open := x.open(number); open != nil {
		t.Errorf("open is %q", open)
	}
	if got := x.sh(`mkdir -p "$2"; mount -o ro "$1" "$2"; cat "$2/data/file"; umount "$2"`, f.Device.Path, at); got != "theirs" {
		t.Errorf("the file is %q", got)
	}
}

// What nobody saw is not taken for nothing: when the look into it fails, as on a disk that is failing, a filesystem is kept. So is one
// with nothing but what fsck has put into lost+found, files whose names were lost.
func TestWhatNobodySawIsKept(t *testing.T) {
	x := newBox(t)
	f, at, bin := spec.Filesystem{Type: "ext4", Device: x.disk("kept", 40)}, filepath.Join(x.Dir, "mnt"), t.TempDir()
	x.sh(`mkfs.ext4 -q "$1"; mkdir "$2"; mount "$1" "$2"; for p in find ls; do printf '#!/bin/sh\nexit 1\n' >"$3/$p"; chmod 755 "$3/$p"; done`, f.Device.Path, at, bin)
	undone := func(path string, op change.Op) (string, error) { return patient(op, "PATH="+path) }
	for _, op := range []change.Op{isEmpty(f.Device.Path, f.Type), mount(f, newUUID(), at, "rw").Switch.Undo[0]} {
		unmounted := op.Argv[0] == "unshare" // it is when this looks
		with := func(script string) {
			x.sh(`mountpoint -q "$2" || mount "$1" "$2"; cd "$2/lost+found"; eval "$3"; cd /; [ "$4" = false ] || umount "$2"`, f.Device.Path, at, script, fmt.Sprint(unmounted))
		}
		with(":")
		if out, err := undone(bin+":"+os.Getenv("PATH"), op); err == nil {
			t.Errorf("what could not be read counts as empty: %s", out)
		}
		with(`printf theirs >"#12"`)
		if out, err := undone(os.Getenv("PATH"), op); err == nil || !strings.Contains(out, "holds lost+found/#12") {
			t.Errorf("what was found counts as nothing: %v: %s", err, out)
		}
		with(`rm "#12"`)
		if out, err := undone(os.Getenv("PATH"), op); err != nil {
			t.Errorf("an empty one is kept: %v: %s", err, out)
		}
	}
	x.sh(`! mountpoint -q "$1"`, at)
}

// What is mounted is known by its UUID: another filesystem of the type in its place is somebody's, and stays there.
func TestAnotherMountIsSomebodys(t *testing.T) {
	t.Parallel()
	x := newBox(t)
	at := filepath.Join(x.Dir, "mnt")
	_, acts, _ := x.filesystem("ext4", at)
	other := x.disk("other", 40).Path
	x.sh(`mkfs.ext4 -q "$1"`, other)
	number, err := x.apply(acts)
	if err != nil {
		t.Fatal(err)
	}
	x.sh(`umount "$1"; mount "$2" "$1"; mkdir -m 750 "$1/data"`, at, other)
	for _, o := range []change.UndoOptions{{}, {Force: true}} {
		if err := x.undo(number, o); err == nil || x.sh(`stat -c %d "$1"`, at) != x.sh(`printf '%d\n' $((0x$(stat -L -c %t "$1") << 8 | 0x$(stat -L -c %T "$1")))`, other) {
			t.Errorf("%+v: the other was unmounted: %v", o, err)
		}
	}
	x.sh(`umount "$1"; mount "$2" "$1"`, at, x.loops[0])
	if err := x.undo(number, change.UndoOptions{}); err != nil {
		t.Error(err)
	}
	made, err := x.apply(acts)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.undo(made, change.UndoOptions{}); err != nil {
		t.Fatal(err)
	}
	x.sh(`mkdir "$1"; mount "$2" "$1"`, at, other)
	mounting := slices.IndexFunc(acts, func(a change.Act) bool { return a.Switch != nil && a.Switch.Inspect.Mounted != "" })
	if _, err := x.apply(acts[mounting : mounting+1]); err == nil || !strings.Contains(err.Error(), "is no longer as in the plan") {
		t.Errorf("another counts as mounted: %v", err)
	}
	x.sh(`mountpoint -q "$1"; umount "$1"; rmdir "$1"`, at)
}

// In a directory of another user root makes nothing: he could put a link there in time. What is there is not
// hidden, and a link is no place.
func TestPlacesOfOthersAreRefused(t *testing.T) {
	x := newBox(t)
	x.sh(`cd "$1"; mkdir theirs full "full[1]" open; chown nobody theirs; chmod 777 open; touch full/.hidden "full[1]/x"; ln -s full link`, x.Dir)
	f := spec.Filesystem{Type: "ext4", Device: x.disk("empty", 40)}
	for at, want := range map[string]string{"theirs/x": "belongs to user", "theirs/a/b": "belongs to user", "open/x": "is writable by everybody", "full": "is not empty", "full[1]": "is not empty", "link": "a link", "link/x": "a link"} {
		if _, err := x.lay.Filesystem(t.Context(), x.doer, f, filepath.Join(x.Dir, at), provision.Birth{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", at, err)
		}
	}
	p := spec.Disk{Path: filepath.Join(x.Dir, "theirs/file"), Size: 64 << 20}
	m := &poolMaking{ctx: t.Context(), h: x.doer, pool: spec.Pool{Layout: spec.Stripe, Data: []spec.Disk{p}}}
	if err := m.look(); err == nil || !strings.Contains(err.Error(), "belongs to user") {
		t.Error(err)
	}
}

// Whatever dies when, the ends of the disk, the mounts, fstab and the directories are as they were.
func TestFilesystemsAtEveryDeath(t *testing.T) {
	sandbox.NeedTime(t, "lets the machine die some hundred times among filesystems: PLUMB_REAL=1 go test ./internal/storage/layout -run AtEveryDeath")
	for _, kind := range spec.Filesystems() {
		t.Run(kind, func(t *testing.T) {
			x := newBox(t)
			_, acts, _ := x.filesystem(kind, filepath.Join(x.Dir, "mnt"))
			changetest.Run(t, x.crash(acts))
		})
	}
}
