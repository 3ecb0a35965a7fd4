package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plumb/test/namespace"
)

// hungMount mounts a filesystem nobody answers for, as a dead NFS server or a
// suspended pool looks from here.
func hungMount(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount")
	}
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("needs FUSE: %v", err)
	}
	dir := t.TempDir()
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)
	if err := unix.Mount("plumb-test", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		unix.Close(fd)
		t.Skipf("needs a mount: %v", err)
	}
	t.Cleanup(func() {
		unix.Close(fd)                                                                             // ends whatever waits
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) { // the test has done it
			t.Error(err)
		}
	})
	return dir
}

func TestNothingHangsWithADeadFilesystem(t *testing.T) {
	dir := hungMount(t)
	l := newTestLive(t, LiveOptions{FileTime: 100 * time.Millisecond, CommandTime: 300 * time.Millisecond})
	l.commands = append(l.commands, parseCommands("stat ?\n"+"x ?")...)
	ctx := context.Background()
	started := time.Now()
	for call, failed := range map[string]func() error{
		"read":   func() error { _, err := l.ReadFile(ctx, dir+"/a"); return err },
		"stat":   func() error { _, err := l.Stat(ctx, dir+"/a"); return err },
		"statfs": func() error { _, err := l.Statfs(ctx, dir); return err },
		"glob":   func() error { _, err := l.Glob(ctx, dir+"/*"); return err },
		"link":   func() error { _, err := l.Readlink(ctx, dir+"/a"); return err },
		"run":    func() error { _, err := l.Output(ctx, "stat", dir+"/a"); return err },
		"start":  func() error { _, err := l.Output(ctx, dir+"/x", "y"); return err },
	} {
		if err := failed(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", call, err)
		}
	}
	if took := time.Since(started); took > 30*time.Second { // each would wait for as long as the filesystem hangs
		t.Errorf("took %v", took)
	}
	// What lies below a path that hung is not waited for again.
	l.Stat(ctx, dir+"/a")
	for i := range 50 {
		if _, err := l.ReadFile(ctx, fmt.Sprintf("%s/a/%d", dir, i)); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "does not answer") {
			t.Fatal(err)
		}
	}
	if n := l.stuck.n.Load(); n == 0 {
		t.Error("nothing was left behind: the mount does not hang")
	}
}

// What changes files is not held up by a dead filesystem either, and the disk
// beside it is changed as ever.
func TestNoChangeHangsWithADeadFilesystem(t *testing.T) {
	dir := hungMount(t)
	h := NewLiveDoer(newTestLive(t, LiveOptions{FileTime: 100 * time.Millisecond}))
	h.changeTime = 100 * time.Millisecond
	ctx := t.Context()
	for i, failed := range []func(name string) error{
		func(name string) error { return h.Replace(ctx, name, []byte("x"), 0o600) },
		func(name string) error { return h.Tidy(ctx, name) },
		func(name string) error { return h.Remove(ctx, name) },
		func(name string) error { return h.Append(ctx, name, []byte("x")) },
		func(name string) error { return h.Write(ctx, name, []byte("x")) },
		func(name string) error { return h.Writable(ctx, name) },
		func(name string) error { _, err := h.Lock(ctx, name); return err },
		func(name string) error { _, err := h.Raw(ctx, name); return err },
	} {
		started := time.Now()
		if err := failed(fmt.Sprintf("%s/%d", dir, i)); !errors.Is(err, context.DeadlineExceeded) || time.Since(started) > 30*time.Second {
			t.Errorf("operation %d: %v after %v", i, err, time.Since(started))
		}
	}
	h.changeTime = time.Minute // this filesystem does not hang; a busy disk takes its time
	stopped, stop := context.WithCancel(ctx)
	stop()
	beside := t.TempDir() + "/file"
	must(t, h.Replace(stopped, beside, []byte("x"), 0o600))
	if content(t, beside) != "x" {
		t.Error("what is told to stop leaves half")
	}
}

