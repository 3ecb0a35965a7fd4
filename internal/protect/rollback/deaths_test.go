package rollback

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/internal/stack"
	"plumb/internal/zfs"
	"plumb/test/sandbox"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func sh(t *testing.T, script string) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	return string(out)
}

// TestEveryDeathIsTakenBackOrGoneOn lets the machine die before and after operations of a
// rollback on a real pool, with a listener in place of a server: an undo leaves what was, and
// going on leaves what an undisturbed rollback does.
func TestEveryDeathIsTakenBackOrGoneOn(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a pool: run without -short")
	}
	b, err := sandbox.New("")
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	pool, err := b.ZFSFuse(256)
	sandbox.Need(t, err)
	db, d := pool.Name+"/db", hosttest.LiveDoer(t)
	sh(t, fmt.Sprintf(`zfs create -o recordsize=16K %[1]s; zfs create %[1]s/log; echo then >%[2]s/db/f; echo then >%[2]s/db/log/f
zfs snapshot %[1]s@p; zfs snapshot %[1]s/log@p; echo now >%[2]s/db/f; echo now >%[2]s/db/log/f; zfs snapshot %[1]s@later`, db, pool.Dir))
	c := listener(t, pool, db)
	must(t, c.datasets(t.Context()))
	acts, err := c.acts()
	must(t, err)
	draft := change.Draft{Steps: []change.Prepared{{Step: change.Step{Knob: stack.Knob{Of: c.plan.Server.Ref, Name: "point"}}, Recipe: change.Recipe{Acts: acts}}}}
	state := func() string {
		return sh(t, fmt.Sprintf("zfs list -H -r -t all -o name,origin,mountpoint %s; cat %[2]s/db/f %[2]s/db/log/f; grep -c %[3]s /proc/net/unix", db, pool.Dir, c.plan.Target.Address))
	}
	was, done := state(), ""
	stride := 19
	if sandbox.Full() {
		stride = 1
	}
	for at := 0; ; at += stride {
		dir := filepath.Join(t.TempDir(), "plumb")
		m := hosttest.NewMortal(d, at, at%2 == 1)
		out, err := (&change.Executor{Doer: m, Dir: dir, Plumb: "test", Now: time.Now}).Apply(t.Context(), draft, change.ApplyOptions{})
		alive := &change.Executor{Doer: d, Dir: dir, Plumb: "test", Now: time.Now}
		switch ended := m.N < at || at == 0; {
		case at == 0:
			must(t, err)
			if done = state(); !strings.Contains(done, "then\nthen\n1") {
				t.Fatalf("it left\n%s", done)
			}
		case ended:
			return
		case at%3 == 0 && alive.Resume(t.Context(), out.Number) == nil:
			if now := state(); now != done {
				t.Fatalf("dead at operation %d, going on left\n%s\nin place of\n%s", at, now, done)
			}
		}
		if out.Number > 0 {
			if all, err := alive.Changes(t.Context()); err == nil && len(all) > 0 {
				if err := alive.Undo(t.Context(), []int{out.Number}, change.UndoOptions{}); err != nil {
					t.Fatalf("dead at operation %d: undo: %v", at, err)
				}
			}
		}
		sh(t, fmt.Sprintf("for d in $(zfs list -H -r -o name %s | grep undone-); do zfs destroy $d; done", pool.Name))
		if now := state(); now != was {
			t.Fatalf("dead at operation %d, the undo left\n%s\nin place of\n%s", at, now, was)
		}
	}
}

// listener is a rollback of two datasets, one below the other, of a process that only listens.
func listener(t *testing.T, pool *sandbox.Pool, db string) *checking {
	t.Helper()
	dir := t.TempDir()
	socket, pid := filepath.Join(dir, "s"), filepath.Join(dir, "pid")
	start, stop := filepath.Join(dir, "start"), filepath.Join(dir, "stop")
	must(t, os.WriteFile(start, fmt.Appendf(nil, `test -e %[1]s && kill -0 $(cat %[1]s) 2>/dev/null && exit 0
rm -f %[2]s
setsid python3 -c 'import socket, time
s = socket.socket(socket.AF_UNIX); s.bind("%[2]s"); s.listen(); time.sleep(600)' >/dev/null 2>&1 </dev/null &
echo $! >%[1]s
`, pid, socket), 0o700))
	must(t, os.WriteFile(stop, fmt.Appendf(nil, "p=$(cat %s) && kill $p 2>/dev/null && exec timeout 30 sh -c '%s' sh $p\nexit 0\n", pid, strings.ReplaceAll(ended, "'", `'\''`)), 0o700))
	sh(t, "sh "+start+"; for i in 1 2 3 4 5 6 7 8 9; do grep -q "+socket+" /proc/net/unix && break; sleep 0.3; done")
	t.Cleanup(func() { sh(t, "sh "+stop) })
	plan := &Plan{Stop: []string{"sh", stop}, Start: []string{"sh", start}, Target: host.Target{Network: "unix", Address: socket}}
	plan.Server.Ref, plan.Server.PID = stack.Ref{Kind: "server", Name: "x"}, 1<<22
	for _, name := range []string{db, db + "/log"} {
		m := protect.Member{Snapshot: name + "@p"}
		m.Storage, m.Name, m.Pool, m.Mountpoint = "zfs-fuse", name, pool.Name, filepath.Join(pool.Dir, strings.TrimPrefix(name, pool.Name+"/"))
		plan.Point.Members = append(plan.Point.Members, m)
	}
	return &checking{r: Rollback{Keeper: &protect.Keeper{Now: time.Now}}, h: hosttest.LiveDoer(t), plan: plan, tools: zfs.Tools{Fuse: true}, o: Options{Within: 20 * time.Second}}
}
