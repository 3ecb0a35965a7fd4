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
	"plumb/internal/protect/service"
	"plumb/internal/stack"
	"plumb/internal/storage/point"
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
	pool, c, state := onPool(t, b)
	everyDeath(t, hosttest.LiveDoer(t), c, state, destroyUndone(pool.Name))
}

// onPool makes two datasets of a pool, to be rolled back, and tells the state of all.
func onPool(t *testing.T, b *sandbox.Box) (*sandbox.Pool, *checking, func() string) {
	t.Helper()
	pool, err := b.ZFSFuse(256)
	sandbox.Need(t, err)
	db := pool.Name + "/db"
	sh(t, fmt.Sprintf(`zfs create -o recordsize=16K %[1]s; zfs create %[1]s/log; echo then >%[2]s/db/f; echo then >%[2]s/db/log/f
zfs snapshot %[1]s@p; zfs snapshot %[1]s/log@p; echo now >%[2]s/db/f; echo now >%[2]s/db/log/f; zfs snapshot %[1]s@later`, db, pool.Dir))
	c := listener(t, members(t, pool, db), zfs.Tools{Fuse: true})
	state := func() string {
		return sh(t, fmt.Sprintf("zfs list -H -r -t all -o name,origin,mountpoint %[1]s; zfs get -H -r -o name,value,source canmount %[1]s; cat %[2]s/db/f %[2]s/db/log/f; grep -c %[3]s /proc/net/unix", db, pool.Dir, c.plan.Target.Address))
	}
	return pool, c, state
}

// destroyUndone is a line that destroys what an undo left. zfs-fuse calls a dataset busy for a while after its last user has gone.
func destroyUndone(pool string) string {
	return fmt.Sprintf("for d in $(zfs list -H -r -o name %s | grep undone-); do for i in $(seq 100); do zfs destroy $d 2>/dev/null && break; sleep .1; done; done", pool)
}

// TestMarksOfOthers lets somebody who may set properties, as by zfs allow of userprop, copy ours onto other datasets, and take ours
// off: an undo brings back what was, and what was written since stays. That is so as well when the server was started by the next start of
// the machine, and not by us.
func TestMarksOfOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a pool: run without -short")
	}
	b, err := sandbox.New("")
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	pool, c, state := onPool(t, b)
	sh(t, fmt.Sprintf("zfs create %[1]s/aa; zfs create %[1]s/zz", pool.Name))
	was := state()
	written := func(undone string) string {
		return sh(t, fmt.Sprintf("zfs set mountpoint=%[2]s/undone %[1]s; zfs mount %[1]s; cat %[2]s/undone/f", undone, pool.Dir))
	}
	spared(t, c, pool.Dir+"/db/f", func() {
		sh(t, fmt.Sprintf(`for from in %[1]s/db %[1]s/db/log; do zfs get -H -o property,value,source all $from | grep '^org.plumb:.*local$' | while read name value source; do
for to in %[1]s/aa %[1]s/zz $(zfs list -H -r -o name %[1]s | grep before-); do zfs set "$name=$value" $to; done; zfs inherit $name $from; done; done`, pool.Name))
	}, written, destroyUndone(pool.Name))
	if now := state(); now != was {
		t.Errorf("the undo left\n%s\nin place of\n%s", now, was)
	}
	sh(t, fmt.Sprintf("zfs rename %[1]s/db/log@p %[1]s/db/log@q; zfs snapshot %[1]s/db/log@p", pool.Name))
	was = state()
	c.plan.Volumes = nil
	must(t, c.datasets(t.Context()))
	if _, err := carriedOut(t, c, 0); err == nil || !strings.Contains(err.Error(), "is not a clone of the snapshot that was taken") {
		t.Errorf("of a snapshot that was swapped: %v", err)
	}
	if now := state(); now != was {
		t.Errorf("of a snapshot that was swapped is left\n%s\nin place of\n%s", now, was)
	}
}

// carriedOut carries a rollback out, but for its last acts.
func carriedOut(t *testing.T, c *checking, without int) (undo func() error, err error) {
	t.Helper()
	acts, err := c.acts()
	must(t, err)
	k := &change.Executor{Doer: hosttest.LiveDoer(t), Dir: filepath.Join(t.TempDir(), "plumb"), Plumb: "test", Now: time.Now}
	out, err := k.Apply(t.Context(), change.Draft{Steps: []change.Prepared{{Step: change.Step{Knob: stack.Knob{Of: c.plan.Server.Ref, Name: "point"}},
		Recipe: change.Recipe{Acts: acts[:len(acts)-without]}}}}, change.ApplyOptions{})
	return func() error { return k.Undo(t.Context(), []int{out.Number}, change.UndoOptions{}) }, err
}

