package lab

import (
	"os"
	"path/filepath"
	"testing"

	"plumb/internal/lab/experiment"
)

// A server is loaded once: layouts on other volumes are given the same bytes. Nothing is copied from a pool that is
// exported while the other one is there, for then its directory is empty.
func TestDataAreLoadedOnce(t *testing.T) {
	pool := func(arc experiment.Bytes) experiment.Setup {
		return experiment.Setup{Volume: experiment.Volume{Kind: experiment.Zpool, ARC: arc}, Server: &experiment.Server{Engine: "mariadb"},
			Load: experiment.Load{Kind: experiment.OLTP, Rows: 1000}}
	}
	ext4, more, files := pool(0), pool(64<<20), pool(64<<20)
	ext4.Volume = experiment.Volume{Kind: experiment.Loop, Filesystem: "ext4"}
	more.Load.Rows = 2000
	files.Server, files.Load = nil, experiment.Load{Kind: experiment.FileIO}
	onExt4 := files
	onExt4.Volume = ext4.Volume
	set := func(s experiment.Setup) experiment.Setup { // a setting of each trial does not decide the data
		s.Server = &experiment.Server{Engine: "mariadb", Settings: map[string]string{"innodb_io_capacity": "500"}}
		return s
	}
	for _, c := range []struct {
		name  string
		there []experiment.Setup
		next  experiment.Setup
		found bool
	}{
		{"another filesystem", []experiment.Setup{ext4}, pool(64 << 20), true},
		{"a pool with the same ARC", []experiment.Setup{pool(64 << 20)}, set(pool(64 << 20)), true},
		{"from a pool to a filesystem", []experiment.Setup{pool(64 << 20)}, ext4, true},
		{"a pool with another ARC", []experiment.Setup{pool(64 << 20)}, pool(128 << 20), false},
		{"a filesystem beside a pool that is exported", []experiment.Setup{ext4, pool(64 << 20)}, pool(128 << 20), false},
		{"other rows", []experiment.Setup{ext4}, more, false},
		{"files without a server", []experiment.Setup{files}, onExt4, false},
		{"files at another place", []experiment.Setup{files}, files, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &Lab{layouts: map[layoutKey]*layout{}}
			for i, s := range c.there {
				l.layouts[layoutKey{experiment.LayoutKey(s), i}] = &layout{setup: s}
			}
			if got := l.twin(c.next); (got != nil) != c.found {
				t.Errorf("found %v, want %v", got, c.found)
			}
		})
	}
}

func TestFillCopiesFromATwin(t *testing.T) {
	l := newTestLab(t, plain{}, &memory{})
	from := t.TempDir()
	if err := os.WriteFile(filepath.Join(from, "ibdata1"), []byte("rows"), 0o640); err != nil {
		t.Fatal(err)
	}
	v, err := plain{}.Make(t.Context(), l.Box, "v1", experiment.Volume{})
	if err != nil {
		t.Fatal(err)
	}
	made := &layout{volume: v}
	s := experiment.Setup{Server: &experiment.Server{Engine: "none"}} // one that cannot be installed
	if err := l.fill(t.Context(), made, s, &layout{golden: from}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(made.golden, "ibdata1")); err != nil || string(text) != "rows" {
		t.Errorf("%q, %v", text, err)
	}
}
