package backup

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"plumb/internal/await"
)

// TestReceiveIsLeft kills a restore whose zfs receive goes on. While that runs the next restore to the same datasets is refused, and says
// why, before it looks at them: what is half received would look like a dataset of somebody else. Then it is carried out.
func TestReceiveIsLeft(t *testing.T) {
	g := newGround(t)
	large := make([]byte, 4<<20)
	_, err := rand.Read(large)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(g.pool.Dir, "db", "data", "large"), large, 0o600))
	g.up(t, g.point(t, "20261125T120000Z-0001"), false)
	key, trust := filepath.Join(t.TempDir(), "key.txt"), filepath.Join(t.TempDir(), "db1.pub")
	must(t, os.WriteFile(key, []byte(g.key.String()+"\n"), 0o600))
	must(t, os.WriteFile(trust, []byte(g.b.Public+"\n"), 0o600))
	state, target := t.TempDir(), g.pool.Name+"/restored"
	restore := func(more ...string) *exec.Cmd {
		return exec.Command(built.Path, append([]string{"restore", "--from", "file://" + g.at, "--identity", key, "--trust", trust, "--into", target, "--state", state}, more...)...)
	}
	first := restore("--limit-rate", "300K")
	must(t, first.Start())
	receive := 0
	must(t, await.Until(t.Context(), time.Minute, func() (bool, error) {
		receive = receiveOf(target + "/data")
		return receive > 0, nil
	}))
	// As long as somebody could still write to it, it waits for the rest.
	in, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/0", receive), os.O_WRONLY, 0)
	must(t, err)
	t.Cleanup(func() { _ = in.Close() })
	out, err := restore().CombinedOutput()
	if err == nil || !strings.Contains(string(out), "another Plumb is restoring to it") {
		t.Errorf("beside one that lives: %v\n%s", err, out)
	}
	must(t, first.Process.Kill())
	_ = first.Wait()
	out, err = restore().CombinedOutput()
	if want := fmt.Sprintf("process %d (zfs) is still running", receive); err == nil || !strings.Contains(string(out), want) || !strings.Contains(string(out), target+"/data") {
		t.Errorf("beside what is left of one: %v\n%s", err, out)
	}
	must(t, in.Close())
	must(t, await.Until(t.Context(), time.Minute, func() (bool, error) { return receiveOf(target+"/data") == 0, nil }))
	if out, err := restore().CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if g.content(t, target+"/data") != sums(t, g.pool.Dir+"/db/data") {
		t.Error("something else was restored")
	}
	if left, err := filepath.Glob(state + "/lab/restore-*.lock"); err != nil || len(left) > 0 {
		t.Errorf("locks are left: %q, %v", left, err)
	}
}

// receiveOf finds the process that receives a dataset; 0 for none.
func receiveOf(dataset string) int {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range all {
		text, err := os.ReadFile(file)
		argv := strings.Split(string(bytes.TrimSuffix(text, []byte{0})), "\x00")
		if err == nil && len(argv) > 2 && filepath.Base(argv[0]) == "zfs" && argv[1] == "receive" && argv[len(argv)-1] == dataset {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			return pid
		}
	}
	return 0
}
