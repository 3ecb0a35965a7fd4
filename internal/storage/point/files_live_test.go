package point

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/inventory/kinds"
	"plumb/internal/observe"
	"plumb/internal/protect"
	"plumb/internal/stack"
	"plumb/test/mortal"
	"plumb/test/sandbox"
)

// place is a storage on a real filesystem, with a directory of a server in it.
type place struct {
	protect.Storage
	name     string // of the filesystem
	top, dir string // where that is mounted; where the server keeps its data
	vols     []protect.Volume
	snapshot func(t *testing.T, path string) // makes one that is not ours
	remove   func(t *testing.T, path string)
}

// places are the storages of which points lie at the top of a filesystem.
func places(t *testing.T, f func(t *testing.T, p place)) {
	for _, p := range []place{
		{Storage: Btrfs{}, name: "btrfs",
			snapshot: func(t *testing.T, to string) { sh(t, "btrfs", "subvolume", "create", to) },
			remove:   func(t *testing.T, at string) { sh(t, "btrfs", "subvolume", "delete", at) }},
		{Storage: Reflink{}, name: "xfs",
			snapshot: func(t *testing.T, to string) { must(t, os.Mkdir(to, 0o700)) },
			remove:   func(t *testing.T, at string) { must(t, os.RemoveAll(at)) }},
	} {
		t.Run(p.name, func(t *testing.T) {
			p.make(t)
			f(t, p)
		})
	}
}

func (p *place) make(t *testing.T) {
	t.Helper()
	sandbox.NeedLong(t, "makes a filesystem: run without -short")
	b := sandbox.ForTest(t, "")
	var err error
	p.top, err = b.Filesystem("vol", p.name, 512, nil, "")
	sandbox.Need(t, err)
	must(t, os.Chown(p.top, 0, 0))
	must(t, os.Chmod(p.top, 0o755))
	p.dir = filepath.Join(p.top, "db data")
	if p.name == "btrfs" {
		sh(t, "btrfs", "subvolume", "create", p.dir)
	} else {
		must(t, os.Mkdir(p.dir, 0o700))
	}
	must(t, os.WriteFile(filepath.Join(p.dir, "file"), []byte("data"), 0o600))
	must(t, os.Chown(p.dir, 65534, 65534))
	v, err := p.placed(t, p.dir)
	must(t, err)
	p.vols = []protect.Volume{v}
}

// placed tells the volume of a path as a plan would.
func (p *place) placed(t *testing.T, name string) (protect.Volume, error) {
	t.Helper()
	d := hosttest.LiveDoer(t)
	mounts, err := observe.MountTable(t.Context(), d, "self")
	must(t, err)
	for _, m := range mounts {
		if m.Point != p.top {
			continue
		}
		thing := m.Thing(m.Point)
		thing.Set("xfs_reflink", stack.Bool(true), "test")
		s := &stack.Stack{}
		s.Add("test", stack.Observation{Things: []*stack.Thing{thing}})
		v, ok := p.Volume(s, thing)
		if !ok {
			t.Fatalf("no volume is told of %+v", m)
		}
		return p.Storage.(protect.Placer).Place(t.Context(), d, v, name)
	}
	t.Fatal("not mounted")
	return protect.Volume{}, nil
}

func (p *place) points(t *testing.T) (names []string) {
	all, err := filepath.Glob(filepath.Join(p.top, pointsDir, "*"))
	must(t, err)
	return all
}

