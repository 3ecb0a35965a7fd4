package hosttest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/host"
)

// machine is a real one, read live, with a few files of ours.
func machine(t *testing.T) (*host.Live, string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"my.cnf", "latin1"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := host.NewLive(host.LiveOptions{})
	t.Cleanup(func() { l.Close() })
	return l, dir
}

func TestFaultyFollowsItsPlan(t *testing.T) {
	live, dir := machine(t)
	f := NewFaulty(live,
		Fault{Op: "file", Name: "*/my.cnf", Nth: 2, Err: fs.ErrPermission},
		Fault{Op: "run", Name: "uname *", Delay: time.Hour},
		Fault{Op: "glob", Cut: 1},
		Fault{Op: "query", Name: "never", Err: host.ErrDown},
	)
	ctx := context.Background()
	for i, want := range []error{nil, fs.ErrPermission, nil} {
		if _, err := f.ReadFile(ctx, dir+"/my.cnf"); !errors.Is(err, want) {
			t.Errorf("call %d: %v, want %v", i+1, err, want)
		}
	}
	if _, err := f.ReadFile(ctx, dir+"/latin1"); err != nil {
		t.Errorf("another file: %v", err)
	}
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	if _, err := f.Output(short, "uname", "-s"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("delayed: %v", err)
	}
	if found, err := f.Glob(ctx, dir+"/*"); !errors.Is(err, host.ErrTooLarge) || len(found) != 1 {
		t.Errorf("cut: %v, %v", found, err)
	}
	if err := f.AllFired(); err == nil || !strings.Contains(err.Error(), "query never fails: cannot connect") || strings.Contains(err.Error(), "glob") {
		t.Errorf("all fired: %v", err)
	}
	if plan := f.Plan(); !strings.HasPrefix(plan, "file */my.cnf (call 2) fails: permission denied\nrun uname * waits 1h0m0s\n") {
		t.Errorf("plan:\n%s", plan)
	}
	if err := f.Replace(ctx, dir+"/x", nil, 0o600); !errors.Is(err, host.ErrRefused) {
		t.Errorf("a change through a reader: %v", err)
	}
}

func TestRefusingRemembersAttempts(t *testing.T) {
	live, dir := machine(t)
	n := NewRefusing(live)
	ctx := context.Background()
	if _, err := n.ReadFile(ctx, dir+"/my.cnf"); err != nil {
		t.Error(err)
	}
	if _, holds := any(n).(interface {
		Hold(context.Context, host.Target) (host.Held, error)
	}); holds {
		t.Error("it holds sessions")
	}
	if len(n.Attempts()) != 0 {
		t.Errorf("reading counts: %v", n.Attempts())
	}
	if _, err := n.Run(ctx, "zfs", "set", "a=b", "tank"); !errors.Is(err, host.ErrRefused) {
		t.Error(err)
	}
	if err := n.Replace(ctx, dir+"/x", nil, 0o600); !errors.Is(err, host.ErrRefused) {
		t.Error(err)
	}
	if got := strings.Join(n.Attempts(), ";"); got != "run zfs set a=b tank;replace "+dir+"/x" {
		t.Error(got)
	}
}

func TestWild(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"/proc/*/stat", "/proc/1/task/2/stat", true},
		{"*.cnf", "/a/b.cnf", true}, {"a*a", "a", false}, {"a*b*c", "axxbxxc", true}, {"a*b*c", "acb", false},
	} {
		if got := wild(tt.pattern, tt.name); got != tt.want {
			t.Errorf("%s %s: %v", tt.pattern, tt.name, got)
		}
	}
}
