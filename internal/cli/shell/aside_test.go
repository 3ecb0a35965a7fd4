package shell

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestKilledWriter is the process that TestWhatAKilledWriterLeft kills.
func TestKilledWriter(t *testing.T) {
	name := os.Getenv("PLUMB_TEST_WRITES")
	if name == "" {
		t.Skip("only another test runs this")
	}
	t.Error(WriteFile(name, false, func(w io.Writer) error {
		if _, err := w.Write([]byte("half")); err != nil {
			return err
		}
		os.Stdout.WriteString("half\n")
		select {}
	}))
}

// killed has a process write a file, and kills it half-way.
func killed(t *testing.T, name string) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$")
	c.Env = append(os.Environ(), "PLUMB_TEST_WRITES="+name)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if bad := c.Process.Kill(); err != nil || bad != nil || line != "half\n" {
		t.Fatalf("it says %q, %v, %v", line, err, bad)
	}
	_ = c.Wait() // it was killed
}

// left lists the files whose names begin as those that are not whole.
func left(t *testing.T, dir string, not ...string) (all []string) {
	t.Helper()
	there, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range there {
		if strings.HasPrefix(e.Name(), ".out.plumb-") && !slices.Contains(not, e.Name()) {
			all = append(all, e.Name())
		}
	}
	return all
}

// alike makes what is only called alike, or is of others: all of it stays.
func alike(t *testing.T, dir string) (all []string) {
	t.Helper()
	put := func(name string, uid int) {
		t.Helper()
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(at, uid, -1); err != nil {
			t.Fatal(err)
		}
		all = append(all, name)
	}
	for _, name := range []string{".out.plumb-1x", ".out.plumb-", ".other.plumb-1", "out.plumb-1"} {
		put(name, -1)
	}
	if os.Getuid() == 0 {
		put(".out.plumb-7", 65534)
	}
	if err := os.Symlink("out.plumb-1", filepath.Join(dir, ".out.plumb-8")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, ".out.plumb-9"), 0o600); err != nil {
		t.Fatal(err)
	}
	return append(all, ".out.plumb-8", ".out.plumb-9")
}

// TestWhatAKilledWriterLeft is removed by the next run of the same file, and nothing else is: not what another run is writing, nor
// what is only called alike, nor what others own.
func TestWhatAKilledWriterLeft(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "out")
	killed(t, name)
	was := left(t, dir)
	if len(was) != 1 {
		t.Fatalf("it left %q", was)
	}
	stay := alike(t, dir)
	err := WriteFile(name, false, func(w io.Writer) error {
		mine := left(t, dir, stay...)
		if len(mine) != 1 || mine[0] == was[0] {
			t.Errorf("while it is written there are %q, and %q was left", mine, was)
		}
		// Another run of the same file finds this one writing.
		if err := WriteFile(name, false, func(w io.Writer) error { _, err := w.Write([]byte("other")); return err }); err != nil {
			t.Error(err)
		}
		if now := left(t, dir, stay...); !slices.Equal(now, mine) {
			t.Errorf("another run of the same file left %q of %q", now, mine)
		}
		if err := os.Remove(name); err != nil {
			t.Error(err)
		}
		_, err := w.Write([]byte("whole"))
		return err
	})
	text, bad := os.ReadFile(name)
	if err != nil || bad != nil || string(text) != "whole" {
		t.Errorf("%q, %v, %v", text, err, bad)
	}
	for _, name := range stay {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if now := left(t, dir, stay...); len(now) != 0 {
		t.Errorf("left: %q", now)
	}
}
