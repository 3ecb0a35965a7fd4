package boost_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/test/program"
	"plumb/test/sandbox"
)

// bare makes a pool, and two disks that are in none.
func bare(t *testing.T) (pool string, disks [2]string, fuse bool) {
	t.Helper()
	sandbox.NeedLong(t, "makes a pool: run without -short")
	box := sandbox.ForTest(t, "")
	for i, name := range []string{"cache", "log"} {
		disks[i] = "/dev/disk/by-id/virtio-" + name // of the virtual machine, which has no loop devices
		if _, err := os.Stat(disks[i]); err != nil {
			disks[i], err = box.Loop("disk-"+name, 128)
			must(t, err)
		}
	}
	newPool, fuse := box.AnyZFS()
	p, err := newPool(768) // compare wants 132 MB free
	must(t, err)
	return p.Name, disks, fuse
}

// config gives the devices of a pool, without their counts of errors.
func config(t *testing.T, pool string) string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(zfs(t, "zpool", "status", pool)) {
		if f := strings.Fields(line); len(f) > 0 && (len(f) == 5 || f[0] == "logs" || f[0] == "cache") {
			lines = append(lines, strings.Join(f[:min(len(f), 2)], " "))
		}
	}
	return strings.Join(lines, "\n")
}

// There and back, as cache and as log, with zfs-fuse or OpenZFS, whichever is here.
func TestCache(t *testing.T) {
	pool, disks, fuse := bare(t)
	state := filepath.Join(t.TempDir(), "plumb")
	was := config(t, pool)
	cache := func(t *testing.T, code int, args ...string) (string, string) {
		return built.Run(t, code, append([]string{"provision", "cache"}, append(args, "--state", state)...)...)
	}
	for _, class := range []string{"cache", "logs"} {
		t.Run(class, func(t *testing.T) {
			add := []string{"add", pool, disks[0], "--yes"}
			if class == "logs" {
				add = append(add, "--log")
			}
			cache(t, 0, append(add, "--dry-run")...)
			if now := config(t, pool); now != was {
				t.Fatalf("a dry run added it:\n%s", now)
			}
			cache(t, 0, add...)
			if now := config(t, pool); !strings.Contains(now, class+"\n"+filepath.Base(disks[0])) && !strings.Contains(now, class+"\n"+disks[0]) {
				t.Fatalf("it is not there:\n%s", now)
			}
			out, _ := cache(t, 0, add...)
			program.Reads(t, out, "Nothing to do")
			cache(t, 0, "remove", pool, disks[0], "--yes")
			if now := config(t, pool); now != was {
				t.Errorf("it is not gone:\n%s", now)
			}
			if head, err := exec.Command("cmp", "-n", "16777216", disks[0], "/dev/zero").CombinedOutput(); err != nil {
				t.Errorf("it is not empty again: %s", head)
			}
			_, errs := cache(t, 3, "remove", pool, disks[0], "--yes")
			program.Reads(t, errs, "the journal does not say")
		})
	}
	t.Run("compare", func(t *testing.T) { comparing(t, pool, disks[0], was, fuse, cache) })
	t.Run("dead", func(t *testing.T) {
		cache(t, 0, "add", pool, disks[0], "--log", "--yes")
		zfs(t, "zpool", "offline", pool, disks[0])
		dead := config(t, pool)
		_, errs := cache(t, 2, "add", pool, disks[0], "--log")
		program.Reads(t, errs, "cannot ask")
		if now := config(t, pool); now != dead {
			t.Errorf("nobody was asked, and there is\n%s\nin place of\n%s", now, dead)
		}
		cache(t, 0, "add", pool, disks[0], "--log", "--yes")
		cache(t, 0, "remove", pool, disks[0], "--yes")
	})
	t.Run("of others", func(t *testing.T) {
		zfs(t, "zpool", "add", pool, "cache", disks[1])
		_, errs := cache(t, 3, "remove", pool, disks[1], "--yes")
		program.Reads(t, errs, "the journal does not say", "zpool remove")
		zfs(t, "zpool", "remove", pool, disks[1])
	})
	t.Run("not empty", func(t *testing.T) {
		must(t, exec.Command("mkfs.ext4", "-q", "-F", disks[1]).Run())
		_, errs := cache(t, 3, "add", pool, disks[1], "--yes")
		program.Reads(t, errs, "is not empty")
	})
	t.Run("memory", func(t *testing.T) { inMemory(t, pool, cache) })
	if fuse {
		_, errs := cache(t, 3, "warm", pool, pool, "--yes")
		program.Reads(t, errs, "zfs-fuse has no parameters")
		_, errs = built.Run(t, 3, "provision", "cache", "judge")
		program.Reads(t, errs, "only OpenZFS has them")
	}
	t.Run("killed", func(t *testing.T) { killedAdding(t, pool, disks[0], was) })
}

