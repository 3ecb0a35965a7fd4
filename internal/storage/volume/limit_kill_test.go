package volume

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/internal/inventory/kinds"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
)

// limitedChild is a lab that limits a loop device and waits to be killed.
func limitedChild(t *testing.T, dir string) {
	do := host.NewLiveDoer(host.NewLive(host.LiveOptions{}))
	b, err := kinds.Books(do, dir).Open(t.Context(), "killed")
	must(t, err)
	box := lab.Workspace{Dir: dir, Run: "killed", Do: do, Book: b}
	d, err := makeDevice(t.Context(), box, filepath.Join(dir, "image"), 64<<20)
	must(t, err)
	l := newLimiter(box, experiment.Profile{Text: "iops=1000", IOPS: experiment.Pace{Both: 1000}}, []string{d.number}, "")
	if l.gate, err = findGate(t.Context(), do, "killed"); err != nil {
		t.Fatal(err)
	}
	must(t, l.begin(t.Context(), l.profile))
	fmt.Println("ready", d.path, d.number)
	time.Sleep(time.Minute)
}

// TestLiveKilledLabLeavesNoLimit kills a lab whose limits have moved since they
// were written down.
func TestLiveKilledLabLeavesNoLimit(t *testing.T) {
	if dir := os.Getenv("PLUMB_LIMITED"); dir != "" {
		limitedChild(t, dir)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("loop devices need root")
	}
	do := host.NewLiveDoer(host.NewLive(host.LiveOptions{}))
	if _, err := findGate(t.Context(), do, ""); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run=^TestLiveKilledLabLeavesNoLimit$")
	child.Env = append(os.Environ(), "PLUMB_LIMITED="+dir)
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	must(t, err)
	defer child.Process.Kill()
	var said, path, number string
	lines := bufio.NewScanner(out)
	for !strings.HasPrefix(said, "ready") && lines.Scan() {
		said = lines.Text()
	}
	if _, err := fmt.Sscanf(said, "ready %s %s", &path, &number); err != nil {
		child.Wait()
		t.Skipf("no loop device to limit: %q", said)
	}
	for range 2 { // a second of reads: they get the writes' part
		if text, err := exec.Command("dd", "if="+path, "of=/dev/null", "iflag=direct", "bs=4k", "count=500").CombinedOutput(); err != nil {
			t.Fatal(err, string(text))
		}
	}
	before := limitsOf(t, do, number)
	child.Process.Kill()
	child.Wait()
	swept := sweptClean(t, dir)
	t.Logf("%d things swept; the limits were %q", len(swept), before)
	if after := limitsOf(t, do, number); len(before) == 0 || len(after) != 0 {
		t.Errorf("limits before the sweep %q, after it %q", before, after)
	}
	if _, err := os.Stat("/sys/block/" + filepath.Base(path) + "/loop"); err == nil {
		t.Errorf("%s is still there", path)
	}
}

func limitsOf(t *testing.T, do host.Doer, number string) (all []string) {
	t.Helper()
	files, err := do.Glob(context.Background(), groups+"/blkio/blkio.throttle.*_device")
	must(t, err)
	for _, file := range files {
		text, err := do.ReadFile(context.Background(), file)
		must(t, err)
		if line, ok := kinds.LimitOf(string(text), number); ok {
			all = append(all, filepath.Base(file)+" "+line)
		}
	}
	return all
}
