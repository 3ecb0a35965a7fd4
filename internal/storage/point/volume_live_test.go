package point

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/host/hosttest"
	"plumb/internal/inventory/kinds"
	"plumb/internal/observe"
	"plumb/internal/protect"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// onVolume is a storage whose volumes hold filesystems.
type onVolume interface {
	protect.Storage
	protect.Placer
}

// TestPointsOnThinVolumes goes the way of a point on LVM.
func TestPointsOnThinVolumes(t *testing.T) {
	// LVM makes /dev/mapper/control itself, also where the kernel has no device mapper.
	if misc, err := os.ReadFile("/proc/misc"); err != nil || !strings.Contains(string(misc), "device-mapper") || exec.Command("lvs").Run() != nil {
		t.Skip("no device mapper or no LVM: test/real/vm runs it")
	}
	for _, fstype := range []string{"xfs", "ext4"} {
		t.Run(fstype, func(t *testing.T) {
			b := sandbox.ForTest(t, "")
			loop, err := b.Loop("disk", 1024)
			sandbox.Need(t, err)
			group := "plumb-" + fstype
			sh(t, "vgcreate", group, loop)
			t.Cleanup(func() { sh(t, "vgremove", "-f", group) })
			sh(t, "lvcreate", "--type", "thin-pool", "-L", "700M", "-n", "thin", group)
			sh(t, "lvcreate", "-V", "600M", "--thinpool", "thin", "-n", "my-data", group)
			wayOfAPoint(t, LVM{}, fstype, "/dev/"+group+"/my-data", func() string { return sh(t, "lvs", "--noheadings", "-o", "lv_name", group) })
		})
	}
}

// TestPointsOnZFSVolumes goes the way of a point on volumes of OpenZFS.
func TestPointsOnZFSVolumes(t *testing.T) {
	if _, err := os.Stat("/sys/module/zfs"); err != nil {
		t.Skip("no OpenZFS: test/real/vm runs it")
	}
	for _, fstype := range []string{"xfs", "ext4"} {
		t.Run(fstype, func(t *testing.T) {
			b := sandbox.ForTest(t, "")
			pool, err := b.OpenZFS(1024)
			sandbox.Need(t, err)
			sh(t, "zfs", "create", "-s", "-V", "600M", pool.Name+"/db")
			device := zvolDevice(pool.Name + "/db")
			_, err = zvolReady(t.Context(), hosttest.LiveDoer(t), pool.Name+"/db")
			must(t, err)
			wayOfAPoint(t, Zvol{}, fstype, device, func() string { return sh(t, "zfs", "list", "-H", "-r", "-t", "all", "-o", "name", pool.Name) })
		})
	}
}

// wayOfAPoint takes a point of a filesystem on a device, clones it twice over, and destroys it. lists
// names what there is.
func wayOfAPoint(t *testing.T, s onVolume, fstype, device string, lists func() string) {
	d, ctx := hosttest.LiveDoer(t), t.Context()
	sh(t, "mkfs", "-t", fstype, "-q", device)
	dir := t.TempDir()
	sh(t, "mount", "-t", fstype, device, dir)
	t.Cleanup(func() { sh(t, "umount", dir) }) // before the volume goes
	had := lists()
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, []byte("as it was"), 0o600))
	v := placed(t, s, dir)
	must(t, s.Settle(ctx, d, []protect.Volume{v}))
	began := time.Now()
	all, err := s.Snapshot(ctx, d, []protect.Volume{v}, name, facts)
	must(t, err)
	t.Logf("%+v after %s", all, time.Since(began))
	must(t, os.WriteFile(file, []byte("later"), 0o600))
	if st, err := s.State(ctx, d, all[0]); err != nil || st.Gone || st.Other || len(st.Clones) > 0 {
		t.Errorf("%+v, %v", st, err)
	}

	at, away := copied(t, s, all[0])
	if st, err := s.State(ctx, d, all[0]); err != nil || len(st.Clones) != 1 {
		t.Errorf("with a clone: %+v, %v", st, err)
	}
	if err := s.Destroy(ctx, d, all); err == nil {
		t.Error("what has a clone was destroyed")
	}
	ready, err := s.Snapshot(ctx, d, []protect.Volume{placed(t, s, at)}, name+"-ready", facts) // of the copy, as a drill does
	must(t, err)
	_, awayToo := copied(t, s, ready[0])
	t.Logf("with copies:\n%s", lists())
	awayToo()
	must(t, s.Destroy(ctx, d, ready))
	away()
	must(t, s.Destroy(ctx, d, all))
	if st, err := s.State(ctx, d, all[0]); err != nil || !st.Gone {
		t.Errorf("after the destruction: %+v, %v", st, err)
	}
	if now := lists(); now != had {
		t.Errorf("there was\n%s\nand is\n%s", had, now)
	}
}

// placed finds the volume of what is mounted somewhere, as of a copy that no stack knows.
func placed(t *testing.T, s onVolume, dir string) protect.Volume {
	t.Helper()
	mounts, err := observe.MountTable(t.Context(), hosttest.LiveDoer(t), "self")
	must(t, err)
	for _, m := range mounts {
		if m.Point != dir {
			continue
		}
		v, ok := s.Volume(&stack.Stack{}, m.Thing(m.Point))
		if !ok {
			t.Fatalf("%s on %s is no volume of %s", m.Source, dir, s.Name())
		}
		v, err := s.Place(t.Context(), hosttest.LiveDoer(t), v, dir)
		must(t, err)
		return v
	}
	t.Fatalf("nothing is mounted on %s", dir)
	return protect.Volume{}
}

// copied clones a snapshot, and looks at what is in the clone. away takes it away.
func copied(t *testing.T, s onVolume, m protect.Member) (at string, away func()) {
	t.Helper()
	book, err := kinds.Books(hosttest.LiveDoer(t), filepath.Join(t.TempDir(), "books")).Open(t.Context(), "run1")
	must(t, err)
	at = t.TempDir()
	must(t, s.Clone(t.Context(), hosttest.LiveDoer(t), m, protect.CloneAt{Dir: at, Book: book}))
	text, err := os.ReadFile(filepath.Join(at, "file"))
	if err != nil || string(text) != "as it was" {
		t.Errorf("the copy of %s holds %q, %v", m.Snapshot, text, err)
	}
	must(t, os.WriteFile(filepath.Join(at, "more"), []byte(strings.Repeat("x", 1<<20)), 0o600))
	return at, func() { must(t, book.Close(t.Context())) }
}