func TestPointsOnFilesystems(t *testing.T) {
	places(t, func(t *testing.T, p place) {
		d, ctx := hosttest.LiveDoer(t), t.Context()
		if v := p.vols[0]; v.Mountpoint != p.dir || (v.Name != "/db data" && v.Within != "/db data") {
			t.Errorf("the volume is %+v", v)
		}
		must(t, p.Settle(ctx, d, p.vols))
		all, err := p.Snapshot(ctx, d, p.vols, name, facts)
		must(t, err)
		found, err := p.Find(ctx, d, p.vols, name)
		must(t, err)
		if len(all) != 1 || all[0].GUID == "" || all[0].Birth == "" || all[0].Part || len(found) != 1 || found[0] != all[0] {
			t.Fatalf("%+v, found %+v", all, found)
		}
		if free, err := p.Storage.(protect.Sharer).Free(ctx, d, all[0]); err != nil || free < 0.5 || free > 1 {
			t.Errorf("of a new filesystem %v is free, %v", free, err)
		}
		if _, each := p.Storage.(protect.Piecewise); !each {
			part := p.vols[0]
			part.Within = "logs"
			if both, err := p.Find(ctx, d, []protect.Volume{p.vols[0], part}, name); err != nil || len(both) != 2 || both[1].GUID != all[0].GUID || both[1].Within != "logs" {
				t.Errorf("of two directories of one subvolume it finds %+v, %v", both, err)
			}
		}
		must(t, p.Mark(ctx, d, all[0], map[string]string{protect.FactLabel: "proven"}))
		p.marked(t)
		p.cloned(t, d, all[0])
		must(t, p.Destroy(ctx, d, all))
		must(t, p.Destroy(ctx, d, all)) // again, as after a death
		if s, err := p.State(ctx, d, all[0]); err != nil || !s.Gone || len(p.points(t)) != 0 {
			t.Errorf("%+v, %v; there are %v", s, err, p.points(t))
		}
	})
}

// marked looks at the file of facts.
func (p *place) marked(t *testing.T) {
	t.Helper()
	for _, pattern := range []string{"*.json", "*/*.json"} {
		files, _ := filepath.Glob(filepath.Join(p.top, pointsDir, pattern))
		for _, file := range files {
			text, err := os.ReadFile(file)
			must(t, err)
			var said map[string]string
			must(t, json.Unmarshal(text, &said))
			if said[protect.FactLabel] == "proven" && said[protect.FactPosition] == facts[protect.FactPosition] {
				return
			}
		}
	}
	t.Error("no file beside it has the facts")
}

// cloned clones a snapshot, looks at the clone, and drops it.
func (p *place) cloned(t *testing.T, d *host.LiveDoer, m protect.Member) {
	t.Helper()
	ctx, dir := t.Context(), t.TempDir()
	book, err := kinds.Books(d, filepath.Join(dir, "books")).Open(ctx, "run1")
	must(t, err)
	at := filepath.Join(dir, "copy [1]*")
	must(t, os.Mkdir(at, 0o755))
	must(t, os.WriteFile(filepath.Join(p.dir, "file"), []byte("later"), 0o600))
	must(t, p.Clone(ctx, d, m, protect.CloneAt{Dir: at, Book: book}))
	text, err := os.ReadFile(filepath.Join(at, "file"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(at, "file"), []byte("of the clone"), 0o600))
	if live, err := os.ReadFile(filepath.Join(p.dir, "file")); string(text) != "data" || string(live) != "later" {
		t.Errorf("the clone held %q, and the source holds %q, %v", text, live, err)
	}
	if p.name == "btrfs" {
		s, err := p.State(ctx, d, m)
		if err != nil || len(s.Clones) != 1 || p.Destroy(ctx, d, []protect.Member{m}) == nil {
			t.Errorf("what has a clone was destroyed; %+v, %v", s, err)
		}
	}
	must(t, book.Close(ctx))
	if books, _ := filepath.Glob(filepath.Join(dir, "books/*.book")); len(books) > 0 {
		t.Errorf("%v is left", books)
	}
	at2 := filepath.Join(dir, "again")
	must(t, os.Mkdir(at2, 0o755))
	if book, err = kinds.Books(d, filepath.Join(dir, "books")).Open(ctx, "run2"); err == nil {
		err = p.Clone(ctx, d, m, protect.CloneAt{Dir: at2, Book: book})
	}
	must(t, err)
	if text, err = os.ReadFile(filepath.Join(at2, "file")); string(text) != "data" { // the first clone changed nothing of it
		t.Errorf("the second clone held %q, %v", text, err)
	}
	must(t, book.Close(ctx))
}