// comparing takes a log device out and adds it again, and leaves it in its pool.
func comparing(t *testing.T, pool, device, was string, fuse bool, cache func(*testing.T, int, ...string) (string, string)) {
	dir := strings.TrimSpace(zfs(t, "zfs", "get", "-H", "-o", "value", "mountpoint", pool))
	compare := []string{"compare", pool, device, dir, "--times", "1", "--every", "5s", "--yes"}
	_, errs := cache(t, 3, compare...)
	program.Reads(t, errs, "is not a working log device of pool")
	cache(t, 0, "add", pool, device, "--log", "--yes")
	with := config(t, pool)
	_, errs = cache(t, 3, "compare", pool, device, t.TempDir(), "--yes")
	program.Reads(t, errs, "is not in the pool")
	cache(t, 0, append(compare, "--dry-run")...)
	out, errs := cache(t, 0, compare...)
	t.Log(out, errs)
	program.Reads(t, out, `(?s)with .*writes?\n.*without .*without .*with `, "With the log device durable writes are|There is no difference beyond chance|not known")
	if now := config(t, pool); now != with {
		t.Errorf("after turns there is\n%s\nin place of\n%s", now, with)
	}
	if !fuse { // which has no such property
		zfs(t, "zfs", "set", "sync=disabled", pool)
		_, errs = cache(t, 3, compare...)
		program.Reads(t, errs, "no write there is durable")
		zfs(t, "zfs", "inherit", "sync", pool)
	}
	out, _ = built.Run(t, 0, "provision", "cache", "judge", "--fsync", dir, "--windows", "4", "--every", "2s")
	program.Reads(t, out, "half of the durable writes of 4 KiB took at most")
	cache(t, 0, "remove", pool, device, "--yes")
	if now := config(t, pool); now != was {
		t.Errorf("it is not gone:\n%s", now)
	}
}

// inMemory wants a log refused that is memory.
func inMemory(t *testing.T, pool string, cache func(*testing.T, int, ...string) (string, string)) {
	file := fmt.Sprintf("/dev/shm/plumb-test-%d", os.Getpid())
	if out, err := exec.Command("stat", "-f", "-c", "%T", "/dev/shm").Output(); err != nil || strings.TrimSpace(string(out)) != "tmpfs" {
		t.Skip("no tmpfs at /dev/shm")
	}
	must(t, os.WriteFile(file, nil, 0o600))
	defer os.Remove(file)
	must(t, os.Truncate(file, 128<<20))
	out, err := exec.Command("losetup", "-f", "--show", file).Output()
	if err != nil {
		t.Log("there are no loop devices here, so none in memory:", err)
		return
	}
	loop := strings.TrimSpace(string(out))
	defer func() { must(t, exec.Command("losetup", "-d", loop).Run()) }()
	_, errs := cache(t, 3, "add", pool, loop, "--log", "--yes")
	program.Reads(t, errs, "is in memory", "plumb boost")
}

// killedAdding kills plumb at random moments while it adds a device: undo leaves the pool as it was.
func killedAdding(t *testing.T, pool, device, was string) {
	state, midway, times := filepath.Join(t.TempDir(), "plumb"), 0, 3
	if os.Getenv("PLUMB_REAL") != "" {
		times = kills()
	}
	for n := range times {
		c := exec.Command(built.Path, "provision", "cache", "add", pool, device, "--yes", "--state", state)
		must(t, c.Start())
		ended := make(chan struct{})
		go func() { _ = c.Wait(); close(ended) }()
		eventually(t, "it begins a journal", there(filepath.Join(state, fmt.Sprintf("change-%06d.journal", n+1))))
		wait := time.Duration(rand.Float64() * float64(400*time.Millisecond))
		select {
		case <-ended:
		case <-time.After(wait):
		}
		_ = c.Process.Kill()
		<-ended
		if config(t, pool) != was {
			midway++
		}
		eventually(t, "nobody works on it any more", func() bool { return exec.Command("pgrep", "-f", "zpool add "+pool).Run() != nil })
		built.Run(t, 0, "undo", "--all", "--yes", "--state", state)
		if now := config(t, pool); now != was {
			t.Fatalf("killed after %v: undo left\n%s", wait, now)
		}
	}
	t.Logf("%d kills, %d of them left the device in the pool", times, midway)
}
