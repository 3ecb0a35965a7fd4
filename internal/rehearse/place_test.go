package rehearse

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plumb/internal/hint"
	"plumb/internal/lab/experiment"
	"plumb/internal/stack"
)

var placed = stack.Ref{Kind: "mysql", Name: "3306"}

// hostWith makes a host with one server whose data are on a filesystem.
func hostWith(point, fstype, data string) (*stack.Stack, *stack.Thing) {
	db, f := stack.NewThing("mysql", "3306"), stack.NewThing("filesystem", point)
	f.Set("mountpoint", stack.Text(point), "test")
	f.Set("fstype", stack.Text(fstype), "test")
	f.Link("dataset")
	db.Link("data", f.Ref)
	s := &stack.Stack{Root: true, Things: []*stack.Thing{f, db}}
	s.Roles = []stack.Role{{DB: placed, Name: "data", Path: data, PID: 7, Placement: stack.Placement{Resolved: data, Filesystem: f.Ref}}}
	return s, f
}

// addRole lets a server keep something elsewhere.
func addRole(s *stack.Stack, db stack.Ref, name, at, point string) {
	s.Roles = append(s.Roles, stack.Role{DB: db, Name: name, Path: at, PID: 8, Placement: stack.Placement{Resolved: at, Filesystem: stack.Ref{Kind: "filesystem", Name: point}}})
}

func TestPlaceInADirectory(t *testing.T) {
	other := stack.Ref{Kind: "postgres", Name: "5432"}
	for name, c := range map[string]struct {
		point, data string
		with        func(*stack.Stack, *stack.Thing)
		dir, says   string // or the error
	}{
		"a disk of its own":       {point: "/srv", data: "/srv/db/mysql", dir: "/srv", says: "ext4, mounted on /srv"},
		"the root":                {point: "/", data: "/var/lib/mysql", dir: "/var"},
		"the disk is the data":    {point: "/var/lib/mysql", data: "/var/lib/mysql", says: "no directory above its data"},
		"directly below the root": {point: "/", data: "/mysql", says: "no directory above its data"},
		"data one level down":     {point: "/var/lib/mysql", data: "/var/lib/mysql/data", dir: "/var/lib/mysql"},
		"inside another's data": {point: "/db", data: "/db/pg/mysql/data", dir: "/db", with: func(s *stack.Stack, _ *stack.Thing) {
			addRole(s, other, "data", "/db/pg", "/db")
		}},
		"another server's disk": {point: "/db", data: "/db/pg/mysql", says: "no directory above its data", with: func(s *stack.Stack, _ *stack.Thing) {
			addRole(s, other, "data", "/db", "/db")
		}},
		"the redo log elsewhere": {point: "/srv", data: "/srv/mysql", dir: "/srv", says: "keeps its redo log on another filesystem (/fast)", with: func(s *stack.Stack, _ *stack.Thing) {
			addRole(s, placed, "redo", "/fast/redo", "/fast")
		}},
		"the redo log with the data": {point: "/srv", data: "/srv/mysql", dir: "/srv", with: func(s *stack.Stack, _ *stack.Thing) {
			addRole(s, placed, "redo", "/srv/mysql", "/srv")
		}},
		"in a container": {point: "/srv", data: "/var/lib/mysql", dir: "/srv"},
		"in a container on the root": {point: "/", data: "/var/lib/mysql", says: "no directory above its data", with: func(s *stack.Stack, _ *stack.Thing) {
			s.Find(placed).Set("in_container", stack.Bool(true), "test")
		}},
		"read-only": {point: "/srv", data: "/srv/mysql", says: "mounted read-only", with: func(_ *stack.Stack, f *stack.Thing) {
			f.Set("read_only", stack.Bool(true), "test")
		}},
		"not placed": {point: "/srv", data: "/srv/mysql", says: "place data at /srv/mysql: permission denied", with: func(s *stack.Stack, _ *stack.Thing) {
			delete(s.Find(placed).Links, "data")
			s.Gaps = []stack.Gap{{Of: placed, Facts: []string{"data"}, Why: "place data at /srv/mysql: permission denied"}}
		}},
		"a relative path": {point: "/", data: "data", says: "no directory above its data"},
	} {
		t.Run(name, func(t *testing.T) {
			s, f := hostWith(c.point, "ext4", c.data)
			if c.with != nil {
				c.with(s, f)
			}
			site, err := findPlace(s, placed)
			if c.dir == "" {
				if help := hint.Hinted(nil); err == nil || !errors.As(err, &help) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%+v, %v; want %q", site, err, c.says)
				}
				return
			}
			if err != nil || site.Kind != experiment.Directory || site.Dir != c.dir || site.Filesystem != f.Ref || !strings.Contains(strings.Join(site.Says, " "), c.says) {
				t.Errorf("%+v, %v; want %s and %q", site, err, c.dir, c.says)
			}
			if c.says == "" && len(site.Says) != 1 {
				t.Errorf("it says %q", site.Says)
			}
		})
	}
}

