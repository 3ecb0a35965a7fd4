package volume

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/test/namespace"
)

// heldElsewhere starts a process with mounts of its own, as a container has that starts, and gives what ends it. It takes what is mounted
// below a directory along.
func heldElsewhere(t *testing.T, dir string) (pid int, end func()) {
	t.Helper()
	c := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", namespace.LetGo(dir)+"echo ready; exec sleep 60")
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	end = sync.OnceFunc(func() {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
	})
	t.Cleanup(end)
	if n, err := out.Read(make([]byte, 8)); n == 0 {
		end()
		t.Skipf("no mounts of its own can be had here: %v", err)
	}
	return c.Process.Pid, end
}

// overwritten makes a btrfs with a clone that takes room.
func overwritten(t *testing.T, b lab.Workspace) (v lab.Volume, blocks func() int64, before int64) {
	t.Helper()
	v, err := New().Make(t.Context(), b, "v1", experiment.Volume{Kind: experiment.Loop, Size: 400 << 20, Filesystem: "btrfs", Mount: "nodatacow"})
	must(t, err)
	blocks = func() int64 {
		var st syscall.Stat_t
		must(t, syscall.Stat(filepath.Join(b.Dir, "v1.img"), &st))
		return st.Blocks * 512
	}
	golden, err := v.Golden(t.Context(), 0, 0)
	must(t, err)
	fill(t, golden, 0)
	must(t, exec.Command("sync", "-f", golden).Run())
	before = blocks()
	dir, _, err := v.Clone(t.Context())
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "large"), bytes.Repeat([]byte("plumb"), 8<<20), 0o600))
	must(t, exec.Command("sync", "-f", dir).Run())
	return v, blocks, before
}

// A process with mounts of its own keeps a filesystem mounted that is unmounted here. It is waited for: else the next trial would begin
// with a warm cache, and nothing of the last one would be trimmed.
func TestUnmountedHereAndHeldElsewhere(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("loop devices need root")
	}
	b := labBox(t)
	v, blocks, before := overwritten(t, b)
	full := blocks()
	_, end := heldElsewhere(t, b.Dir)
	time.AfterFunc(time.Second, end)
	must(t, v.Drop(t.Context()))
	if after := blocks(); after > before+8<<20 {
		f, err := v.Facts(t.Context())
		t.Errorf("the file took %d bytes, %d with a clone, and %d without: %+v, %v", before, full, after, f, err)
	}
	dir, _, err := v.Clone(t.Context())
	must(t, err)
	if n := resident(t, filepath.Join(dir, "base/table.ibd")); n > 0 {
		t.Errorf("%d pages are cached", n)
	}
	must(t, v.Close(t.Context()))
}

// hasty is a machine on which nobody waits any more once it was seen that a filesystem is in use.
type hasty struct {
	host.Launcher
	seen *func()
}

func (h hasty) Glob(ctx context.Context, pattern string) ([]string, error) {
	found, err := h.Launcher.Glob(ctx, pattern)
	if strings.HasPrefix(pattern, "/sys/fs/") && len(found) > 0 {
		(*h.seen)()
	}
	return found, err
}

// One that does not let go is named, and the volume stays mounted.
func TestHolderIsNamed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("loop devices need root")
	}
	b, seen := labBox(t), func() {}
	b.Do = hasty{b.Do, &seen}
	v, _, _ := overwritten(t, b)
	pid, end := heldElsewhere(t, b.Dir)
	at := filepath.Join(b.Dir, "v1")
	ctx, cancel := context.WithCancel(t.Context())
	seen = cancel
	err := v.Drop(ctx)
	cancel()
	for _, want := range []string{fmt.Sprintf("process %d ", pid), "has it mounted at " + at} {
		if err == nil || !strings.Contains(err.Error(), want) || hint.Of(err) == "" {
			t.Errorf("it does not say %q, with a hint: %v", want, err)
		}
	}
	end()
	must(t, v.Drop(t.Context()))
	must(t, v.Close(t.Context()))
}
