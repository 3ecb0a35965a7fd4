package kinds

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/internal/await"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/inventory"
	"plumb/internal/journal"
	"plumb/test/locked"
	"plumb/test/mortal"
)

// These tests make one of each kind on the real machine in a process that is
// killed before, after and amid every operation, and look at the machine afterwards. Pools
// are tested where volumes are made: a machine has one zfs-fuse.

const (
	envWhat = "PLUMB_MADE_TEST" // "make", "leave", "sweep", "adopt", "forget" or "remove"
	envDir  = "PLUMB_MADE_DIR"  // of that life

	run        = "crash1"
	limitValue = "987654" // of our own devices, to be found again
	setting    = "fs.lease-break-time"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func exists(name string) bool { _, err := os.Lstat(name); return err == nil }

func TestMain(m *testing.M) {
	if what := os.Getenv(envWhat); what != "" {
		if err := mortalLife(what); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func mortalLife(what string) error {
	m, err := mortal.Born()
	if err != nil {
		return err
	}
	ctx, dir := context.Background(), os.Getenv(envDir)
	switch what {
	case "adopt":
		err = adoptPrecious(ctx, m, dir)
	case "forget":
		err = Books(m, filepath.Join(dir, "books")).Forget(ctx, inventory.File, filepath.Join(dir, "precious"))
	case "remove":
		err = Books(m, filepath.Join(dir, "books")).RemoveOne(ctx, inventory.File, filepath.Join(dir, "precious"))
	}
	if what == "adopt" || what == "forget" || what == "remove" {
		m.Tell()
		return err
	}
	if what == "sweep" {
		err := sweep(ctx, m, dir)
		m.Tell()
		return err
	}
	b, err := Books(m, filepath.Join(dir, "books")).Open(ctx, run)
	if err != nil {
		return err
	}
	if err := makeAll(ctx, m, b, filepath.Join(dir, "lab"), "plumb-"+filepath.Base(dir)); err != nil {
		return err
	}
	if what == "leave" {
		return nil
	}
	err = b.Close(ctx)
	m.Tell()
	return err
}

// makeAll makes one of each kind, as a lab does. lab is its directory, name
// that of its control group.
func makeAll(ctx context.Context, d host.Launcher, b *inventory.Book, lab, name string) error {
	group := filepath.Join("/sys/fs/cgroup/memory", name)
	image, mnt, device := filepath.Join(lab, "image"), filepath.Join(lab, "mnt"), ""
	command := func(argv ...string) func(*inventory.Thing) error {
		return func(*inventory.Thing) error { _, err := d.Run(ctx, argv...); return err }
	}
	steps := []struct {
		thing inventory.Thing
		make  func(*inventory.Thing) error
	}{
		{inventory.Thing{Kind: inventory.Tree, Name: lab}, func(*inventory.Thing) error {
			_, err := d.Run(ctx, "mkdir", lab)
			return errors.Join(err, d.Append(ctx, filepath.Join(lab, inventory.Marker), []byte(run+"\n")))
		}},
		{inventory.Thing{Kind: inventory.File, Name: image}, command("truncate", "-s", "16M", image)},
		{inventory.Thing{Kind: inventory.Loop, Proof: map[string]string{"file": image}}, func(t *inventory.Thing) error {
			out, err := d.Run(ctx, "losetup", "--find", "--show", image)
			t.Name = strings.TrimSpace(string(out))
			device = t.Name
			return err
		}},
		{inventory.Thing{Kind: inventory.Mount, Name: mnt}, func(t *inventory.Thing) error {
			_, err := d.Run(ctx, "sh", "-c", `mkfs.ext4 -q "$1" && mkdir "$2" && mount "$1" "$2"`, "sh", device, mnt)
			return err
		}},
		{inventory.Thing{Kind: inventory.Group, Name: group}, command("mkdir", group)},
		{inventory.Thing{Kind: inventory.Process, Proof: map[string]string{"argv": "sleep 1000 " + lab}}, func(t *inventory.Thing) error {
			r, err := d.Start(ctx, host.Process{Argv: []string{"sh", "-c", "sleep 1000 & cd \"$1\"; exec sh -c 'sleep 1000; :' \"$1/x\"", "sh", mnt}, Groups: []string{group}})
			if err != nil {
				return err
			}
			return Proven(ctx, d, t, r.PID())
		}},
		{inventory.Thing{Kind: inventory.Limit, Name: throttle}, func(t *inventory.Thing) error { return d.Write(ctx, throttle, []byte(t.Proof["line"])) }},
		{inventory.Thing{Kind: inventory.Sysctl, Name: setting}, func(t *inventory.Thing) error {
			return d.Write(ctx, "/proc/sys/fs/lease-break-time", []byte(t.Proof["value"]))
		}},
	}
	for _, s := range steps {
		switch s.thing.Kind {
		case inventory.Mount:
			s.thing.Proof = map[string]string{"source": device}
		case inventory.Process:
			s.thing.Proof = map[string]string{"argv": "sh -c sleep 1000; : " + mnt + "/x"}
		case inventory.Limit:
			number := deviceNumber(device)
			s.thing.Proof = map[string]string{"line": number + " " + limitValue, "undo": number + " 0"}
		case inventory.Sysctl:
			s.thing.Proof = map[string]string{"before": "45", "value": "46"}
		}
		if _, err := b.Make(ctx, s.thing, s.make); err != nil {
			return err
		}
	}
	return nil
}

const throttle = "/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device"

func deviceNumber(device string) string {
	text, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(device), "dev"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// child runs one life, to its death when at is not 0, and gives how many
// operations there were.
func child(t *testing.T, dir, what string, at int, how string) int {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), envWhat+"="+what, envDir+"="+dir)
	return mortal.Live(t, c, at, how)
}

// remains lists what is on the machine of the things in a directory.
func remains(t *testing.T, dir string) (all []string) {
	t.Helper()
	grep := func(what, file, word string) {
		text, err := os.ReadFile(file)
		if err != nil {
			return // has ended
		}
		for line := range strings.Lines(strings.ReplaceAll(string(text), "\x00", " ")) {
			if strings.Contains(line, word) {
				all = append(all, what+": "+strings.TrimSpace(line))
			}
		}
	}
	grep("mount", "/proc/self/mountinfo", dir)
	grep("limit", throttle, " "+limitValue)
	grep("setting", "/proc/sys/fs/lease-break-time", "46")
	for what, pattern := range map[string]string{"loop": "/sys/block/loop*/loop/backing_file", "process": "/proc/[0-9]*/cmdline"} {
		files, err := filepath.Glob(pattern)
		must(t, err)
		for _, f := range files {
			grep(what, f, dir)
		}
	}
	for _, pattern := range []string{"/sys/fs/cgroup/memory/plumb-" + filepath.Base(dir), filepath.Join(dir, "lab"), filepath.Join(dir, "books/*.book")} {
		files, err := filepath.Glob(pattern)
		must(t, err)
		all = append(all, files...)
	}
	return all
}

// needAll skips where not all kinds can be made. The setting that is changed is the whole machine's: who else runs this waits.
func needAll(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounts, loop devices and control groups need root")
	}
	for _, f := range []string{throttle, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/proc/sys/fs/lease-break-time"} {
		if _, err := os.Stat(f); err != nil {
			t.Skipf("this machine has no %s", f)
		}
	}
	for _, p := range []string{"losetup", "mkfs.ext4"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skip(err)
		}
	}
	lock, err := locked.File("/tmp/plumb-test-lease-break-time.lock")
	must(t, err)
	t.Cleanup(func() { lock.Close() })
	if text, err := os.ReadFile("/proc/sys/fs/lease-break-time"); err != nil || strings.TrimSpace(string(text)) != "45" {
		t.Skipf("%s is not 45", setting)
	}
	if out, err := exec.Command("losetup", "--find").CombinedOutput(); err != nil {
		t.Skipf("no loop device: %s", out)
	}
}