// swappingFile is a machine on which somebody swaps something just before an operation.
type swappingFile struct {
	*host.LiveDoer
	swap func()
}

func (s swappingFile) Rename(ctx context.Context, from, to string) error {
	s.swap()
	return s.LiveDoer.Rename(ctx, from, to)
}

func (s swappingFile) Run(ctx context.Context, argv ...string) ([]byte, error) {
	if len(argv) > 2 && argv[2] == "delete" {
		s.swap()
	}
	return s.LiveDoer.Run(ctx, argv...)
}

// A snapshot that was swapped for another of its name is not destroyed, whether that was before
// the destruction or in its midst.
func TestSwappedFilesystemSnapshotsStay(t *testing.T) {
	places(t, func(t *testing.T, p place) {
		d := hosttest.LiveDoer(t)
		for i := range swaps() {
			all, err := p.Snapshot(t.Context(), d, p.vols, name, facts)
			must(t, err)
			at := filepath.Join(p.top, all[0].Snapshot)
			swap := func() { p.remove(t, at); p.snapshot(t, at) }
			if i%2 == 0 {
				swap()
				err = p.Destroy(t.Context(), d, all)
			} else {
				err = p.Destroy(t.Context(), swappingFile{d, swap}, all)
			}
			if err == nil {
				t.Errorf("time %d: nothing was said", i)
			}
			if _, err := os.Stat(at); err != nil {
				t.Fatalf("time %d: %v", i, err)
			}
			p.remove(t, at)
		}
		t.Logf("0 of %d destroyed", swaps())
	})
}

// What the server's user can put in the way leads nowhere.
func TestLinksInTheWayOfPoints(t *testing.T) {
	places(t, func(t *testing.T, p place) {
		d, ctx := hosttest.LiveDoer(t), t.Context()
		secret := filepath.Join(p.top, "secret")
		if p.name == "btrfs" {
			sh(t, "btrfs", "subvolume", "create", secret)
		} else {
			must(t, os.Mkdir(secret, 0o700))
		}
		must(t, os.Rename(p.dir, p.dir+".away"))
		must(t, os.Symlink(secret, p.dir))
		all, err := p.Snapshot(ctx, d, p.vols, name, facts)
		if err == nil || len(all) > 0 && !all[0].Part {
			t.Errorf("a link was followed: %+v", all)
		}
		must(t, p.Destroy(ctx, d, all))
		must(t, os.Remove(p.dir))
		must(t, os.Rename(p.dir+".away", p.dir))

		must(t, os.RemoveAll(filepath.Join(p.top, pointsDir)))
		must(t, os.Symlink(p.dir, filepath.Join(p.top, pointsDir)))
		if _, err := p.Snapshot(ctx, d, p.vols, name, facts); err == nil {
			t.Error("points were made where a link led")
		}
		must(t, os.Remove(filepath.Join(p.top, pointsDir)))
		must(t, os.Mkdir(filepath.Join(p.top, pointsDir), 0o755))
		if _, err := p.Snapshot(ctx, d, p.vols, name, facts); err == nil {
			t.Error("points were made where others may look")
		}
		must(t, os.Remove(filepath.Join(p.top, pointsDir)))
		must(t, os.Chown(p.top, 65534, 65534))
		if _, err := p.Snapshot(ctx, d, p.vols, name, facts); err == nil || len(p.points(t)) > 0 {
			t.Errorf("points were made at a top that is somebody's: %v", p.points(t))
		}
	})
}

