package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func doer(t *testing.T) *LiveDoer {
	t.Helper()
	h := NewLiveDoer(NewLive(LiveOptions{}))
	t.Cleanup(func() { h.Close() })
	return h
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	return string(text)
}

// What is replaced keeps mode, owner and attributes, a link keeps pointing
// where it did, and nothing is left beside it.
func TestReplaceKeepsWhatTheFileWas(t *testing.T) {
	h, dir := doer(t), t.TempDir()
	file, link := filepath.Join(dir, "my.cnf"), filepath.Join(dir, "link")
	must(t, os.WriteFile(file, []byte("old"), 0o600))
	must(t, os.Chmod(file, 0o640))
	must(t, os.Symlink("my.cnf", link))
	attributes := unix.Setxattr(file, "user.plumb", []byte("kept"), 0) == nil
	if os.Geteuid() == 0 {
		must(t, os.Chown(file, 65534, 65534))
	}
	must(t, h.Replace(t.Context(), link, []byte("new"), 0o644))
	info, err := os.Lstat(file)
	must(t, err)
	if content(t, file) != "new" || info.Mode().Perm() != 0o640 {
		t.Errorf("%q with mode %v", content(t, file), info.Mode())
	}
	if st := info.Sys().(*syscall.Stat_t); os.Geteuid() == 0 && st.Uid != 65534 {
		t.Errorf("it belongs to %d now", st.Uid)
	}
	if l, err := os.Lstat(link); err != nil || l.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link is no link any more")
	}
	value := make([]byte, 10)
	if n, err := unix.Getxattr(file, "user.plumb", value); attributes && (err != nil || string(value[:n]) != "kept") {
		t.Errorf("its extended attribute is %q, %v", value[:max(n, 0)], err)
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
	if err := h.Replace(t.Context(), dir, []byte("x"), 0o644); err == nil {
		t.Error("a directory was replaced by a file")
	}
}

func TestAppendMakesItsDirectory(t *testing.T) {
	h := doer(t)
	file := filepath.Join(t.TempDir(), "a", "b", "journal")
	must(t, h.Append(t.Context(), file, []byte("one\n")))
	must(t, h.Append(t.Context(), file, []byte("two\n")))
	info, err := os.Stat(file)
	must(t, err)
	if content(t, file) != "one\ntwo\n" || info.Mode().Perm() != 0o600 {
		t.Errorf("%q with mode %v", content(t, file), info.Mode())
	}
}

func TestLockIsForOne(t *testing.T) {
	h, file := doer(t), filepath.Join(t.TempDir(), "state", "lock")
	unlock, err := h.Lock(t.Context(), file)
	must(t, err)
	if _, err := h.Lock(t.Context(), file); !errors.Is(err, ErrLocked) {
		t.Errorf("a second lock: %v", err)
	}
	unlock()
	unlock, err = h.Lock(t.Context(), file)
	must(t, err)
	unlock()
}

func TestWritable(t *testing.T) {
	h, dir := doer(t), t.TempDir()
	must(t, h.Writable(t.Context(), filepath.Join(dir, "not", "there", "yet")))
	must(t, h.Writable(t.Context(), filepath.Join(dir, "file")))
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("asking made %v", entries)
	}
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere: the refusals need another user")
	}
	for _, name := range []string{"/etc/plumb.conf", "/proc/sys/vm/swappiness"} {
		if err := h.Writable(t.Context(), name); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A file on a read-only filesystem, and on a full one, is found before
// anything is written.
func TestWritableSeesTheFilesystem(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting a tmpfs needs root")
	}
	h, dir := doer(t), t.TempDir()
	must(t, unix.Mount("plumb", dir, "tmpfs", 0, "size=1m"))
	defer unix.Unmount(dir, unix.MNT_DETACH)
	must(t, os.WriteFile(filepath.Join(dir, "big"), make([]byte, 900<<10), 0o600))
	if err := h.Writable(t.Context(), filepath.Join(dir, "x")); err == nil || !strings.Contains(err.Error(), "no space") {
		t.Errorf("a full filesystem: %v", err)
	}
	must(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	if err := h.Writable(t.Context(), filepath.Join(dir, "x")); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("a read-only filesystem: %v", err)
	}
}

func TestRunAndRemove(t *testing.T) {
	h, file := doer(t), filepath.Join(t.TempDir(), "x")
	if _, err := h.Run(t.Context(), "touch", file); err != nil {
		t.Fatal(err)
	}
	must(t, h.Remove(t.Context(), file))
	must(t, h.Remove(t.Context(), file))
	if _, err := h.Run(t.Context(), "false"); err == nil {
		t.Error("false succeeded")
	}
	if _, err := h.Run(t.Context(), "no-such-program"); !errors.Is(err, ErrNoCommand) {
		t.Errorf("a missing program: %v", err)
	}
}