// fresh makes the directory of one life.
func fresh(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "made-crash-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// ways are the deaths that are tried: with -short some of them.
func ways(t *testing.T, n int, try func(at int, how string)) {
	t.Helper()
	if n < 15 {
		t.Fatalf("only %d operations", n)
	}
	every := 2 // a death at each operation, though not in each way
	switch {
	case testing.Short():
		every = 11
	case os.Getenv("PLUMB_REAL") != "":
		every = 1
	}
	mortal.Ways(t, n, every, try)
}

func sweepAll(t *testing.T, dir string) {
	t.Helper()
	if err := sweep(t.Context(), hosttest.LiveDoer(t), dir); err != nil {
		t.Error(err)
	}
}

// sweep sweeps until everything is gone. A sweep does not wait long for what is busy, and on a machine with much to do that
// is not always long enough: it says so, and the thing stays in the book for the next one. Nothing else is tried again.
func sweep(ctx context.Context, d host.Doer, dir string) error {
	return await.Until(ctx, 2*time.Minute, func() (bool, error) {
		swept, err := Books(d, filepath.Join(dir, "books")).Sweep(ctx)
		wait := err == nil
		for _, s := range swept {
			if s.Err != nil {
				err = errors.Join(err, fmt.Errorf("%+v: %w", s.Thing, s.Err))
				wait = wait && takesLonger(s.Err)
			}
		}
		return err == nil || !wait, err
	})
}

// takesLonger tells whether a thing was only not gone in time.
func takesLonger(err error) bool {
	slow := func(says string) bool { return strings.Contains(err.Error(), says) }
	return errors.Is(err, context.DeadlineExceeded) || slow("busy") || slow("still there") || slow("still mounted") || slow("does not end") || slow("kept until")
}

func TestCrashAtEveryStep(t *testing.T) {
	needAll(t)
	dir := fresh(t)
	n := child(t, dir, "make", 0, "never")
	if left := remains(t, dir); len(left) > 0 {
		t.Fatalf("without a crash these are left: %q", left)
	}
	decoy := decoys(t)
	most := 0
	ways(t, n, func(at int, how string) {
		child(t, dir, "make", at, how)
		most = max(most, len(remains(t, dir)))
		sweepAll(t, dir)
		if left := remains(t, dir); len(left) > 0 {
			t.Errorf("killed %s operation %d of %d: left are %q", how, at, n, left)
		}
	})
	if most < 8 {
		t.Errorf("a crash left %d things at most: the test does not see them", most)
	}
	decoy.check(t)
}

// A sweep that is killed is gone on with by the next.
func TestCrashOfASweep(t *testing.T) {
	needAll(t)
	dir := fresh(t)
	child(t, dir, "leave", 0, "never")
	n := child(t, dir, "sweep", 0, "never")
	decoy := decoys(t)
	ways(t, n, func(at int, how string) {
		child(t, dir, "leave", 0, "never")
		child(t, dir, "sweep", at, how)
		sweepAll(t, dir)
		if left := remains(t, dir); len(left) > 0 {
			t.Errorf("sweep killed %s operation %d of %d: left are %q", how, at, n, left)
		}
	})
	decoy.check(t)
}

// decoy is what somebody else has made: one of each kind.
type decoy struct {
	dir, mnt, loop, group string
	process               *exec.Cmd
}

func decoys(t *testing.T) decoy {
	t.Helper()
	dir := fresh(t)
	d := decoy{dir: dir, mnt: filepath.Join(dir, "mnt"), group: "/sys/fs/cgroup/memory/decoy-" + filepath.Base(dir)}
	sh := func(script string) string {
		out, err := exec.Command("sh", "-ec", script, "sh", dir, d.loop).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", script, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	d.loop = sh(`truncate -s 16M "$1/image"; echo crash9 > "$1/` + inventory.Marker + `"; losetup --find --show "$1/image"`)
	t.Cleanup(func() { sh(`losetup -d "$2"`) })
	sh(`mkfs.ext4 -q "$2"; mkdir "$1/mnt"; mount "$2" "$1/mnt"`)
	t.Cleanup(func() { sh(`umount "$1/mnt" || umount -l "$1/mnt"`) }) // others may just look at it
	must(t, os.Mkdir(d.group, 0o755))
	t.Cleanup(func() { os.Remove(d.group) })
	must(t, os.WriteFile(throttle, []byte(deviceNumber(d.loop)+" 123456"), 0))
	t.Cleanup(func() { os.WriteFile(throttle, []byte(deviceNumber(d.loop)+" 0"), 0) })
	d.process = exec.Command("sleep", "1000")
	must(t, d.process.Start())
	t.Cleanup(func() { d.process.Process.Kill(); d.process.Wait() })
	return d
}

func (d decoy) check(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(throttle)
	must(t, err)
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	backing, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(d.loop), "loop/backing_file"))
	must(t, err)
	for what, ok := range map[string]bool{
		"limit":   strings.Contains(string(text), deviceNumber(d.loop)+" 123456"),
		"mount":   strings.Contains(string(mounts), d.mnt),
		"loop":    strings.HasPrefix(string(backing), d.dir),
		"group":   exists(d.group),
		"tree":    exists(filepath.Join(d.dir, "image")),
		"process": d.process.Process.Signal(syscall.Signal(0)) == nil,
	} {
		if !ok {
			t.Errorf("the %s of somebody else is gone", what)
		}
	}
}

