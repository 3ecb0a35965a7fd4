package sampler

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/internal/series"
)

// TestIntruderIsTold has a process that writes, beside a "server" that does too
// and is not told of.
func TestIntruderIsTold(t *testing.T) {
	t.Parallel()
	h := host.NewLive(host.LiveOptions{})
	t.Cleanup(func() { h.Close() })
	dir, err := os.MkdirTemp("", "plumb-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // what was killed may write for a moment still
		for deadline := time.Now().Add(time.Minute); os.RemoveAll(dir) != nil && time.Now().Before(deadline); {
			time.Sleep(20 * time.Millisecond)
		}
	})
	writer := func(name string) *exec.Cmd {
		cmd := exec.Command("sh", "-c", "while :; do dd if=/dev/zero of="+filepath.Join(dir, name)+" bs=1M count=1 conv=notrunc,fsync 2>/dev/null; done")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); cmd.Wait() })
		return cmd
	}
	intruder, server := writer("a"), writer("b")
	o := &others{servers: map[int]bool{server.Process.Pid: true}}
	var first series.Batch // what has grown is known from the second time on
	if err := o.take(t.Context(), h, &first); err != nil {
		t.Fatal(err)
	}
	want := "process:" + strconv.Itoa(intruder.Process.Pid) + " (sh) written_bytes"
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		var b series.Batch
		if err := o.take(t.Context(), h, &b); err != nil {
			t.Fatal(err)
		}
		got := values(b)
		for name := range got {
			if strings.HasPrefix(name, "process:"+strconv.Itoa(server.Process.Pid)+" ") {
				t.Fatalf("the server is told as %s", name)
			}
		}
		if got[want] >= 1<<20 {
			return
		}
	}
	t.Errorf("%s was not told", want)
}

func TestShown(t *testing.T) {
	for comm, want := range map[string]string{"rsync": "rsync", "a)b": "a?b", "x\ny\x1b[31m\xff": "x?y?[31m?", strings.Repeat("w", 99): strings.Repeat("w", 32), "": ""} {
		if got := shown(comm); got != want {
			t.Errorf("%q: %q, want %q", comm, got, want)
		}
	}
}
