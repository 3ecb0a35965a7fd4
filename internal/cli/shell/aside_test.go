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

// TestWhatAKilledWriterLeft is removed by the next run of the same file, and nothing else is: not what another run is writing, nor
// what is only called alike, nor what others own.
func TestWhatAKilledWriterLeft(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "out")
	list := func(number string) (all []string) {
		t.Helper()
		there, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range there {
			if strings.HasPrefix(e.Name(), ".out.plumb-"+number) {
				all = append(all, e.Name())
			}
		}
		return all
	}
	put := func(name string, uid int) string {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(filepath.Join(dir, name), uid, -1); err != nil {
			t.Fatal(err)
		}
		return name
	}
	killed(t, name)
	left := list("")
	if len(left) != 1 {
		t.Fatalf("it left %q", left)
	}
	stay := []string{put(".out.plumb-1x", -1), put(".out.plumb-", -1), put(".other.plumb-1", -1), put("out.plumb-1", -1)}
	if os.Getuid() == 0 {
		stay = append(stay, put(".out.plumb-7", 65534))
	}
	if err := os.Symlink("out.plumb-1", filepath.Join(dir, ".out.plumb-8")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, ".out.plumb-9"), 0o600); err != nil {
		t.Fatal(err)
	}
	stay = append(stay, ".out.plumb-8", ".out.plumb-9")
	err := WriteFile(name, false, func(w io.Writer) error {
		mine := slices.DeleteFunc(list(""), func(n string) bool { return slices.Contains(stay, n) })
		if len(mine) != 1 || mine[0] == left[0] {
			t.Errorf("while it is written there are %q, and %q was left", mine, left)
		}
		// Another run of the same file finds this one writing.
		if err := WriteFile(name, false, func(w io.Writer) error { _, err := w.Write([]byte("other")); return err }); err != nil {
			t.Error(err)
		}
		if now := list(strings.TrimPrefix(mine[0], ".out.plumb-")); !slices.Equal(now, mine) {
			t.Errorf("the other run removed what this one writes: %q", now)
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
	if n, err := os.ReadDir(dir); err != nil || len(n) != len(stay)+1 {
		t.Errorf("there are %d files, and %d stay: %v, %v", len(n), len(stay), n, err)
	}
}
