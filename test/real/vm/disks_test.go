package vm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestRoomFor(t *testing.T) {
	for _, c := range []struct {
		bytes int64
		files int
		want  int64 // MiB
	}{
		{0, 0, 16}, {1, 1, 17}, {100 << 20, 1, 127}, {0, 1000, 24},
	} {
		if got := roomFor(c.bytes, c.files); got != c.want<<20 {
			t.Errorf("%d bytes in %d files: %d MiB and %d bytes, want %d MiB", c.bytes, c.files, got>>20, got&(1<<20-1), c.want)
		}
	}
}

func TestComplaints(t *testing.T) {
	text := "debugfs 1.47.0 (5-Feb-2023)\nrdump: Operation not permitted while changing ownership of ./x\n"
	if got := complaints(text); got != "" {
		t.Errorf("complains of %q", got)
	}
	bad := "debugfs 1.47.0 (5-Feb-2023)\nout.img: Bad magic number in super-block while trying to open out.img\nrdump: Filesystem not open\n"
	if got := complaints(bad); !strings.Contains(got, "Bad magic") || !strings.Contains(got, "not open") {
		t.Errorf("complains of %q only", got)
	}
}

// TestFilesThereAndBack makes the disk with the files that come along and
// brings its files back, without a machine between.
func TestFilesThereAndBack(t *testing.T) {
	for _, name := range []string{"mke2fs", "debugfs"} {
		if _, err := findProgram(name, "e2fsprogs"); err != nil {
			t.Skip(err)
		}
	}
	from := t.TempDir()
	write(t, filepath.Join(from, "plumb"), "#!/bin/sh\n", 0o755)
	write(t, filepath.Join(from, "dir/below/text"), strings.Repeat("text\n", 1000), 0o644)
	image, err := makeIn(t.Context(), t.TempDir(), Script{In: []string{filepath.Join(from, "plumb"), filepath.Join(from, "dir")}, Line: "exit 3"})
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "with space")
	if err := emptyDir(to); err != nil {
		t.Fatal(err)
	}
	if err := bring(t.Context(), image, to); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"plumb": "#!/bin/sh\n", "dir/below/text": strings.Repeat("text\n", 1000), ".vm/line": "exit 3\n", ".vm/init": initScript, ".vm/run": runScript} {
		got, err := os.ReadFile(filepath.Join(to, name))
		if err != nil || string(got) != want {
			t.Errorf("%s holds %d bytes, want %d: %v", name, len(got), len(want), err)
		}
	}
	if st, err := os.Stat(filepath.Join(to, "plumb")); err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("the program came back as %v, %v", st, err)
	}
	if _, err := os.Stat(filepath.Join(to, "lost+found")); err == nil {
		t.Error("lost+found came along")
	}
	if err := emptyDir(to); err == nil {
		t.Error("a directory with files was taken for empty")
	}
	if err := bring(t.Context(), filepath.Join(from, "plumb"), t.TempDir()); err == nil {
		t.Error("files came from what is no disk")
	}
}

// TestRoomForManyFiles: mke2fs rounds the inodes of each of many groups.
func TestRoomForManyFiles(t *testing.T) {
	if _, err := findProgram("mke2fs", "e2fsprogs"); err != nil {
		t.Skip(err)
	}
	from := t.TempDir()
	const files = 490
	for i := range files {
		write(t, filepath.Join(from, strconv.Itoa(i)), "", 0o644)
	}
	if err := makeFilesystem(t.Context(), filepath.Join(t.TempDir(), "image"), "in", 400<<20, files+64, "-d", from); err != nil {
		t.Error(err)
	}
}

func TestTwoFilesOfOneName(t *testing.T) {
	a, b := filepath.Join(t.TempDir(), "x"), filepath.Join(t.TempDir(), "x")
	write(t, a, "a", 0o644)
	write(t, b, "b", 0o644)
	if _, err := makeIn(t.Context(), t.TempDir(), Script{In: []string{a, b}}); err == nil || !strings.Contains(err.Error(), "same last name") {
		t.Errorf("%v", err)
	}
}

// TestTiedGivesTheExitCode: a command is tied and still says how it ended.
func TestTiedGivesTheExitCode(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.CommandContext(t.Context(), sh, "-c", "exit 3")
	if err := tied(cmd); err == nil || cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("ended with %v", err)
	}
}

func write(t *testing.T, name, text string, perm os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), perm); err != nil {
		t.Fatal(err)
	}
}
