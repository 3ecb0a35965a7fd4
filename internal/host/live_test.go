package host

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func newTestLive(t *testing.T, o LiveOptions) *Live {
	t.Helper()
	l := NewLive(o)
	t.Cleanup(func() { l.Close() })
	return l
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(t, os.WriteFile(name, []byte(text), 0o644))
	return name
}

func TestReadFileReadsWhatStatCallsEmpty(t *testing.T) {
	l := newTestLive(t, LiveOptions{})
	data, err := l.ReadFile(context.Background(), "/proc/self/status")
	if err != nil || !bytes.Contains(data, []byte("Pid:")) {
		t.Errorf("/proc/self/status: %.40q, %v", data, err)
	}
}

func TestReadFileGivesTheHeadOfALargeFile(t *testing.T) {
	l := newTestLive(t, LiveOptions{FileBytes: 10})
	dir := t.TempDir()
	data, err := l.ReadFile(context.Background(), write(t, dir+"/large", "0123456789a"))
	if !errors.Is(err, ErrTooLarge) || string(data) != "0123456789" {
		t.Errorf("11 bytes with a limit of 10: %q, %v", data, err)
	}
	data, err = l.ReadFile(context.Background(), write(t, dir+"/fits", "0123456789"))
	if err != nil || string(data) != "0123456789" {
		t.Errorf("10 bytes with a limit of 10: %q, %v", data, err)
	}
	data, err = l.ReadFile(context.Background(), write(t, dir+"/empty", ""))
	if err != nil || data == nil || len(data) != 0 {
		t.Errorf("an empty file: %v, %v", data, err)
	}
}

