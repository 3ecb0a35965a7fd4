package volume

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/test/reaper"
	"plumb/test/sandbox"
)

// labBox makes the lab's directory and book, and checks at the end that
// nothing is left.
func labBox(t *testing.T) lab.Workspace {
	t.Helper()
	sandbox.NeedLong(t, "makes volumes: run without -short")
	top := t.TempDir()
	must(t, reaper.Mind(top)) // a volume is mounted below it
	sandbox.NeedMount(t, top)
	do := host.NewLiveDoer(host.NewLive(host.LiveOptions{}))
	books := filepath.Join(top, "books")
	run := fmt.Sprintf("t%d", os.Getpid())
	book, err := kinds.Books(do, books).Open(t.Context(), run)
	must(t, err)
	b := lab.Workspace{Dir: filepath.Join(top, "lab"), Run: run, Do: do, Book: book}
	_, err = book.Make(t.Context(), inventory.Thing{Kind: inventory.Tree, Name: b.Dir}, func(*inventory.Thing) error {
		return os.WriteFile(filepath.Join(mustMkdir(t, b.Dir), inventory.Marker), []byte(run+"\n"), 0o600)
	})
	must(t, err)
	t.Cleanup(func() {
		must(t, book.Close(context.Background()))
		must(t, do.Close())
		nothingLeft(t, top)
	})
	return b
}

func mustMkdir(t *testing.T, dir string) string {
	t.Helper()
	must(t, os.Mkdir(dir, 0o755))
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// nothingLeft looks for mounts, loop devices, pools and files of a directory.
func nothingLeft(t *testing.T, top string) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	if bytes.Contains(mounts, []byte(top)) {
		t.Errorf("something below %s is still mounted", top)
	}
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	must(t, err)
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && bytes.Contains(text, []byte(top)) {
			t.Errorf("%s is still there", f)
		}
	}
	for _, sub := range []string{"lab", "books"} {
		left, err := os.ReadDir(filepath.Join(top, sub))
		if err != nil {
			continue
		}
		for _, e := range left {
			if e.Name() != "lock" {
				t.Errorf("%s/%s is still there", sub, e.Name())
			}
		}
	}
}

// fill puts files of all sorts in the golden directory.
func fill(t *testing.T, dir string, uid int) {
	t.Helper()
	must(t, os.Mkdir(filepath.Join(dir, "base"), 0o750))
	random := bytes.Repeat([]byte("0123456789abcdef plumb "), 200_000)
	must(t, os.WriteFile(filepath.Join(dir, "base", "table.ibd"), random, 0o640))
	must(t, os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600))
	f, err := os.Create(filepath.Join(dir, "sparse"))
	must(t, err)
	_, err = f.WriteAt([]byte("end"), 64<<20)
	must(t, err)
	must(t, f.Close())
	must(t, os.Symlink("base/table.ibd", filepath.Join(dir, "link")))
	must(t, os.Link(filepath.Join(dir, "base", "table.ibd"), filepath.Join(dir, "second")))
	if uid == 0 {
		return
	}
	must(t, filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		return os.Lchown(p, uid, uid+1)
	}))
}

// list describes all that is below a directory: modes, owners, contents.
func list(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	must(t, filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		rel, _ := filepath.Rel(dir, p)
		fmt.Fprintf(&out, "%s %v %d:%d links %d", rel, info.Mode(), st.Uid, st.Gid, st.Nlink)
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, " %s %x", info.ModTime(), sha256.Sum256(text))
		}
		out.WriteByte('\n')
		return nil
	}))
	return out.String()
}

// resident counts the pages of a file that are in the page cache.
func resident(t *testing.T, name string) (n int) {
	t.Helper()
	f, err := os.Open(name)
	must(t, err)
	defer f.Close()
	info, err := f.Stat()
	must(t, err)
	m, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	must(t, err)
	defer unix.Munmap(m)
	vec := make([]byte, (len(m)+4095)/4096)
	_, _, errno := syscall.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&m[0])), uintptr(len(m)), uintptr(unsafe.Pointer(&vec[0])))
	if errno != 0 {
		t.Fatal(errno)
	}
	for _, v := range vec {
		n += int(v & 1)
	}
	return n
}

