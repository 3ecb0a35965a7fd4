package boost_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"plumb/test/program"
)

// rates reads the parameters that warming raises.
func rates(t *testing.T) string {
	t.Helper()
	var all []string
	for _, name := range []string{"l2arc_noprefetch", "l2arc_mfuonly", "l2arc_write_max", "l2arc_write_boost", "l2arc_headroom"} {
		if text, err := os.ReadFile("/sys/module/zfs/parameters/" + name); err == nil { // not every version has each
			all = append(all, name+"="+strings.TrimSpace(string(text)))
		}
	}
	return strings.Join(all, " ")
}

// Warming on OpenZFS, with an ARC that is smaller than the files. It needs parameters and counters of the module, so it
// runs in the virtual machine (TestCacheOnOpenZFS in test/real/vm).
func TestWarm(t *testing.T) {
	if _, err := os.Stat("/sys/module/zfs/parameters/l2arc_write_max"); err != nil {
		t.Skip("needs OpenZFS: go test ./test/real/vm -run CacheOnOpenZFS with PLUMB_REAL=1 runs it in a machine that has it")
	}
	pool, disks, _ := bare(t)
	device, state := disks[0], filepath.Join(t.TempDir(), "plumb")
	must(t, os.WriteFile("/sys/module/zfs/parameters/zfs_arc_max", []byte("67108864"), 0o644))
	zfs(t, "zfs", "create", "-o", "primarycache=metadata", pool+"/db")
	dir := zfs(t, "zfs", "get", "-H", "-o", "value", "mountpoint", pool+"/db")
	zfs(t, "sh", "-c", `for i in 1 2 3; do head -c 50M /dev/urandom >"$1/$i"; done; ln -s /dev/zero "$1/link"; mkfifo "$1/pipe"; sync`, "sh", dir)
	built.Run(t, 0, "provision", "cache", "add", pool, device, "--yes", "--state", state)
	if now := config(t, pool); !strings.Contains(now, "cache\n") {
		t.Fatalf("it is not there:\n%s", now)
	}
	_, errs := built.Run(t, 3, "provision", "cache", "warm", pool, pool+"/db", "--yes", "--state", state)
	program.Reads(t, errs, "primarycache of .* is metadata", "none of its data reaches it", "plumb fix --set")
	zfs(t, "zfs", "set", "primarycache=all", pool+"/db")
	was := rates(t)
	saved := filepath.Join(t.TempDir(), "before.json")
	stop := reading(t, dir)
	built.Run(t, 0, "provision", "cache", "judge", "--windows", "4", "--every", "2s", "--save", saved)
	out, _ := built.Run(t, 0, "provision", "cache", "warm", pool, pool+"/db", "--yes", "--state", state)
	t.Log(out)
	if m := regexp.MustCompile(`hold ([0-9.]+)M`).FindStringSubmatch(out); m == nil {
		t.Errorf("nothing reached the cache: %s", out)
	}
	if now := rates(t); now != was {
		t.Errorf("parameters: %s\nbefore: %s", now, was)
	}
	out, _ = built.Run(t, 0, "provision", "cache", "judge", "--windows", "6", "--every", "2s", "--before", saved)
	t.Log(out)
	program.Reads(t, out, "served by the cache devices, of what missed the ARC: +[0-9.]+ %", "(Fewer|More) reads go|There is no difference beyond chance")
	stop()
	c := exec.Command(built.Path, "provision", "cache", "warm", pool, pool+"/db", "--yes", "--state", state)
	must(t, c.Start())
	eventually(t, "a parameter is raised", func() bool { return rates(t) != was })
	_ = c.Process.Kill()
	_ = c.Wait()
	eventually(t, "the parameters are as before", func() bool { return rates(t) == was })
	eventually(t, "nobody reads any more", func() bool { return exec.Command("pgrep", "-f", "find "+dir).Run() != nil })
	built.Run(t, 0, "provision", "cache", "remove", pool, device, "--yes", "--state", state)
	if now := config(t, pool); strings.Contains(now, "cache") {
		t.Errorf("it is not gone:\n%s", now)
	}
}

// reading reads the files of a directory again and again, until it is stopped.
func reading(t *testing.T, dir string) (stop func()) {
	t.Helper()
	c := exec.Command("sh", "-c", `while :; do cat "$1"/1 "$1"/2 "$1"/3 >/dev/null; done`, "sh", dir)
	must(t, c.Start())
	stop = func() { _ = c.Process.Kill(); _ = c.Wait() }
	t.Cleanup(stop)
	return stop
}
