package lab

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"plumb/internal/host"
)

// streamsRemovals is a machine on which a removal is no command that may end
// after ten minutes.
type streamsRemovals struct {
	host.Launcher
	t *testing.T
}

func (m streamsRemovals) Run(ctx context.Context, argv ...string) ([]byte, error) {
	if argv[0] == "rm" {
		m.t.Errorf("%q was run and not streamed", argv)
	}
	return m.Launcher.Run(ctx, argv...)
}

// What a server left is gone before the next one starts at its place, and what a
// link in it points to is not.
func TestFresh(t *testing.T) {
	l := newTestLab(t, plain{}, &memory{})
	l.Box.Do = streamsRemovals{l.Box.Do, t}
	dir, kept := l.runDir(1), filepath.Join(t.TempDir(), "kept")
	if err := os.MkdirAll(filepath.Join(dir, "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(kept), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := l.fresh(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}