// trials fills a volume and gives it to two trials, the first of which
// overwrites everything.
func trials(t *testing.T, v lab.Volume, wants string, uid int, cold bool) {
	t.Helper()
	ctx := t.Context()
	golden, err := v.Golden(ctx, uid, min(uid, uid+1))
	must(t, err)
	fill(t, golden, uid)
	want := list(t, golden)
	paths := map[string]bool{}
	for range 2 {
		dir, how, err := v.Clone(ctx)
		must(t, err)
		paths[dir] = true
		if how != wants {
			t.Errorf("cloned by %s, want %s", how, wants)
		}
		for _, d := range []string{dir, golden} {
			if n := resident(t, filepath.Join(d, "base/table.ibd")); cold && n > 0 {
				t.Errorf("%d pages of %s are cached", n, d)
			}
		}
		if got := list(t, dir); got != want {
			t.Errorf("the clone is\n%s\nand was\n%s", got, want)
		}
		if _, _, err := v.Clone(ctx); err == nil {
			t.Error("a second clone was made beside the first")
		}
		f, err := v.Facts(ctx)
		must(t, err)
		before := v.Counters(ctx)
		must(t, os.WriteFile(filepath.Join(dir, "base/table.ibd"), make([]byte, 8<<20), 0o640))
		must(t, os.WriteFile(filepath.Join(dir, "new"), bytes.Repeat([]byte{7}, 1<<20), 0o640))
		out, err := exec.Command("sync", "-f", dir).CombinedOutput()
		if err != nil {
			t.Fatalf("%s", out)
		}
		after := v.Counters(ctx)
		t.Logf("%+v\nbefore %v\nafter  %v", f, before, after)
		if n, counted := before[deviceRequests]; counted && after[deviceRequests] <= n {
			t.Error("the device had no request")
		}
		must(t, v.Drop(ctx))
		if got := list(t, golden); got != want {
			t.Errorf("the golden data are\n%s\nand were\n%s", got, want)
		}
	}
	if len(paths) != 1 {
		t.Errorf("clones lie in %v", paths)
	}
}

func TestLoopVolumes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("loop devices need root")
	}
	for _, c := range []struct{ filesystem, clone, want, mount string }{
		{"ext4", "", "copy", "noatime"}, {"xfs", "auto", "copy", ""}, {"xfs", "reflink", "reflink", ""},
		{"btrfs", "", "reflink", "compress=zstd"}, {"btrfs", "snapshot", "snapshot", ""}, {"btrfs", "", "copy", "nodatacow"},
	} {
		t.Run(c.filesystem+c.clone+c.mount, func(t *testing.T) {
			b := labBox(t)
			v, err := New().Make(t.Context(), b, "v1", experiment.Volume{Kind: experiment.Loop, Size: 400 << 20, Filesystem: c.filesystem, Mount: c.mount, Clone: c.clone})
			must(t, err)
			trials(t, v, c.want, 999, true)
			trimmed(t, v, filepath.Join(b.Dir, "v1.img"))
			must(t, v.Close(t.Context()))
			if left, err := os.ReadDir(b.Dir); err != nil || len(left) != 1 {
				t.Errorf("%v is left, %v", left, err)
			}
		})
	}
}

func TestLoopVolumeIsTakenAwayByItsBook(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("loop devices need root")
	}
	b := labBox(t)
	v, err := New().Make(t.Context(), b, "v1", experiment.Volume{Kind: experiment.Loop, Size: 64 << 20, Filesystem: "ext4", Profile: "iops=1000,mbps=50"})
	must(t, err)
	golden, err := v.Golden(t.Context(), 0, 0)
	must(t, err)
	fill(t, golden, 0)
	_, _, err = v.Clone(t.Context())
	must(t, err)
}

