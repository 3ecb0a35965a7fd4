package sandbox

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/zfs"
	"plumb/test/namespace"
)

func TestStale(t *testing.T) {
	behind := map[string]string{"loop1": "/tmp/plumb-12/a.img", "/dev/loop1": "/tmp/plumb-12/a.img", "loop2": "/srv/disk"}
	for text, want := range map[string]bool{
		"state: ONLINE\nconfig:\n\tNAME STATE READ WRITE CKSUM\n\tp ONLINE 0 0 0\n\t  /tmp/plumb-12/vdev1-0 ONLINE 0 0 0\n":                                             true,
		"state: ONLINE\nconfig:\n\tNAME STATE READ WRITE CKSUM\n\tp ONLINE 0 0 0\n\t  /srv/vdev1-0 ONLINE 0 0 0\n":                                                      false,
		"state: ONLINE\nconfig:\n\tNAME STATE READ WRITE CKSUM\n\tp ONLINE 0 0 0\n\t  loop1 ONLINE 0 0 0\n":                                                             true,
		"state: ONLINE\nconfig:\n\tNAME STATE READ WRITE CKSUM\n\tp ONLINE 0 0 0\n\t  loop2 ONLINE 0 0 0\n":                                                             false,
		"state: UNAVAIL\nconfig:\n\tNAME STATE READ WRITE CKSUM\n\tp UNAVAIL 0 0 0\n\t  loop2 UNAVAIL 0 0 0\n":                                                          true,
		"state: UNAVAIL\nconfig:\n\tNAME STATE READ WRITE CKSUM\n\tp UNAVAIL 0 0 0\n\t  sdb UNAVAIL 0 0 0\n":                                                            false,
		"state: DEGRADED\nconfig:\n\tNAME STATE READ WRITE CKSUM\n\tp DEGRADED 0 0 0\n\t  mirror-0 DEGRADED 0 0 0\n\t    loop1 ONLINE 0 0 0\n\t    sdb UNAVAIL 0 0 0\n": false,
		"state: ONLINE\nconfig:\n\tNAME STATE READ WRITE CKSUM\n\tp ONLINE 0 0 0\n\t  /tmp/plumb-12/vdev1-0 ONLINE 0 0 0\n\tcache\n\t  sdc ONLINE 0 0 0\n":              false,
		"state: ONLINE\nconfig:\n\tNAME STATE READ WRITE CKSUM\n\tp ONLINE 0 0 0\n\t  /tmp/plumb-12/vdev1-0 ONLINE 0 0 0\n\tlogs\n\t  loop1 ONLINE 0 0 0\n":             true,
		"state: ONLINE\n": false,
	} {
		all := zfs.ParseStatus([]byte("  pool: p\n " + text))
		if len(all) != 1 || stale(all[0], func(loop string) string { return behind[loop] }) != want {
			t.Errorf("it is not %v:\n%s", want, text)
		}
	}
}

const (
	envAlone  = "PLUMB_ALONE"  // a process that has a zfs-fuse of its own; in this directory
	envKilled = "PLUMB_KILLED" // a test that makes a pool, and waits to be killed
)

