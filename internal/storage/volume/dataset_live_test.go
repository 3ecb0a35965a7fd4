package volume

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/inventory"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
)

// sh runs a command of the test, which has to work.
func sh(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v: %s", argv, err, out)
	}
	return string(out)
}

// somebodysPool makes a pool as somebody has it who runs a database: the
// dataset db with live data in it. It gives its name and a directory of the test.
func somebodysPool(t *testing.T) (pool, dir string) {
	t.Helper()
	needZFS(t)
	dir = t.TempDir()
	h := host.NewLive(host.LiveOptions{})
	defer h.Close()
	if !openZFS(t.Context(), h) {
		fuse := exec.Command(fuseProgram, "--no-daemon", "--no-kstat-mount", "--pidfile", filepath.Join(dir, "pid"))
		must(t, fuse.Start())
		t.Cleanup(func() { fuse.Process.Signal(os.Interrupt); fuse.Process.Kill(); fuse.Wait() })
		for late := time.Now().Add(startTime); exec.Command("zpool", "list").Run() != nil; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(late) {
				t.Skip("zfs-fuse does not answer")
			}
		}
	}
	pool = fmt.Sprintf("plumbtest%d", os.Getpid())
	sh(t, "truncate", "-s", "512M", filepath.Join(dir, "vdev"))
	sh(t, "zpool", "create", "-f", "-o", "cachefile=none", "-m", "none", pool, filepath.Join(dir, "vdev"))
	t.Cleanup(func() {
		for late := time.Now().Add(patience); exec.Command("zpool", "destroy", "-f", pool).Run() != nil; time.Sleep(100 * time.Millisecond) {
			if time.Now().After(late) { // zfs-fuse calls a pool busy for a while after its last user has gone
				t.Fatalf("the test's pool %s cannot be destroyed", pool)
			}
		}
	})
	sh(t, "zfs", "create", "-o", "mountpoint="+filepath.Join(dir, "db"), pool+"/db")
	must(t, os.WriteFile(filepath.Join(dir, "db/live"), []byte("live data"), 0o600))
	return pool, dir
}

// sets lists the datasets of a pool.
func sets(t *testing.T, pool string) []string {
	t.Helper()
	return strings.Fields(sh(t, "zfs", "list", "-H", "-r", "-o", "name", pool))
}

func TestDatasets(t *testing.T) {
	pool, dir := somebodysPool(t)
	before := sets(t, pool)
	for name, v := range map[string]experiment.Volume{
		"plain": {},
		"copy":  {Clone: "copy", Properties: map[string]string{"recordsize": "16K", "compression": "gzip-1", "atime": "off"}},
	} {
		t.Run(name, func(t *testing.T) {
			b, want := labBox(t), "snapshot"
			v.Kind, v.Parent = experiment.Dataset, pool+"/db"
			if v.Clone != "" {
				want = v.Clone
			}
			d, err := New().Make(t.Context(), b, "v1", v)
			must(t, err)
			trials(t, d, want, 999, true)
			_, _, err = d.Clone(t.Context())
			must(t, err)
			f, err := d.Facts(t.Context())
			must(t, err)
			for k, want := range v.Properties {
				if f.Properties[k] != want {
					t.Errorf("%s is %s, want %s", k, f.Properties[k], want)
				}
			}
			if c := d.Counters(t.Context()); c[spaceUsed] == 0 || len(c) > 2 {
				t.Errorf("counted %v", c)
			}
			must(t, d.Close(t.Context()))
			onlyLogs(t, b)
			if after := sets(t, pool); !slices.Equal(before, after) {
				t.Errorf("the pool has %v, and had %v", after, before)
			}
		})
	}
	text, err := os.ReadFile(filepath.Join(dir, "db/live"))
	if err != nil || string(text) != "live data" {
		t.Errorf("the live data are %q, %v", text, err)
	}
}

// A lab whose own directory lies on the same pool writes no data there: the
// mount points are told apart by their whole paths.
func TestDatasetBelowAnother(t *testing.T) {
	pool, dir := somebodysPool(t)
	sh(t, "zfs", "create", "-o", "mountpoint="+filepath.Join(dir, "data"), pool+"/data")
	s := datasets{tree: tree{do: host.NewLiveDoer(host.NewLive(host.LiveOptions{}))}}
	defer s.do.(*host.LiveDoer).Close()
	must(t, s.mounted(t.Context(), filepath.Join(dir, "data")))
	must(t, os.MkdirAll(filepath.Join(dir, "data/lab/data"), 0o755))
	if err := s.mounted(t.Context(), filepath.Join(dir, "data/lab/data")); err == nil {
		t.Error("a directory of another dataset is taken for a mount point")
	}
}

