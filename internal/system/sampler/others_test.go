package sampler

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"plumb/internal/series"
	"plumb/internal/stack"
)

// TestIntruderIsTold has a process that writes, beside a "server" that does too
// and is not told of.
func TestIntruderIsTold(t *testing.T) {
	t.Parallel()
	b, h := box(t), live(t)
	writer := func(name string) *exec.Cmd {
		cmd := exec.Command("sh", "-c", "while :; do dd if=/dev/zero of="+filepath.Join(b.Dir, name)+" bs=1M count=1 conv=notrunc,fsync 2>/dev/null; done")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		return cmd
	}
	intruder, server := writer("a"), writer("b")
	o := &otherProcesses{servers: map[int]bool{server.Process.Pid: true}}
	if first := take(t, o, h); len(first.Readings) != 0 {
		t.Errorf("nothing is known to have grown, and yet: %v", first.Readings)
	}
	of := stack.Ref{Kind: "process", Name: strconv.Itoa(intruder.Process.Pid) + " (sh)"}
	wrote := func(b series.Batch) float64 {
		for _, r := range b.Readings {
			if strings.HasPrefix(r.Of.Name, strconv.Itoa(server.Process.Pid)+" ") {
				t.Fatalf("the server is told as %s", r.Of)
			}
			if r.Of == of && r.Name == "written_bytes" {
				return r.Value
			}
		}
		return 0
	}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		batch := take(t, o, h)
		known(t, batch)
		if len(batch.Readings) > 2*mostOthers {
			t.Fatalf("%d readings", len(batch.Readings))
		}
		if wrote(batch) >= 1<<20 {
			return
		}
	}
	t.Errorf("the process %d that writes was not told of", intruder.Process.Pid)
}

func TestNameOfAProcess(t *testing.T) {
	for text, want := range map[string]string{
		"17 (rsync) S": "rsync", "1 (a)b) S": "a?b", "1 (x\ny\x1b[31m\xff) S": "x?y?[31m?", "1 (" + strings.Repeat("w", 99) + ") S": strings.Repeat("w", commLargest), "": "",
	} {
		if got := comm([]byte(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// BenchmarkOthers asks about all processes of this machine.
func BenchmarkOthers(b *testing.B) {
	h, o := live(b), &otherProcesses{}
	before := cpuTime(b)
	for b.Loop() {
		take(b, o, h)
	}
	all, _ := filepath.Glob("/proc/[0-9]*")
	b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(len(all)), "processes")
}
