package volume

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"plumb/internal/lab"
)

// TestLiveDeviceIsFreeOfEarlierLimits detaches a device that is limited, as
// somebody does who tidies up by hand after a killed lab.
func TestLiveDeviceIsFreeOfEarlierLimits(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("loop devices need root")
	}
	box := labBox(t)
	g, err := findGate(t.Context(), box.Do, box.Run)
	if err != nil {
		t.Skip(err)
	}
	if len(g.dirs) > 0 {
		t.Skip("version 2 of control groups limits groups, and no device for all")
	}
	earlier, err := makeDevice(t.Context(), box, filepath.Join(box.Dir, "earlier"), 64<<20)
	must(t, err)
	t.Cleanup(func() { _ = earlier.remove(context.Background(), box) }) // once it is detached below, it may be somebody else's, and is left alone
	for _, n := range g.lines(earlier.number, paces{9999, 9999, 1 << 40, 1 << 40}) {
		must(t, box.Do.Write(t.Context(), n.file, []byte(n.line)))
	}
	if got := limitsOf(t, box.Do, earlier.number); len(got) != 4 {
		t.Fatalf("put in force: %q", got)
	}
	if out, err := exec.Command("losetup", "-d", earlier.path).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	next := mustDevice(t, box, "next")
	if got := limitsOf(t, box.Do, next.number); len(got) != 0 {
		t.Errorf("a new device is limited by %q", got)
	}
	if next.number != earlier.number { // another process was faster
		must(t, lift(t.Context(), box.Do, box.Run, earlier.number))
		t.Skipf("the next device is %s, not %s", next.number, earlier.number)
	}
}

// mustDevice makes a device that is taken away at the end.
func mustDevice(t *testing.T, box lab.Workspace, name string) device {
	t.Helper()
	d, err := makeDevice(t.Context(), box, filepath.Join(box.Dir, name), 64<<20)
	must(t, err)
	t.Cleanup(func() { must(t, d.remove(context.Background(), box)) })
	return d
}