func TestWithinRefusesWhenTooMuchHangs(t *testing.T) {
	var stuck stuckCount
	release := make(chan struct{})
	ctx := context.Background()
	hang := func(context.Context) (int, error) { <-release; return 1, nil }
	for range maxStuck {
		if _, err := within(ctx, &stuck, time.Microsecond, hang); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	}
	if _, err := within(ctx, &stuck, time.Hour, hang); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "too many") {
		t.Errorf("one more: %v", err)
	}
	close(release)
	for deadline := time.Now().Add(time.Minute); stuck.n.Load() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d still count as stuck", stuck.n.Load())
		}
	}
}

func TestOnlyWhatLiesBelowAHungPathIsGivenUp(t *testing.T) {
	l, now := newTestLive(t, LiveOptions{FileTime: time.Millisecond}), time.Now()
	hung := make(chan struct{})
	defer close(hung)
	for _, name := range []string{"/srv/nfs", "/proc/1/stat", "/", "", "/proc/7/root/data/"} {
		_, err := onFile(t.Context(), l, name, true, func(ctx context.Context) (int, error) {
			<-hung
			return 0, nil
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for name, want := range map[string]string{
		"/srv/nfs": "/srv/nfs", "/srv/nfs/a/b": "/srv/nfs", "/srv/nfs2": "", "/srv": "", "/proc/1/stat": "", "/proc/7/root/data/x": "/proc/7/root/data", "/": "",
	} {
		if got, _ := l.hung.above(parents(name), now, time.Minute, true); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestPathsBelowAProcessRootStayInside(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/etc/real.cnf", "inside")
	write(t, dir+"/etc/conf.d/a.cnf", "a")
	for link, to := range map[string]string{"abs": "/etc/real.cnf", "up": "../../../../etc/real.cnf", "chain": "/etc/abs", "dir": "/etc/conf.d"} {
		must(t, os.Symlink(to, dir+"/etc/"+link))
	}
	pid := processInRoot(t, dir)
	l := newTestLive(t, LiveOptions{})
	ctx := context.Background()
	root := fmt.Sprintf("/proc/%d/root", pid)
	if data, err := l.ReadFile(ctx, root+"/etc/chain"); err != nil || string(data) != "inside" {
		t.Errorf("read through absolute links: %q, %v", data, err)
	}
	if st, err := l.Stat(ctx, root+"/etc/chain"); err != nil || st.Resolved != root+"/etc/real.cnf" || st.Size != 6 {
		t.Errorf("stat: %+v, %v", st, err)
	}
	if found, err := l.Glob(ctx, root+"/etc/dir/*.cnf"); err != nil || len(found) != 1 || found[0] != root+"/etc/dir/a.cnf" {
		t.Errorf("glob: %v, %v", found, err)
	}
	if to, err := l.Readlink(ctx, root+"/etc/abs"); err != nil || to != "/etc/real.cnf" {
		t.Errorf("link: %v, %v", to, err)
	}
	if _, err := l.Statfs(ctx, root+"/etc/dir"); err != nil {
		t.Errorf("statfs: %v", err)
	}
}

// processInRoot starts a process whose root is dir, as in a container.
func processInRoot(t *testing.T, dir string) int {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to change a process's root")
	}
	must(t, os.MkdirAll(dir+"/usr", 0o755))
	for _, link := range []string{"lib", "lib64", "bin"} {
		must(t, os.Symlink("usr/"+link, dir+"/"+link))
	}
	cmd := exec.Command("unshare", "-m", "sh", "-c", namespace.LetGo("")+`mount --bind /usr "$0/usr" && exec chroot "$0" /usr/bin/sleep 60`, dir)
	if err := cmd.Start(); err != nil {
		t.Skipf("needs unshare: %v", err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for range 3000 {
		if to, _ := os.Readlink(fmt.Sprintf("/proc/%d/root", cmd.Process.Pid)); to != "/" && to != "" {
			return cmd.Process.Pid
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Skip("needs unshare, mount and chroot")
	return 0
}