// A test that is killed leaves its pool in the cache of zfs-fuse. The next one clears it away, also when zfs-fuse has
// died meanwhile and the pool's loop device may be another file's.
func TestKilledTestLeavesNoPool(t *testing.T) {
	switch {
	case os.Getenv(envKilled) != "":
		killed(t)
	case os.Getenv(envAlone) != "":
		clears(t)
	default:
		box(t) // what a machine must have at all
		if err := needRoot("a ZFS pool"); err != nil {
			t.Skip(err)
		}
		_, err := find("no zfs-fuse", "apt-get install zfs-fuse", "zfs-fuse")
		Need(t, err)
		dir := t.TempDir()
		t.Cleanup(func() {
			out, err := exec.Command("sh", "-c", `losetup --list --noheadings --output NAME,BACK-FILE | grep -F "$1/" | while read -r loop _; do losetup --detach "$loop"; done`, "sh", dir).CombinedOutput()
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
		c := exec.Command("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private", "sh", "-c", namespace.LetGo("")+namespace.OwnZFS+`exec "$@"`, "sh",
			os.Args[0], "-test.run=^TestKilledTestLeavesNoPool$", "-test.v")
		c.Env = append(os.Environ(), envAlone+"="+dir, "TMPDIR="+dir, namespace.EnvApart+"=")
		out, err := c.CombinedOutput()
		t.Logf("%s", out)
		if c.ProcessState.ExitCode() == 9 {
			t.Skip("no mounts can be made here")
		}
		if err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Fatal(err)
		}
	}
}

// killed makes a pool on a loop device and waits for its end.
func killed(t *testing.T) {
	b, err := New("")
	Need(t, err)
	p, err := b.ZFSFuseOf(100, "LOOP")
	Need(t, err)
	os.Stdout.WriteString("made " + p.Name + " " + p.Files[0] + "\n")
	time.Sleep(10 * time.Minute)
}

// leave runs a test that is killed once it has a pool.
func leave(t *testing.T, env ...string) (pool, loop string) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestKilledTestLeavesNoPool$")
	c.Env = append(append(os.Environ(), envKilled+"=1"), env...)
	out, err := c.StdoutPipe()
	Need(t, err)
	Need(t, c.Start())
	var said strings.Builder
	for s := bufio.NewScanner(io.TeeReader(out, &said)); pool == "" && s.Scan(); {
		if f := strings.Fields(s.Text()); len(f) == 3 && f[0] == "made" {
			pool, loop = f[1], f[2]
		}
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	if pool == "" {
		t.Fatalf("no pool was made: %s", said.String())
	}
	return pool, loop
}

func clears(t *testing.T) {
	left, _ := leave(t)
	has := func(pool string) bool {
		text, err := output(exec.Command("zpool", "list", "-H", "-o", "name"))
		Need(t, err)
		return strings.Contains("\n"+text, "\n"+pool+"\n")
	}
	if !has(left) {
		t.Fatal("zfs-fuse went with the test that was killed: nothing is tried")
	}
	b := box(t)
	_, err := b.ZFSFuse(100)
	Need(t, err)
	if has(left) {
		t.Errorf("%s is left of a test that was killed", left)
	}
	Need(t, b.Close())

	left, loop := leave(t)
	_, err = output(exec.Command("pkill", "-9", "-x", "zfs-fuse")) // it sees no other one: it has process numbers of its own
	Need(t, err)
	ended(t)
	dirs, _ := filepath.Glob(os.Getenv(envAlone) + "/plumb-*/pool1")
	for _, dir := range dirs {
		_ = exec.Command("umount", "-l", dir).Run() // of the first test nothing is mounted any more
	}
	Need(t, until(15*time.Second, func(context.Context) error {
		if !strings.HasPrefix(backing(loop), os.Getenv(envAlone)) {
			return nil // the killed test's reaper was here before
		}
		_, _ = output(exec.Command("losetup", "--detach", loop))
		return errors.New("the loop device is there still")
	}))
	b = box(t)
	_, err = b.ZFSFuse(100)
	Need(t, err)
	if has(left) {
		t.Errorf("%s claims %s, which is nobody's", left, loop)
	}
	Need(t, b.Close())

	ended(t)
	leave(t, namespace.EnvApart+"=1")
	ended(t)
}

// ended waits for the end of zfs-fuse.
func ended(t *testing.T) {
	t.Helper()
	Need(t, until(10*time.Second, func(context.Context) error {
		if exec.Command("pgrep", "-r", "R,S,D", "-x", "zfs-fuse").Run() == nil {
			return errors.New("zfs-fuse has not ended")
		}
		return nil
	}))
}
