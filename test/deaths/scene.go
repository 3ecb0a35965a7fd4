package deaths

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/internal/protect/clone"
	"plumb/internal/protect/instance"
	"plumb/internal/protect/prune"
	"plumb/internal/protect/tables"
	"plumb/internal/stack"
	"plumb/internal/storage/point"
	"plumb/test/sandbox"
)

// Scene is a stand-in's two volumes on real storage, and what plumb keeps of them.
type Scene struct {
	Plan   protect.Plan
	Point  protect.Point // one that was taken
	State  string        // directory of all that is written down
	Copies string
	Top    string // directory in which all of the storage is seen
	List   string // command that lists what the storage has
	Box    *sandbox.Box

	storages []protect.Storage
	live     sqlMachine
	runs     []string // whose control groups are looked for
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func sh(t testing.TB, script string) string {
	t.Helper()
	out, err := exec.Command("sh", "-ec", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	return string(out)
}

// box makes what a scene's filesystems are in.
func box(t testing.TB) *sandbox.Box {
	t.Helper()
	sandbox.NeedLong(t, "makes filesystems: run without -short")
	return sandbox.ForTest(t, "")
}

// OnBtrfs makes a scene of two subvolumes: one is mounted, one is seen inside the top.
func OnBtrfs(t testing.TB) *Scene {
	t.Helper()
	b := box(t)
	top, err := b.Filesystem("fs", "btrfs", 256, nil, "")
	sandbox.Need(t, err)
	data, log := filepath.Join(b.Dir, "data"), filepath.Join(top, "log")
	sh(t, fmt.Sprintf(`chown 0:0 %[1]s; chmod 755 %[1]s; cd %[1]s; btrfs subvolume create data; btrfs subvolume create log; mkdir %[2]s
mount -o subvol=data $(findmnt -n -o SOURCE %[1]s) %[2]s`, top, data))
	b.OnClose(func() error { return exec.Command("umount", data).Run() })
	s := &Scene{Box: b, Top: top, List: "btrfs subvolume list " + top + " | sed 's/.* path //' | sort", storages: []protect.Storage{point.Btrfs{}}}
	uuid := strings.TrimSpace(sh(t, "findmnt -n -o UUID "+top))
	s.open(t, protect.Volume{Storage: "btrfs", Name: "/data", Pool: uuid, Mountpoint: data}, protect.Volume{Storage: "btrfs", Name: "/log", Pool: uuid, Mountpoint: log})
	return s
}

// open fills the volumes, and takes a point of them.
func (s *Scene) open(t testing.TB, vols ...protect.Volume) {
	t.Helper()
	dir := sandbox.Directory(t, "deaths")
	s.State, s.Copies = filepath.Join(dir, "state"), filepath.Join(dir, "copies")
	t.Cleanup(func() { // of a test that failed
		for line := range strings.Lines(sh(t, "grep -la "+s.Copies+"/ /proc/[0-9]*/cmdline || :")) {
			if pid, err := strconv.Atoi(strings.Split(line, "/")[2]); err == nil && pid != os.Getpid() {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		sh(t, "awk -v d="+s.Copies+"/ 'index($5, d) == 1 {print $5}' /proc/self/mountinfo | sort -r | xargs -r -n 1 umount -l")
	})
	sh(t, fmt.Sprintf("cd %s; mkdir shop; echo mine >identity; printf 'made\\n(1)\\n(2)\\n' >shop/orders; echo log >%s/log", vols[0].Mountpoint, vols[1].Mountpoint))
	sv := protect.Server{Ref: stack.Ref{Kind: Kind, Name: "1"}, Identity: "one", Product: "Stand-in 1", PID: os.Getpid(), Program: []string{"/bin/sh"}}
	for i, role := range []string{"data", "binlog"} {
		sv.Dirs = append(sv.Dirs, protect.Dir{Role: role, Path: vols[i].Mountpoint})
	}
	e := Engine{sv}
	s.Plan = protect.Plan{Server: sv, Target: e.target(), Set: protect.Set{Volumes: vols}, Modes: []protect.Mode{{Name: protect.ModeLocked}}}
	live := host.NewLiveDoer(host.NewLive(host.LiveOptions{}))
	t.Cleanup(func() { live.Close() })
	s.live = sqlMachine{live}
	var err error
	s.Point, err = s.On(s.live).Keeper.Take(t.Context(), s.Plan, protect.TakeOptions{})
	must(t, err)
}

// Hands are the verbs, on a machine that may die.
type Hands struct {
	Keeper *protect.Keeper
	Copies instance.Maker
	Clones clone.Maker
	Tables tables.Bringer
	Change *change.Executor
	Prune  prune.Pruner
}

// On gives the verbs on a machine, as the commands of plumb make them.
func (s *Scene) On(d protect.Machine) *Hands {
	k := &protect.Keeper{Do: d, Engines: []protect.Engine{Engine{s.Plan.Server}}, Storages: s.storages, Plumb: "test", Host: "here", Now: time.Now,
		Books: filepath.Join(s.State, "lab"), Store: protect.Store{Dir: filepath.Join(s.State, "points"), Guard: host.Guarded}}
	h := &Hands{Keeper: k, Copies: instance.Maker{Keeper: k, Dir: s.Copies}, Change: change.NewExecutor(d, "test"), Prune: prune.Pruner{Keeper: k}}
	h.Change.Dir, h.Change.Guard = s.State, host.Guarded
	h.Clones = clone.Maker{Maker: h.Copies, Dir: filepath.Join(s.State, "clones")}
	h.Tables = tables.Bringer{Keeper: k, Executor: h.Change, Copies: h.Copies, Dir: filepath.Join(s.State, "tables")}
	return h
}

// Alive gives the verbs on a machine that does not die.
func (s *Scene) Alive() *Hands { return s.On(s.live) }

// Mortal gives the verbs on one that does.
func (s *Scene) Mortal(at int, how string) (*Hands, *hosttest.Mortal) {
	m := hosttest.NewMortal(s.live, at, how)
	return s.On(m), m
}
