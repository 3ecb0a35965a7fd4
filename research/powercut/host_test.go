package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"plumb/research/powercut/writelog"
	"plumb/test/program"
	"plumb/test/sandbox"
)

// cutDisk is a logged disk on this host.
type cutDisk struct {
	*daemon
	loop       *loop
	image, log string
}

func newCutDisk(t *testing.T, bytes int64) *cutDisk {
	t.Helper()
	sandbox.Need(t, needHost())
	dir := t.TempDir()
	d := &cutDisk{image: filepath.Join(dir, "disk"), log: filepath.Join(dir, "log")}
	ok(t, errors.Join(os.WriteFile(d.image, nil, 0o600), os.Truncate(d.image, bytes)))
	var err error
	d.daemon, err = startDaemon(t.Context(), dir, disk{file: d.image, log: d.log, cut: true})
	ok(t, err)
	t.Cleanup(d.kill)
	d.loop, err = d.disk()
	ok(t, err)
	return d
}

// entries are what the log has now.
func (d *cutDisk) entries(t *testing.T) []writelog.Entry {
	t.Helper()
	f, err := os.Open(d.log)
	ok(t, err)
	defer f.Close()
	st, err := f.Stat()
	ok(t, err)
	l, err := writelog.Read(f, st.Size())
	if st.Size() > 0 && errors.Is(err, writelog.ErrNoLog) { // its super block comes with the first flush
		return nil
	}
	ok(t, err)
	if l.Hole {
		t.Fatal("the log has a hole")
	}
	return l.Entries
}

// aligned gives memory for direct I/O.
func aligned(size int) []byte {
	b := make([]byte, size+4096)
	from := int(-uintptr(unsafe.Pointer(&b[0])) & 4095)
	return b[from : from+size]
}

// What the kernel says is complete is in the log, with its content, and a
// flush is there when it ended. A discard is refused, and zeros are written.
func TestCompleteIsInTheLog(t *testing.T) {
	d := newCutDisk(t, 64<<20)
	f, err := os.OpenFile(d.loop.name, os.O_RDWR|unix.O_DIRECT, 0)
	ok(t, err)
	block := aligned(4096)
	_, err = f.WriteAt(block, 32<<20) // QEMU leaves out a flush that has nothing to flush
	ok(t, errors.Join(err, f.Sync()))
	for i := range 50 {
		copy(block, content(uint64(1000+i)))
		_, err := f.WriteAt(block, int64(i)*8192)
		ok(t, err)
		all := d.entries(t)
		last := all[len(all)-1]
		got := make([]byte, 512)
		log, err := os.Open(d.log)
		ok(t, err)
		_, err = log.ReadAt(got, last.Data)
		ok(t, errors.Join(err, log.Close()))
		if last.Sector != int64(i)*16 || last.Sectors != 8 || !bytes.Equal(got, content(uint64(1000+i))) {
			t.Fatalf("write %d: the log ends with %+v", i, last)
		}
		if i%10 == 9 {
			ok(t, f.Sync())
			if all := d.entries(t); all[len(all)-1].Flags&writelog.Flush == 0 {
				t.Fatalf("flush after write %d: the log ends with %+v", i, all[len(all)-1])
			}
		}
	}
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 8192, 4096); !errors.Is(err, unix.EOPNOTSUPP) {
		t.Errorf("a hole was punched: %v", err)
	}
	ok(t, f.Close())
	d.kill()
	ok(t, d.loop.close())
}

