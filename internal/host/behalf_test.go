package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const nobody = 65534

// asNobody starts a program as an ordinary user and gives its number once it runs.
func asNobody(t *testing.T, argv ...string) int {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to become another user")
	}
	c := exec.Command(argv[0], argv[1:]...)
	c.Dir = "/"
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	must(t, c.Start()) // returns after exec
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c.Process.Pid
}

// openDir is a directory that others can pass through.
func openDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	must(t, os.Chmod(dir, 0o755))
	return dir
}

// What a process names is read with the rights of who started it.
func TestReadForAProcess(t *testing.T) {
	pid := asNobody(t, "sleep", "1000")
	l := newTestLive(t, LiveOptions{})
	dir := openDir(t)
	secret, open, shut := write(t, dir+"/secret", "x"), write(t, dir+"/open.cnf", "y"), filepath.Join(dir, "shut")
	must(t, os.Chmod(secret, 0o600))
	write(t, shut+"/in.cnf", "z")
	must(t, os.Chmod(shut, 0o700))
	must(t, os.Symlink(secret, dir+"/link"))
	ctx := For(t.Context(), pid, nil)
	for _, name := range []string{secret, dir + "/link", shut + "/in.cnf", "/etc/shadow", fmt.Sprintf("/proc/%d/root%s", pid, secret)} {
		if text, err := l.ReadFile(ctx, name); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if _, err := l.ReadFile(t.Context(), name); err != nil && name != "/etc/shadow" {
			t.Errorf("%s for ourselves: %v", name, err)
		}
	}
	if found, err := l.Glob(ctx, shut+"/*.cnf"); len(found) > 0 || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a directory that is shut: %v, %v", found, err)
	}
	for _, name := range []string{open, fmt.Sprintf("/proc/%d/root%s", pid, open), fmt.Sprintf("/proc/%d/environ", pid)} {
		if _, err := l.ReadFile(ctx, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := l.ReadFile(AsUser(t.Context(), nobody, nobody), secret); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("as the user: %v", err)
	}
}

// A program that is setuid root runs with arguments that anybody gave it.
func TestReadForASetuidProcess(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to make a setuid program")
	}
	sleep, err := exec.LookPath("sleep")
	must(t, err)
	text, err := os.ReadFile(sleep)
	must(t, err)
	dir := openDir(t)
	program := filepath.Join(dir, "mysqld")
	must(t, os.WriteFile(program, text, 0o755))
	must(t, os.Chmod(program, 0o755|fs.ModeSetuid))
	pid := asNobody(t, program, "1000")
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(t, err)
	if !strings.Contains(string(status), "Uid:\t65534\t0\t") {
		t.Skip("needs a filesystem on which setuid counts")
	}
	secret := write(t, dir+"/secret", "x")
	must(t, os.Chmod(secret, 0o600))
	l := newTestLive(t, LiveOptions{})
	if _, err := l.ReadFile(For(t.Context(), pid, nil), secret); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("read with the rights of a setuid program: %v", err)
	}
}

func TestParseUser(t *testing.T) {
	u, err := parseUser([]byte("Name:\tmysqld\nUid:\t112\t0\t0\t0\nGid:\t118\t0\t0\t0\nGroups:\t4 118 \n"))
	if err != nil || u.uid != 112 || u.gid != 118 || !slices.Equal(u.groups, []int{4, 118}) {
		t.Errorf("%+v, %v", u, err)
	}
	for _, bad := range []string{"", "Uid:\t\nGid:\t1\nGroups:\t\n", "Uid:\tx\nGid:\t1\nGroups:\t\n", "Uid:\t0\t0\n"} {
		if u, err := parseUser([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, u)
		}
	}
}

// A device or a pipe is not opened for a look: that alone can do harm.
func TestOnlyFilesAreOpened(t *testing.T) {
	l, dir := newTestLive(t, LiveOptions{}), t.TempDir()
	pipe, device := filepath.Join(dir, "pipe"), filepath.Join(dir, "device")
	must(t, unix.Mkfifo(pipe, 0o644))
	names := []string{pipe}
	if unix.Mknod(device, unix.S_IFCHR|0o644, int(unix.Mkdev(1, 3))) == nil { // root alone may
		names = append(names, device)
	}
	watch, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	must(t, err)
	defer unix.Close(watch)
	for _, name := range names {
		_, err := unix.InotifyAddWatch(watch, name, unix.IN_OPEN)
		must(t, err)
		if _, err := l.ReadFile(t.Context(), name); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: %v", name, err)
		}
		if n, err := unix.Read(watch, make([]byte, 4096)); err != unix.EAGAIN {
			t.Errorf("%s was opened (%d, %v)", name, n, err)
		}
	}
}

// All that is read for one server comes out of one room.
func TestRoomIsShared(t *testing.T) {
	l, dir := newTestLive(t, LiveOptions{}), t.TempDir()
	for _, n := range []string{"a", "b", "c", "d"} {
		write(t, filepath.Join(dir, n), strings.Repeat("x", 4000))
	}
	ctx := For(t.Context(), os.Getpid(), NewRoom(3*each+9000))
	var got []int
	for _, n := range []string{"a", "b", "c", "d"} {
		text, err := l.ReadFile(ctx, filepath.Join(dir, n))
		if (err != nil) != (n > "b") || err != nil && !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", n, err)
		}
		got = append(got, len(text))
	}
	if !slices.Equal(got, []int{4000, 4000, 1000, 0}) {
		t.Errorf("read %v bytes", got)
	}
	if found, err := l.Glob(For(t.Context(), os.Getpid(), NewRoom(each+2*perPath)), dir+"/*"); len(found) != 2 || !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v, %v", found, err)
	}
}

// Logins stand in files that we choose: whoever a query is about, they are read
// with our own rights.
func TestLoginsAreReadForOurselves(t *testing.T) {
	pid := asNobody(t, "sleep", "1000")
	file := write(t, openDir(t)+"/login", "s3cret")
	must(t, os.Chmod(file, 0o600))
	l := newTestLive(t, LiveOptions{Dialers: map[string]Dialer{"fake": &fakeDialer{}}})
	at := Target{Engine: "fake", Name: "fake:1", Logins: []Login{{File: file}}}
	if _, err := l.Query(For(t.Context(), pid, nil), at, "SELECT 1"); err != nil {
		t.Errorf("the login was not read: %v", err)
	}
}

func FuzzUser(f *testing.F) {
	f.Add([]byte("Name:\tmariadbd\nUid:\t110\t110\t110\t110\nGid:\t118\t118\t118\t118\nGroups:\t118 \n"))
	f.Add([]byte("Uid:\t\nGid:\t1\nGroups:\t\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if u, err := parseUser(text); err != nil && (u.uid != 0 || u.groups != nil) {
			t.Errorf("rights of nobody: %+v", u)
		}
	})
}