func TestPlaceOfNoServer(t *testing.T) {
	if _, err := findPlace(&stack.Stack{}, placed); err == nil {
		t.Error("a place for nobody was found")
	}
}

// hostWithDataset puts the data on ZFS.
func hostWithDataset(point, name string) (*stack.Stack, *stack.Thing) {
	s, f := hostWith(point, "zfs", point+"/mysql")
	d := stack.NewThing("dataset", name)
	f.Link("dataset", d.Ref)
	s.Things = []*stack.Thing{d, f, s.Find(placed)}
	local, inherited := stack.Origin{From: stack.FromLocal}, stack.Origin{From: stack.FromInherited, Of: "tank"}
	d.Setting("recordsize", stack.Int(16384), "zfs get", local)
	d.Setting("compression", stack.Text("zstd-3"), "zfs get", inherited)
	d.Setting("copies", stack.Int(2), "zfs get", stack.Origin{From: stack.FromReceived})
	d.Setting("atime", stack.Text("on"), "zfs get", stack.Origin{From: stack.FromDefault})
	d.Setting("quota", stack.Int(1<<30), "zfs get", local)
	d.Setting("mountpoint", stack.Text(point), "zfs get", local)
	d.Setting("dedup", stack.Text("on"), "zfs get", local)
	d.SetAbsent("direct", "zfs get")
	return s, d
}

func TestPlaceInADataset(t *testing.T) {
	for _, c := range []struct{ point, name, parent string }{
		{"/db", "tank/db/mysql", "tank/db"}, {"/db", "tank/db", "tank"}, {"/tank", "tank", "tank"}, {"/", "rpool/ROOT/debian", "rpool"},
	} {
		s, _ := hostWithDataset(c.point, c.name)
		site, err := findPlace(s, placed)
		if err != nil || site.Kind != experiment.Dataset || site.Parent != c.parent || site.Dir != "" {
			t.Errorf("%s: %+v, %v", c.name, site, err)
		}
		if diff := cmp.Diff(map[string]string{"recordsize": "16K", "compression": "zstd-3", "copies": "2"}, site.Properties); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if strings.Contains(strings.Join(site.Says, " "), "encrypted") {
			t.Errorf("%s: %q", c.name, site.Says)
		}
	}
	s, d := hostWithDataset("/db", "tank/db/mysql")
	d.Setting("encryption", stack.Text("aes-256-gcm"), "zfs get", stack.Origin{From: stack.FromComputed})
	if site, err := findPlace(s, placed); err != nil || !strings.Contains(strings.Join(site.Says, " "), "is encrypted") {
		t.Errorf("encrypted: %+v, %v", site, err)
	}
	s.Root = false
	site, err := findPlace(s, placed)
	if err != nil || site.Kind != experiment.Directory || site.Dir != "/db" || !strings.Contains(strings.Join(site.Says, " "), "Without root") {
		t.Errorf("without root: %+v, %v", site, err)
	}
}

// Whatever the stack says, the sandbox is never where a server keeps data.
func FuzzPlace(f *testing.F) {
	f.Add("/", "/var/lib/mysql", "/var/lib", "ext4", true)
	f.Add("/db", "/db/a/../b", "/db", "zfs", false)
	f.Add("", "", "", "", false)
	f.Fuzz(func(t *testing.T, point, data, other, fstype string, root bool) {
		s, _ := hostWith(point, fstype, data)
		s.Root = root
		addRole(s, stack.Ref{Kind: "postgres", Name: "5432"}, "data", other, point)
		site, err := findPlace(s, placed)
		if err != nil {
			return
		}
		if site.Kind != experiment.Directory || !strings.HasPrefix(site.Dir, "/") || site.Dir == "/" {
			t.Errorf("%+v", site)
		}
		if keptIn(s, site.Dir) || len(site.Says) == 0 {
			t.Errorf("%+v for data in %q and %q", site, data, other)
		}
	})
}