// Writers that come all at once are written as they are: see daemonArguments.
func TestConcurrentWritersOfACutDisk(t *testing.T) {
	const writers, blocks = 6, 150
	d := newCutDisk(t, 64<<20)
	f, err := os.OpenFile(d.loop.name, os.O_RDWR|unix.O_DIRECT, 0)
	ok(t, err)
	failed := make([]error, writers)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			block := aligned(16384)
			for i := range blocks {
				n := w*blocks + i
				copy(block, bytes.Repeat(content(uint64(n+1)), 32))
				_, err := f.WriteAt(block, int64(n)*16384)
				failed[w] = errors.Join(failed[w], err)
				if i%20 == w {
					failed[w] = errors.Join(failed[w], f.Sync())
				}
			}
		})
	}
	all.Wait()
	ok(t, errors.Join(append(failed, f.Sync(), f.Close())...))
	image, err := os.Open(d.image)
	ok(t, err)
	defer image.Close()
	got := make([]byte, 16384)
	for n := range writers * blocks {
		_, err := image.ReadAt(got, int64(n)*16384)
		ok(t, err)
		if !bytes.Equal(got, bytes.Repeat(content(uint64(n+1)), 32)) {
			t.Fatalf("block %d is not what was written", n)
		}
	}
	d.kill()
	ok(t, d.loop.close())
}

// A file that is synced on ext4 or XFS makes a flush, and what the filesystem
// says when its disk is gone comes into no log.
func TestFilesystemsOnACutDisk(t *testing.T) {
	for _, fs := range []string{"ext4", "xfs"} {
		t.Run(fs, func(t *testing.T) {
			if _, err := exec.LookPath("mkfs." + fs); err != nil {
				t.Skip("no mkfs." + fs + " here")
			}
			d := newCutDisk(t, 400<<20)
			quiet := map[string]string{"ext4": "-Enodiscard", "xfs": "-K"}[fs]
			if out, err := exec.Command("mkfs."+fs, "-q", quiet, d.loop.name).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			dir := t.TempDir()
			ok(t, unix.Mount(d.loop.name, dir, fs, 0, ""))
			mounted := true
			defer func() {
				if mounted {
					d.kill()
					_ = unix.Unmount(dir, unix.MNT_DETACH)
				}
			}()
			f, err := os.Create(filepath.Join(dir, "file"))
			ok(t, err)
			for i := range 20 {
				before := len(d.entries(t))
				_, err := f.Write(bytes.Repeat([]byte{byte(i + 1)}, 5000))
				ok(t, errors.Join(err, f.Sync()))
				all := d.entries(t)
				flushes := 0
				for _, e := range all[before:] {
					if e.Flags&writelog.Flush != 0 {
						flushes++
					}
				}
				if flushes == 0 || all[len(all)-1].Flags&writelog.Flush == 0 {
					t.Fatalf("sync %d: %d flushes among %d entries, the last is %+v", i, flushes, len(all)-before, all[len(all)-1])
				}
			}
			d.kill()
			st, err := os.Stat(d.log)
			ok(t, err)
			_, _ = f.Write(make([]byte, 1<<20))
			if err := f.Sync(); err == nil {
				t.Error("a sync without a disk went well")
			}
			f.Close()
			ok(t, unix.Unmount(dir, 0))
			mounted = false
			ok(t, d.loop.close())
			if after, err := os.Stat(d.log); err != nil || after.Size() != st.Size() || !after.ModTime().Equal(st.ModTime()) {
				t.Errorf("the log changed after the cut: %v", err)
			}
		})
	}
}

// leftovers are what may not be there after a run.
func leftovers(t *testing.T, dir string) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	ok(t, err)
	if strings.Contains(string(mounts), dir) {
		t.Error("a mount is left")
	}
	names, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), dir) {
			t.Errorf("%s is left", name)
		}
	}
	groups, _ := filepath.Glob(fmt.Sprintf("/sys/fs/cgroup/*/plumb-powercut-%d-*", os.Getpid()))
	left, _ := filepath.Glob(filepath.Join(dir, "host-*"))
	if len(groups) > 0 || len(left) > 0 {
		t.Errorf("left are %v, %v", groups, left)
	}
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range processes {
		if text, err := os.ReadFile(name); err == nil && bytes.Contains(text, []byte(dir)) {
			t.Errorf("a process is left: %s", bytes.ReplaceAll(text, []byte{0}, []byte(" ")))
		}
	}
}

