package point

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/internal/stack"
	"plumb/internal/zfs"
)

func volumes(z ZFS, names ...string) (all []protect.Volume) {
	for _, n := range names {
		pool, _, _ := strings.Cut(n, "/")
		all = append(all, protect.Volume{Storage: z.Name(), Name: n, Pool: pool, Mountpoint: "/" + n})
	}
	return all
}

func TestVolumeOfZFS(t *testing.T) {
	for _, c := range []struct {
		fstype, source, root string
		fuse, ok             bool
		within               string
	}{
		{"zfs", "tank/db", "/", false, true, ""},
		{"zfs", "tank/db", "/sub", false, true, "/sub"},
		{"zfs", "tank/db", "/", true, false, ""},
		{"fuse.zfs", "tank/db", "/", true, true, ""},
		{"zfs", "tank/db@daily", "/", false, false, ""},
		{"ext4", "/dev/sda", "/", false, false, ""},
	} {
		fs := stack.NewThing("filesystem", "/db")
		for k, v := range map[string]string{"fstype": c.fstype, "source": c.source, "mount_root": c.root, "mountpoint": "/db"} {
			fs.Set(k, stack.Text(v), "test")
		}
		v, ok := ZFS{Fuse: c.fuse}.Volume(nil, fs)
		if ok != c.ok || v.Within != c.within || ok && (v.Pool != "tank" || v.Mountpoint != "/db") {
			t.Errorf("%+v: %+v, %v", c, v, ok)
		}
	}
	for name, taken := range map[string]bool{"tank/db": true, "tank/my db": false} {
		if v, err := (ZFS{}).Place(t.Context(), nil, protect.Volume{Name: name}, ""); (err == nil) != taken || v.Name != name {
			t.Errorf("%q: %+v, %v", name, v, err)
		}
	}
}

func TestAtomicOfZFS(t *testing.T) {
	z := ZFS{}
	if why := z.Atomic(volumes(z, "t/a", "t/b", "t")); why != "" {
		t.Error(why)
	}
	if why := z.Atomic(volumes(z, "t/a", "u/b")); !strings.Contains(why, "two pools") {
		t.Error(why)
	}
	for want, names := range map[string][]string{
		"t": {"t/a", "t/b/c"}, "t/a": {"t/a", "t/a/b"}, "t/ab": {"t/ab"}, "t/x": {"t/x/a/1", "t/x/ab"},
	} {
		if got := above(volumes(z, names...)); got != want {
			t.Errorf("above %v is %s, want %s", names, got, want)
		}
	}
}

func TestRoomOfZFS(t *testing.T) {
	z := ZFS{}
	s := &stack.Stack{}
	vols := volumes(z, "t/db")
	if z.Room(s, vols) == nil {
		t.Error("what is not known counts as enough")
	}
	obs := stack.Observation{}
	p, ds := obs.New("pool", "t"), obs.New("dataset", "t/db")
	p.Set("size", stack.Int(1000), "test")
	p.Set("free", stack.Int(100), "test")
	s.Add("test", obs)
	if why := z.Room(s, vols); why != nil {
		t.Error(why)
	}
	ds.Set("keystatus", stack.Text("unavailable"), "test")
	s.Add("test", obs)
	if why := z.Room(s, vols); why == nil || !strings.Contains(why.Error(), "key") {
		t.Error(why)
	}
	p.Set("free", stack.Int(99), "test")
	s.Add("test", obs)
	if why := z.Room(s, vols); why == nil || !strings.Contains(why.Error(), "a tenth") {
		t.Error(why)
	}
}

func TestCloneName(t *testing.T) {
	for origin, want := range map[string]string{"tank/x/db": `^tank/x/plumb-clone-[0-9a-f]{8}-db$`, "tank": `^tank/plumb-clone-[0-9a-f]{8}-tank$`} {
		if got, mark := cloneName(origin); !regexp.MustCompile(want).MatchString(got) || !strings.Contains(got, mark) {
			t.Errorf("a clone of %s is %s", origin, got)
		}
	}
}

func TestFactsThatDoNotFit(t *testing.T) {
	got := kept(map[string]string{"a:b": strings.Repeat("x", 8192), "a:c": strings.Repeat("x", 8191), "a:d": ""})
	if len(got) != 1 || got["a:c"] == "" {
		t.Errorf("%d are kept", len(got))
	}
}

// TestFindWithoutPool: of a pool that is not imported nobody knows which snapshots a killed run left.
func TestFindWithoutPool(t *testing.T) {
	z := ZFS{}
	run := func(argv []string) string { return "run " + strings.Join(argv, " ") }
	gone := errors.New("cannot open 'tank/db@p': dataset does not exist")
	m := hosttest.Map{Errors: map[string]error{
		run(z.tools().Proofs(protect.FactPoint, "tank/db@p")):           gone,
		run(z.tools().Proofs(protect.FactPoint, "tank/db@p"+asideMark)): gone,
		run(zfs.Exists("tank")): errors.New("cannot open 'tank': dataset does not exist"),
	}}
	if found, err := z.Find(t.Context(), m, volumes(z, "tank/db"), "p"); err == nil || !strings.Contains(err.Error(), "not imported") {
		t.Errorf("found %v, %v", found, err)
	}
	delete(m.Errors, run(zfs.Exists("tank")))
	m.Outputs = map[string]string{strings.Join(zfs.Exists("tank"), " "): "tank\n"}
	if found, err := z.Find(t.Context(), m, volumes(z, "tank/db"), "p"); err != nil || len(found) != 0 {
		t.Errorf("found %v, %v", found, err)
	}
}