func TestWhatCannotBePlaced(t *testing.T) {
	places(t, func(t *testing.T, p place) {
		if p.name == "xfs" {
			for _, name := range []string{p.top, filepath.Join(p.dir, "file")} {
				if _, err := p.placed(t, name); err == nil {
					t.Errorf("%s was placed", name)
				}
			}
			return
		}
		sh(t, "btrfs", "subvolume", "create", filepath.Join(p.dir, "nest"))
		if _, err := p.placed(t, p.dir); err == nil || !strings.Contains(err.Error(), "/db data/nest lie in it") {
			t.Errorf("a nested subvolume: %v", err)
		}
		v, err := p.placed(t, filepath.Join(p.dir, "nest", "file"))
		if must(t, err); v.Name != "/db data/nest" || v.Mountpoint != filepath.Join(p.dir, "nest") {
			t.Errorf("%+v", v)
		}
		if why := p.Atomic([]protect.Volume{p.vols[0], v}); !strings.Contains(why, "two subvolumes") {
			t.Errorf("two subvolumes: %q", why)
		}
		sh(t, "btrfs", "subvolume", "create", filepath.Join(p.dir, "a\nID 256 gen 7 cgen 7 top level 5 parent_uuid - uuid x path db data"))
		if _, err := p.placed(t, p.dir); err == nil {
			t.Error("a name with a line break was believed")
		}
	})
}

const envPlace = "PLUMB_PLACE"

// Killed before, amid or after any operation, all that a point made is found and goes.
func TestFilesystemPointOfAKilledRun(t *testing.T) {
	if told := os.Getenv(envPlace); told != "" {
		must(t, mortalPlace(t.Context(), told))
		return
	}
	places(t, func(t *testing.T, p place) {
		d, ctx, dir := hosttest.LiveDoer(t), t.Context(), t.TempDir()
		must(t, os.Mkdir(filepath.Join(dir, "copy"), 0o755))
		told, err := json.Marshal(p.vols[0])
		must(t, err)
		life := func(at int, how string) int {
			c := exec.Command(os.Args[0], "-test.run=^TestFilesystemPointOfAKilledRun$")
			c.Env = append(os.Environ(), fmt.Sprintf("%s=%s,%s", envPlace, dir, told))
			return mortal.Live(t, c, at, how)
		}
		n, most := life(0, "never"), 0
		if n < 10 {
			t.Fatalf("only %d operations", n)
		}
		mortal.Ways(t, n, pace(), func(at int, how string) {
			life(at, how)
			swept, err := kinds.Books(d, filepath.Join(dir, "books")).Sweep(ctx)
			must(t, err)
			for _, s := range swept {
				must(t, s.Err)
			}
			found, err := p.Find(ctx, d, p.vols, name)
			must(t, err)
			most = max(most, len(found))
			must(t, p.Destroy(ctx, d, found))
			if left := p.points(t); len(left) > 0 {
				t.Errorf("killed %s operation %d of %d: %v is left", how, at, n, left)
			}
			if out := sh(t, "cat", "/proc/self/mountinfo"); strings.Contains(out, dir) {
				t.Errorf("killed %s operation %d of %d: something is mounted", how, at, n)
			}
		})
		t.Logf("%d operations, one death in %d", n, pace())
		if most == 0 {
			t.Error("no death left a snapshot")
		}
	})
}

func mortalPlace(ctx context.Context, told string) error {
	dir, text, _ := strings.Cut(told, ",")
	var v protect.Volume
	m, err := mortal.Born()
	if err = errors.Join(err, json.Unmarshal([]byte(text), &v)); err != nil {
		return err
	}
	var s protect.Storage = Btrfs{}
	if v.Storage == (Reflink{}).Name() {
		s = Reflink{}
	}
	all, err := s.Snapshot(ctx, m, []protect.Volume{v}, name, facts)
	if err != nil {
		return err
	}
	book, err := kinds.Books(m, filepath.Join(dir, "books")).Open(ctx, "run1")
	if err == nil {
		err = s.Clone(ctx, m, all[0], protect.CloneAt{Dir: filepath.Join(dir, "copy"), Book: book})
	}
	if err == nil {
		err = book.Close(ctx)
	}
	if err == nil {
		err = s.Destroy(ctx, m, all)
	}
	m.Tell()
	return err
}