// forge writes the book of a run that is dead: of things that it says were
// made, and of others that it says were about to be.
func forge(t *testing.T, file string, whole, half []inventory.Thing) {
	t.Helper()
	var log journal.Log
	var all []byte
	add := func(kind string, body any) {
		text, err := log.Append(time.Now(), kind, body)
		must(t, err)
		all = append(all, text...)
	}
	add("begin", map[string]any{"version": 1, "run": run})
	for _, thing := range whole {
		add("intent", thing)
		add("made", map[string]any{"intent": len(log.Records), "thing": thing})
	}
	for _, thing := range half {
		add("intent", thing)
	}
	must(t, os.WriteFile(file, all, 0o600))
}

// A book that names what since belongs to others takes none of it away.
func TestSweepTouchesNothingOfOthers(t *testing.T) {
	needAll(t)
	d, h, books := decoys(t), hosttest.LiveDoer(t), t.TempDir()
	number := deviceNumber(d.loop)
	things := []inventory.Thing{
		{Kind: inventory.Tree, Name: d.dir, Proof: map[string]string{"inode": "1"}},
		{Kind: inventory.File, Name: filepath.Join(d.dir, "image"), Proof: map[string]string{"inode": "1"}},
		{Kind: inventory.Loop, Name: d.loop, Proof: map[string]string{"file": "/gone/image"}},
		{Kind: inventory.Mount, Name: d.mnt, Proof: map[string]string{"source": "/dev/loop999"}},
		{Kind: inventory.Process, Name: strconv.Itoa(d.process.Process.Pid), Proof: map[string]string{"start": "1", "boot": inventory.Boot(t.Context(), h), "argv": "sleep 1000"}},
		{Kind: inventory.Limit, Name: throttle, Proof: map[string]string{"line": number + " 5", "undo": number + " 0"}},
		{Kind: inventory.Sysctl, Name: setting, Proof: map[string]string{"before": "7", "value": "8"}},
		{Kind: inventory.Group, Name: "/etc"},
	}
	book := filepath.Join(books, "forged.book")
	forge(t, book, things, []inventory.Thing{ // whose making may not have begun
		{Kind: inventory.Loop, Proof: map[string]string{"file": "/gone/image"}},
		{Kind: inventory.Process, Proof: map[string]string{"argv": "sleep 1000"}},
	})
	swept, err := Books(h, books).Sweep(t.Context())
	must(t, err)
	foreign := 0
	for _, s := range swept {
		if errors.Is(s.Err, inventory.ErrForeign) {
			foreign++
		} else if s.Err != nil {
			t.Errorf("%+v: %v", s.Thing, s.Err)
		}
	}
	if foreign != len(things) {
		t.Errorf("%d of %d things were not ours: %v", foreign, len(things), swept)
	}
	if _, err := os.Stat(book); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the book is kept for things that are not ours: %v", err)
	}
	time.Sleep(10 * time.Millisecond)
	d.check(t)
}