// spared carries a rollback out, whole and up to where a start of the machine would start the server, has something written into a file, and
// takes it back: that must still be there.
func spared(t *testing.T, c *checking, file string, meddle func(), written func(undone string) string, clean string) {
	t.Helper()
	for _, without := range []int{0, 2} { // the last two start the server
		c.plan.Volumes = nil
		must(t, c.datasets(t.Context()))
		undo, err := carriedOut(t, c, without)
		must(t, err)
		sh(t, "echo since >'"+file+"'; cd /")
		meddle()
		must(t, undo())
		if got := written(c.plan.Volumes[0].Undone); got != "since\n" {
			t.Errorf("without the last %d acts, of what was written since there is %q", without, got)
		}
		sh(t, clean)
	}
}

// everyDeath carries a rollback out again and again, and takes it back or goes on after each death.
func everyDeath(t *testing.T, d host.Doer, c *checking, state func() string, clean string) {
	t.Helper()
	must(t, c.datasets(t.Context()))
	acts, err := c.acts()
	must(t, err)
	draft := change.Draft{Steps: []change.Prepared{{Step: change.Step{Knob: stack.Knob{Of: c.plan.Server.Ref, Name: "point"}}, Recipe: change.Recipe{Acts: acts}}}}
	was, done := state(), ""
	stride := 58
	if sandbox.Full() {
		stride = 1
	}
	for i, began := 0, time.Now(); ; i += stride { // three deaths of each operation, after the whole that comes first
		at, how := (i+2)/3, []string{hosttest.After, hosttest.Before, hosttest.Amid}[i%3]
		dir := filepath.Join(t.TempDir(), "plumb")
		m := hosttest.NewMortal(d, at, how)
		out, err := (&change.Executor{Doer: m, Dir: dir, Plumb: "test", Now: time.Now}).Apply(t.Context(), draft, change.ApplyOptions{})
		m.Rest()
		alive := &change.Executor{Doer: d, Dir: dir, Plumb: "test", Now: time.Now}
		switch ended := m.N < at || at == 0; {
		case at == 0:
			must(t, err)
			if done = state(); !strings.Contains(done, "then\nthen\n1") {
				t.Fatalf("it left\n%s", done)
			}
		case ended:
			t.Logf("%d deaths in %s", i/stride-1, time.Since(began).Round(time.Second))
			return
		case (at+i)%3 == 0 && alive.Resume(t.Context(), out.Number) == nil:
			if now := state(); now != done {
				t.Fatalf("dead %s operation %d, going on left\n%s\nin place of\n%s", how, at, now, done)
			}
		}
		if out.Number > 0 {
			if all, err := alive.Changes(t.Context()); err == nil && len(all) > 0 {
				if err := alive.Undo(t.Context(), []int{out.Number}, change.UndoOptions{}); err != nil {
					t.Fatalf("dead %s operation %d: undo: %v", how, at, err)
				}
			}
		}
		sh(t, clean)
		if now := state(); now != was {
			t.Fatalf("dead %s operation %d, the undo left\n%s\nin place of\n%s", how, at, now, was)
		}
	}
}

// members are two datasets, one below the other.
func members(t *testing.T, pool *sandbox.Pool, db string) (all []protect.Member) {
	for _, name := range []string{db, db + "/log"} {
		m := protect.Member{Snapshot: name + "@p", GUID: strings.TrimSpace(sh(t, "zfs get -Hp -o value guid "+name+"@p"))}
		m.Storage, m.Name, m.Pool, m.Mountpoint = "zfs-fuse", name, pool.Name, filepath.Join(pool.Dir, strings.TrimPrefix(name, pool.Name+"/"))
		all = append(all, m)
	}
	return all
}

// TestEveryDeathOnBtrfs is the same with two subvolumes: one is mounted, one is seen inside the top.
func TestEveryDeathOnBtrfs(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a filesystem: run without -short")
	}
	b, err := sandbox.New("")
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	top, at, c := onSubvolumes(t, b)
	state := func() string {
		return sh(t, fmt.Sprintf("cd %[1]s; btrfs subvolume list . | sed 's/.* path//' | sort; cat '%[2]s/f' log/f; grep -c %[3]s /proc/net/unix; grep '%[4]s' /proc/self/mountinfo | cut -d ' ' -f 4-6; findmnt -n -o UUID '%[2]s'",
			top, at, c.plan.Target.Address, strings.ReplaceAll(at, " ", `\\\\040`)))
	}
	clean := fmt.Sprintf("cd %s; find . -maxdepth 2 -name '*.undone-*' -exec btrfs subvolume delete {} +; ! ls -A .plumb-points | grep rollback-", top)
	spared(t, c, at+"/f", func() {}, func(undone string) string { return sh(t, "cat '"+top+undone+"/f'") }, clean)
	c.plan.Volumes = nil
	everyDeath(t, hosttest.LiveDoer(t), c, state, clean)
}