// A guest on the host has its files, sees its disks, gives its code; and
// nothing is left of it however it ends.
func TestHostRuns(t *testing.T) {
	sandbox.Need(t, needHost())
	dir := t.TempDir()
	h := &host{dir: dir}
	ok(t, os.WriteFile(filepath.Join(dir, "come"), []byte("along"), 0o600))
	for name, c := range map[string]struct {
		line    string
		after   time.Duration // until the context ends; 0 for not
		code    int
		printed string
		wrong   bool
	}{
		"ends": {line: "[ $$ = 1 ] && cat $IN/come && echo got >$OUT/it && echo left >/tmp/x && exit 7", code: 7, printed: "along"},
		"mounts": {line: "mkfs.ext4 -q -F $DISK_data && mkdir /srv/data && mount $DISK_data /srv/data && echo x >/srv/data/x && echo went; echo got >$OUT/it",
			printed: "went"},
		"is cut": {line: "mkfs.ext4 -q -F $DISK_data && mkdir /srv/data && mount $DISK_data /srv/data && echo serves && cat /dev/zero >/srv/data/x; echo got >$OUT/it; sleep 60",
			after: 2 * time.Second, code: -1, wrong: true, printed: "serves"},
		"hangs": {line: "trap '' TERM INT; sleep 100 & wait; sleep 100", after: time.Second, code: -1, wrong: true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.after > 0 {
				time.AfterFunc(c.after, cancel)
			}
			work := t.TempDir()
			g := guest{line: c.line, in: []string{filepath.Join(dir, "come")}, out: filepath.Join(work, "out"), deadline: time.Minute,
				disks: []disk{{name: "data", file: filepath.Join(work, "disk"), bytes: 64 << 20, cut: true}}}
			code, output, err := h.Run(ctx, g)
			if code != c.code || (err != nil) != c.wrong || errors.Is(err, errLeft) || !strings.Contains(string(output), c.printed) {
				t.Errorf("%d, %v, %q", code, err, output)
			}
			if _, err := os.Stat(filepath.Join(work, "out", "it")); err != nil && !c.wrong {
				t.Error(err)
			}
			leftovers(t, dir)
		})
	}
	if _, _, err := h.Run(t.Context(), guest{line: "true", deadline: time.Minute, disks: []disk{{name: "data", file: filepath.Join(dir, "none"), cut: true}}}); err == nil {
		t.Error("a disk without a file was made")
	}
	leftovers(t, dir)
}

// TestTrialsOnThisHost cuts the power of a PostgreSQL on ext4 in both ways.
func TestTrialsOnThisHost(t *testing.T) {
	sandbox.NeedTime(t, "a server under load whose power is cut takes half a minute; make test-real does it")
	list, err := chosen("postgres-ext4")
	ok(t, err)
	versions, err := hostVersions(list[0])
	sandbox.Need(t, err)
	dir := t.TempDir()
	plumb, err := program.Build(dir)
	ok(t, err)
	self := filepath.Join(dir, "powercut")
	if out, err := exec.Command("go", "build", "-o", self, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b := &bench{machine: &host{dir}, plumb: plumb.Path, self: self, images: t.TempDir(), dir: dir, seed: rand.Uint64(), cuts: 1,
		driveHere: 4 * time.Second, shortest: time.Second, longestHere: 3 * time.Second, say: t.Logf}
	for _, k := range kinds() {
		ok(t, b.session(t.Context(), list[0].placed(versions), k, 0, 1, func(r trial) error {
			t.Logf("%s: %s", k, r.line())
			if o := r.Outcome; r.Error != "" || o.failedStart() || o.Lost > 0 || o.Acknowledged == 0 || len(o.Bad) > 0 {
				t.Errorf("%+v", r)
			}
			return nil
		}))
	}
	leftovers(t, dir)
}
