package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// What is started twice has two zfs-fuse, of which each is the only one that it sees.
func TestTwoAtOnce(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount")
	}
	if _, err := exec.LookPath("zfs-fuse"); err != nil {
		t.Skip("no zfs-fuse (apt-get install zfs-fuse)")
	}
	in := inside("true")
	if out, err := exec.Command(in[0], in[1:]...).CombinedOutput(); err != nil {
		t.Skipf("no mounts of its own can be had here: %v: %s", err, out)
	}
	const script = `exec 3>/tmp/plumb-test-zfs-fuse.lock; flock -n 3 || exit 1; ! zpool list 2>/dev/null || exit 2
zfs-fuse -n 3>&- & p=$!; trap 'kill -9 $p; wait' EXIT; until zpool list 2>/dev/null; do kill -0 $p || exit 3; sleep 0.05; done
echo; read -r end`
	for range 2 {
		argv := inside("sh", "-c", script)
		c := exec.Command(argv[0], argv[1:]...)
		end, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		said, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = end.Close(); _ = c.Wait() })
		if line, err := bufio.NewReader(said).ReadString('\n'); err != nil || !strings.HasPrefix(line, "no pools") {
			t.Fatalf("%q, %v", line, err)
		}
	}
}