// A process whose number was not yet noted is found though nice and unshare, with which it was begun, ran it in their place.
func TestProcessInPlaceOfItsWrapper(t *testing.T) {
	needAll(t)
	h, books, dir := hosttest.LiveDoer(t), t.TempDir(), t.TempDir()
	script := "sleep 1000; : " + dir + "/conf"
	server := exec.Command("sh", "-c", script)
	must(t, server.Start())
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	defer func() { _ = server.Process.Kill() }()
	must(t, os.WriteFile(filepath.Join(dir, inventory.Marker), []byte(run+"\n"), 0o600))
	tree := thingOf(inventory.Tree, dir, map[string]string{})
	must(t, proveInode(t.Context(), h, &tree))
	forge(t, filepath.Join(books, "dead.book"), []inventory.Thing{tree},
		[]inventory.Thing{{Kind: inventory.Process, Proof: map[string]string{"argv": "nice -n 19 unshare --net -- sh -c " + script}}})
	swept, err := Books(h, books).Sweep(t.Context())
	must(t, err)
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Errorf("it still runs after %+v", swept)
	}
}

// What somebody keeps busy is let go of lazily, stays in the book until it is
// free, and so does all it lies on.
func TestBusyMount(t *testing.T) {
	if needAll(t); testing.Short() {
		t.Skip("it waits for half a minute")
	}
	dir := fresh(t)
	child(t, dir, "leave", 0, "never")
	busy := exec.Command("sleep", "1000")
	busy.Dir = filepath.Join(dir, "lab/mnt")
	must(t, busy.Start())
	defer func() { busy.Process.Kill(); busy.Wait() }()
	swept, err := Books(hosttest.LiveDoer(t), filepath.Join(dir, "books")).Sweep(t.Context())
	must(t, err)
	for _, s := range swept {
		kept := s.Thing.Kind == inventory.Loop || s.Thing.Kind == inventory.File || s.Thing.Kind == inventory.Tree
		if kept != (s.Err != nil) || errors.Is(s.Err, inventory.ErrForeign) {
			t.Errorf("%+v: %v", s.Thing, s.Err)
		}
	}
	if !exists(filepath.Join(dir, "lab/image")) || busy.Process.Signal(syscall.Signal(0)) != nil {
		t.Error("the file below what is busy was removed, or somebody's process ended")
	}
	must(t, busy.Process.Kill())
	busy.Wait()
	sweepAll(t, dir)
	if left := remains(t, dir); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}