func TestReadFileErrorsKeepTheirMeaning(t *testing.T) {
	l := newTestLive(t, LiveOptions{})
	ctx := context.Background()
	dir := t.TempDir()
	file := write(t, dir+"/file", "x")
	must(t, syscall.Mkfifo(dir+"/fifo", 0o600))
	for name, want := range map[string]error{
		dir + "/none":          fs.ErrNotExist,
		file + "/below":        fs.ErrNotExist,
		"/proc/999999999/stat": fs.ErrNotExist,
	} {
		if _, err := l.ReadFile(ctx, name); !errors.Is(err, want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	for _, name := range []string{dir, dir + "/fifo", "/dev/zero"} {
		if _, err := l.ReadFile(ctx, name); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: read, or waited for: %v", name, err)
		}
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := l.ReadFile(canceled, file); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func TestGlob(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b/x.cnf", "a/x.cnf", "a/y.cnf", "a/z.txt", "a/.hidden", "c"} {
		write(t, dir+"/"+name, "")
	}
	for _, tt := range []struct {
		pattern string
		want    []string
	}{
		{"/*/*.cnf", []string{"/a/x.cnf", "/a/y.cnf", "/b/x.cnf"}},
		{"/*", []string{"/a", "/b", "/c"}},
		{"/a/x.cnf", []string{"/a/x.cnf"}},
		{"/a/*", []string{"/a/.hidden", "/a/x.cnf", "/a/y.cnf", "/a/z.txt"}},
		{"/*/x.cnf", []string{"/a/x.cnf", "/b/x.cnf"}},
		{"/none/*", nil},
		{"/c/*", nil},
		{"/[ab]/[xy].*", []string{"/a/x.cnf", "/a/y.cnf", "/b/x.cnf"}},
	} {
		l := newTestLive(t, LiveOptions{})
		got, err := l.Glob(context.Background(), dir+tt.pattern)
		var want []string
		for _, w := range tt.want {
			want = append(want, dir+w)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", tt.pattern, got, err, want)
		}
	}
	l := newTestLive(t, LiveOptions{GlobPaths: 2})
	if got, err := l.Glob(context.Background(), dir+"/a/*"); !errors.Is(err, ErrTooLarge) || len(got) != 2 {
		t.Errorf("with a limit of 2: %v, %v", got, err)
	}
	if _, err := l.Glob(context.Background(), dir+"/[a"); err == nil {
		t.Error("a broken pattern: no error")
	}
}

func TestStatFollowsLinksAndSaysWhereTheyLead(t *testing.T) {
	l := newTestLive(t, LiveOptions{})
	ctx := context.Background()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	write(t, dir+"/data/ibdata1", "12345")
	for link, to := range map[string]string{"abs": dir + "/data", "rel": "data/../data", "loop": "loop", "dangling": "none"} {
		must(t, os.Symlink(to, dir+"/"+link))
	}
	for _, name := range []string{"abs", "rel", "data"} {
		st, err := l.Stat(ctx, dir+"/"+name+"/ibdata1")
		if err != nil || st.Size != 5 || st.Resolved != dir+"/data/ibdata1" || st.Inode == 0 || !st.Mode.IsRegular() {
			t.Errorf("%s: %+v, %v", name, st, err)
		}
	}
	if _, err := l.Stat(ctx, dir+"/dangling"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("dangling: %v", err)
	}
	if _, err := l.Stat(ctx, dir+"/loop"); err == nil {
		t.Error("loop: no error")
	}
	if to, err := l.Readlink(ctx, dir+"/rel"); err != nil || to != "data/../data" {
		t.Errorf("readlink: %q, %v", to, err)
	}
	var kernel syscall.Stat_t
	must(t, syscall.Stat(dir, &kernel))
	st, err := l.Stat(ctx, dir)
	if err != nil || st.Inode != kernel.Ino || st.BlockSize != int64(kernel.Blksize) || st.UID != kernel.Uid || !st.Mode.IsDir() {
		t.Errorf("%+v, %v, want %+v", st, err, kernel)
	}
	if st, err := l.Stat(ctx, "/proc/self/exe"); err != nil || st.Resolved == "" || st.Size == 0 {
		t.Errorf("/proc/self/exe: %+v, %v", st, err)
	}
}

func TestStatfsCountsBytes(t *testing.T) {
	l := newTestLive(t, LiveOptions{})
	st, err := l.Statfs(context.Background(), t.TempDir())
	if err != nil || st.TotalBytes == 0 || st.TotalBytes < st.FreeBytes || st.FreeBytes < st.AvailBytes {
		t.Errorf("%+v, %v", st, err)
	}
}

func TestOutputRunsReadingCommandsOnly(t *testing.T) {
	l := newTestLive(t, LiveOptions{})
	ctx := context.Background()
	if out, err := l.Output(ctx, "uname", "-s"); err != nil || string(out) != "Linux\n" {
		t.Errorf("uname -s: %q, %v", out, err)
	}
	if _, err := l.Output(ctx, "touch", "/tmp/x"); !errors.Is(err, ErrRefused) {
		t.Errorf("touch: %v", err)
	}
	if _, err := l.Output(ctx, "tuned-adm", "active"); !errors.Is(err, ErrNoCommand) {
		t.Skipf("tuned-adm is installed here: %v", err)
	}
}

func TestOutputIsBoundedInTimeAndSize(t *testing.T) {
	reader := func(within time.Duration) *Live {
		l := newTestLive(t, LiveOptions{CommandTime: within, OutputBytes: 1000})
		l.commands = append(l.commands, parseCommands("sleep ?\nyes\nsh -c ...")...)
		return l
	}
	l, soon := reader(time.Minute), reader(200*time.Millisecond)
	ctx := context.Background()
	started := time.Now()
	if _, err := soon.Output(ctx, "sleep", "30"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("sleep: %v", err)
	}
	if _, err := soon.Output(ctx, "sh", "-c", "sleep 30 & sleep 30"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a shell with children: %v", err)
	}
	if out, err := l.Output(ctx, "yes"); !errors.Is(err, ErrTooLarge) || len(out) != 1000 {
		t.Errorf("yes: %d bytes, %v", len(out), err)
	}
	if out, err := l.Output(ctx, "sh", "-c", "echo partly; echo 'cannot open x: Permission denied' >&2; exit 3"); !errors.Is(err, ErrDenied) ||
		string(out) != "partly\n" || !strings.Contains(err.Error(), "cannot open x") {
		t.Errorf("a failing command: %q, %v", out, err)
	}
	if took := time.Since(started); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}