func TestLoopVolumeThatCannotBeMade(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("loop devices need root")
	}
	b := labBox(t)
	for _, v := range []experiment.Volume{
		{Kind: experiment.Loop, Size: 64 << 20, Filesystem: "ext4", Mount: "no-such-option"},
		{Kind: experiment.Loop, Size: 64 << 20, Filesystem: "ext4", Mkfs: []string{"--no-such-option"}},
	} {
		if _, err := New().Make(t.Context(), b, "v1", v); err == nil {
			t.Errorf("%+v was made", v)
		} else {
			t.Log(err)
		}
		if left, err := os.ReadDir(b.Dir); err != nil || len(left) != 1 {
			t.Errorf("%v is left, %v", left, err)
		}
	}
}

func TestDirectoryVolume(t *testing.T) {
	b := labBox(t)
	v, err := New().Make(t.Context(), b, "v1", experiment.Volume{Kind: experiment.Directory})
	must(t, err)
	uid := 0
	if os.Geteuid() == 0 {
		uid = 999
	}
	trials(t, v, "copy", uid, true)
	must(t, v.Close(t.Context()))
}

// trimmed checks that what a trial wrote is given back.
func trimmed(t *testing.T, v lab.Volume, image string) {
	t.Helper()
	blocks := func() int64 {
		var st syscall.Stat_t
		must(t, syscall.Stat(image, &st))
		return st.Blocks * 512
	}
	before := blocks()
	dir, _, err := v.Clone(t.Context())
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "large"), bytes.Repeat([]byte("plumb"), 8<<20), 0o600))
	must(t, exec.Command("sync", "-f", dir).Run())
	full := blocks()
	must(t, v.Drop(t.Context()))
	if after := blocks(); after > before+8<<20 {
		f, err := v.Facts(t.Context())
		t.Errorf("the file took %d bytes, %d with a clone, and %d without: %+v, %v", before, full, after, f, err)
	}
}

func TestCloneThatDoesNotFit(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("loop devices need root")
	}
	b := labBox(t)
	v, err := New().Make(t.Context(), b, "v1", experiment.Volume{Kind: experiment.Loop, Size: 64 << 20, Filesystem: "ext4"})
	must(t, err)
	golden, err := v.Golden(t.Context(), 0, 0)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(golden, "large"), make([]byte, 40<<20), 0o600))
	_, _, err = v.Clone(t.Context())
	if help := hint.Hinted(nil); err == nil || !errors.As(err, &help) {
		t.Errorf("no hint: %v", err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(golden), "data")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the clone: %v", err)
	}
	must(t, os.Truncate(filepath.Join(golden, "large"), 1<<20))
	_, _, err = v.Clone(t.Context())
	must(t, err)
	// Unmounted by somebody, nothing may be done to the host's filesystem.
	must(t, exec.Command("umount", filepath.Dir(golden)).Run())
	if err := v.Drop(t.Context()); err == nil {
		t.Error("it was dropped from the host's filesystem")
	}
}

func TestLoopVolumeIsLimited(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("loop devices need root")
	}
	b := labBox(t)
	v, err := New().Make(t.Context(), b, "v1", experiment.Volume{Kind: experiment.Loop, Size: 400 << 20, Filesystem: "ext4", Profile: "iops=500,mbps=20"})
	must(t, err)
	golden, err := v.Golden(t.Context(), 0, 0)
	must(t, err)
	fill(t, golden, 0)
	_, _, err = v.Clone(t.Context())
	must(t, err)
	facts, err := v.Limit(t.Context())
	t.Logf("%+v %v", facts, err) // that it holds is tested with the limiter, on a quiet machine
	if len(facts) == 0 && err == nil {
		t.Error("nothing was measured")
	}
	must(t, v.Unlimit(t.Context()))
	must(t, v.Close(t.Context()))
}