func TestDatasetIsTakenAwayByItsBook(t *testing.T) {
	pool, _ := somebodysPool(t)
	t.Run("", func(t *testing.T) {
		busy := exec.Command("sleep", "1") // somebody who has not quite gone
		t.Cleanup(func() { busy.Wait() })
		b := labBox(t)
		d, err := New().Make(t.Context(), b, "v1", experiment.Volume{Kind: experiment.Dataset, Parent: pool})
		must(t, err)
		golden, err := d.Golden(t.Context(), 0, 0)
		must(t, err)
		fill(t, golden, 0)
		clone, _, err := d.Clone(t.Context())
		must(t, err)
		busy.Dir = clone
		must(t, busy.Start())
		sh(t, "zfs", "snapshot", "-r", pool+"@daily") // of a backup
	})
	if after := sets(t, pool); slices.ContainsFunc(after, func(s string) bool { return strings.Contains(s, "plumb-lab") }) {
		t.Errorf("left are %v", after)
	}
}

func TestDatasetThatCannotBeMade(t *testing.T) {
	pool, _ := somebodysPool(t)
	sh(t, "zfs", "create", "-o", "readonly=on", pool+"/backup")
	cases := map[string]experiment.Volume{
		"does not exist":         {Parent: pool + "/nothing"},
		"it is read-only":        {Parent: pool + "/backup"},
		"not for an experiment":  {Parent: pool, Properties: map[string]string{"mountpoint": "/etc"}},
		"what others have":       {Parent: pool, Properties: map[string]string{"reservation": "100M"}},
		"cannot be limited":      {Parent: pool, Profile: "gp3"},
		"that is not a dataset":  {Parent: pool + "@today"},
		"of its own":             {Parent: pool, Size: 1 << 30},
		"make the dataset":       {Parent: pool, Properties: map[string]string{"recordsize": "3K"}},
		"cannot be done on a da": {Parent: pool, Clone: "reflink"},
	}
	if exec.Command("zfs", "create", "-V", "16M", pool+"/volume").Run() == nil {
		cases["it is a volume"] = experiment.Volume{Parent: pool + "/volume"}
	}
	before := sets(t, pool)
	b := labBox(t)
	for says, v := range cases {
		v.Kind = experiment.Dataset
		_, err := New().Make(t.Context(), b, "v1", v)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want %q", v, err, says)
		}
		t.Log(err)
		if help := hint.Hinted(nil); !errors.As(err, &help) && says != "not for an experiment" {
			t.Errorf("%v: no hint", err)
		}
		onlyLogs(t, b)
	}
	if after := sets(t, pool); !slices.Equal(before, after) {
		t.Errorf("the pool has %v, and had %v", after, before)
	}
}

func TestDatasetTellsWhatIsFree(t *testing.T) {
	pool, _ := somebodysPool(t)
	sh(t, "zfs", "create", "-o", "quota=64M", pool+"/small")
	h := host.NewLive(host.LiveOptions{})
	defer h.Close()
	for parent, most := range map[string]int64{pool: 512 << 20, pool + "/small": 64 << 20} {
		need, err := New().Check(t.Context(), h, experiment.Volume{Kind: experiment.Dataset, Parent: parent})
		if err != nil || need.Place != parent || need.Room > most || need.Room < most/2 || need.Disk != 0 {
			t.Errorf("%s: %+v, %v", parent, need, err)
		}
	}
}

// What somebody else made under the name that a lab had just written down is
// left to them.
func TestDatasetOfSomebodyElse(t *testing.T) {
	pool, _ := somebodysPool(t)
	b := labBox(t)
	name := datasetName(pool, b.Run, "v1")
	thing := inventory.Thing{Kind: inventory.Dataset, Name: name, Proof: map[string]string{"run": b.Run, "below": "data golden"}}
	_, err := b.Book.Make(t.Context(), thing, func(*inventory.Thing) error {
		sh(t, "zfs", "create", name)
		return errors.New("it is there")
	})
	if err == nil || !slices.Contains(sets(t, pool), name) {
		t.Errorf("%v, and the pool has %v", err, sets(t, pool))
	}
	if _, err := New().Make(t.Context(), b, "v1", experiment.Volume{Kind: experiment.Dataset, Parent: pool}); err == nil {
		t.Error("it was made beside")
	}
	if !slices.Contains(sets(t, pool), name) {
		t.Error("it is gone")
	}
}

var _ lab.Volume = (*dataset)(nil)