// onSubvolumes makes two subvolumes, to be rolled back: where the top of their filesystem is mounted, and the first of them.
func onSubvolumes(t *testing.T, b *sandbox.Box) (top, at string, c *checking) {
	t.Helper()
	top, err := b.Filesystem("fs", "btrfs", 256, nil, "")
	sandbox.Need(t, err)
	at = top + "-db at"
	sh(t, fmt.Sprintf(`chown 0:0 %[1]s; chmod 755 %[1]s; cd %[1]s; mkdir -m 700 .plumb-points; mkdir 'a b'; btrfs subvolume create 'a b/db'; btrfs subvolume create log; mkdir -p '%[2]s'
mount -o subvol='a b/db',noatime,nosuid $(findmnt -n -o SOURCE %[1]s) '%[2]s'
echo then >'%[2]s/f'; echo then >log/f; for s in 'a b/db' log; do btrfs subvolume snapshot -r "$s" ".plumb-points/p.${s##*/}"; done
echo now >'%[2]s/f'; echo now >log/f`, top, at))
	t.Cleanup(func() { sh(t, "umount '"+at+"'; rmdir '"+at+"'") })
	uuid := strings.TrimSpace(sh(t, "findmnt -n -o UUID "+top))
	c = listener(t, []protect.Member{
		{Volume: protect.Volume{Storage: "btrfs", Name: "/a b/db", Pool: uuid, Mountpoint: at}, Snapshot: ".plumb-points/p.db"},
		{Volume: protect.Volume{Storage: "btrfs", Name: "/log", Pool: uuid, Mountpoint: filepath.Join(top, "log")}, Snapshot: ".plumb-points/p.log"},
	}, zfs.Tools{})
	c.r.Keeper.Storages = []protect.Storage{point.Btrfs{}}
	return top, at, c
}

// TestMountPointsLeadNowhere: a subvolume is mounted on the directory that has the name, not where a link in its place leads.
func TestMountPointsLeadNowhere(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.Mkdir(filepath.Join(dir, "elsewhere"), 0o700))
	must(t, os.Symlink("elsewhere", filepath.Join(dir, "log")))
	v := Volume{Member: protect.Member{Volume: protect.Volume{Mountpoint: filepath.Join(dir, "log")}}, top: "/top", source: "/dev/null", options: "rw"}
	argv := v.mountOf("/log")
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err == nil || string(out) != v.Mountpoint+" leads to "+filepath.Join(dir, "elsewhere")+"\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// listener is a rollback of a process that only listens.
func listener(t *testing.T, members []protect.Member, tools zfs.Tools) *checking {
	t.Helper()
	dir := t.TempDir()
	socket, pid := filepath.Join(dir, "s"), filepath.Join(dir, "pid")
	start, stop := filepath.Join(dir, "start"), filepath.Join(dir, "stop")
	must(t, os.WriteFile(start, fmt.Appendf(nil, `grep -q "%[2]s" /proc/net/unix && exit 0
rm -f %[2]s
setsid python3 -c 'import socket, time
s = socket.socket(socket.AF_UNIX); s.bind("%[2]s"); s.listen(); time.sleep(600)' >/dev/null 2>&1 </dev/null &
echo $! >%[1]s
`, pid, socket), 0o700))
	must(t, os.WriteFile(stop, fmt.Appendf(nil, "p=$(cat %s) && kill $p 2>/dev/null && exec timeout 30 sh -c '%s' sh $p\nexit 0\n", pid, strings.ReplaceAll(service.Ended, "'", `'\''`)), 0o700))
	sh(t, "sh "+start+"; for i in 1 2 3 4 5 6 7 8 9; do grep -q "+socket+" /proc/net/unix && break; sleep 0.3; done")
	t.Cleanup(func() { sh(t, "sh "+stop) })
	plan := &Plan{Stop: []string{"sh", stop}, Start: []string{"sh", start}, Target: host.Target{Network: "unix", Address: socket}}
	plan.Server.Ref, plan.Server.PID = stack.Ref{Kind: "server", Name: "x"}, 1<<22
	plan.Point.Members = members
	return &checking{r: Rollback{Keeper: &protect.Keeper{Now: time.Now}}, h: hosttest.LiveDoer(t), plan: plan, tools: tools, o: Options{Within: 20 * time.Second}}
}
