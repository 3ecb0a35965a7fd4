package propose

import (
	"strings"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/provision/spec"
	"plumb/internal/stack"
)

// hostOf is a host with one server, whose data lie on a filesystem, in a pool or not.
func hostOf(fstype, source string, pool map[string]stack.Value) *stack.Stack {
	var see stack.Observation
	db := see.New("mysql", "3306")
	db.Set("flavor", stack.Text("mariadb"), "test")
	db.Set("version", stack.Text("10.11.14"), "test")
	fs := see.New("filesystem", "/srv")
	fs.Set("fstype", stack.Text(fstype), "test")
	fs.Set("source", stack.Text(source), "test")
	db.Link("data", fs.Ref)
	fs.Link("dataset")
	if pool != nil {
		name, _, _ := strings.Cut(source, "/")
		ds, p := see.New("dataset", source), see.New("pool", name)
		fs.Links["dataset"] = nil
		fs.Link("dataset", ds.Ref)
		ds.Link("pool", p.Ref)
		for name, v := range pool {
			p.Set(name, v, "test")
		}
	}
	var s stack.Stack
	s.Add("test", see)
	return &s
}

func TestFromGivesWhatIsThere(t *testing.T) {
	two := stack.List([]string{"/dev/disk/by-id/a", "/dev/disk/by-id/b"})
	four := stack.List([]string{"/dev/disk/by-id/a", "/dev/disk/by-id/b", "/dev/disk/by-id/c", "/dev/disk/by-id/d"})
	names := Names{"/dev/sda": "/dev/disk/by-id/ata-A", "/dev/sda1": "/dev/disk/by-id/ata-A-part1", "/dev/sda9": "/dev/disk/by-id/ata-A-part9", "/dev/sdb1": "/dev/disk/by-id/ata-B-part1"}
	disks := func(all ...string) stack.Value { return stack.List(all) }
	for name, c := range map[string]struct {
		s     *stack.Stack
		want  []string
		notes int
	}{
		"whole disks":           {hostOf("zfs", "tank/db", map[string]stack.Value{"layout": stack.Text("single"), "vdev_paths": disks("/dev/sda1"), "vdevs": stack.Int(1)}), []string{"- /dev/disk/by-id/ata-A\n"}, 0},
		"a partition":           {hostOf("zfs", "tank/db", map[string]stack.Value{"layout": stack.Text("single"), "vdev_paths": disks("/dev/sdb1"), "vdevs": stack.Int(1)}), []string{"- /dev/disk/by-id/ata-B-part1\n"}, 0},
		"no other name":         {hostOf("zfs", "tank/db", map[string]stack.Value{"layout": stack.Text("single"), "vdev_paths": disks("/dev/sdc1"), "vdevs": stack.Int(1)}), []string{"use: tank"}, 1},
		"as they stand":         {hostOf("zfs", "tank/db", map[string]stack.Value{"layout": stack.Text("mirror"), "vdev_paths": disks("/dev/vg/a", "/dev/vg/d", "/dev/vg/c", "/dev/vg/b"), "vdevs": stack.Int(2)}), []string{"- /dev/vg/a\n    - /dev/vg/d\n    - /dev/vg/c\n    - /dev/vg/b\n"}, 0},
		"unlike groups":         {hostOf("zfs", "tank/db", map[string]stack.Value{"layout": stack.Text("mirror"), "vdev_paths": disks("/dev/vg/a", "/dev/vg/b", "/dev/vg/c", "/dev/vg/d", "/dev/vg/e"), "vdevs": stack.Int(2)}), []string{"use: tank"}, 1},
		"logs that stand alone": {hostOf("zfs", "tank/db", map[string]stack.Value{"layout": stack.Text("single"), "vdev_paths": disks("/dev/vg/a"), "vdevs": stack.Int(1), "log_paths": disks("/dev/vg/l", "/dev/vg/m"), "log_mirrored": stack.Bool(false)}), []string{"use: tank"}, 1},
		"special alone":         {hostOf("zfs", "tank/db", map[string]stack.Value{"layout": stack.Text("mirror"), "vdev_paths": two, "vdevs": stack.Int(1), "special_paths": disks("/dev/vg/s", "/dev/vg/t"), "special_redundant": stack.Bool(false)}), []string{"use: tank"}, 1},
		"special mirrored":      {hostOf("zfs", "tank/db", map[string]stack.Value{"layout": stack.Text("mirror"), "vdev_paths": two, "vdevs": stack.Int(1), "special_paths": disks("/dev/vg/s", "/dev/vg/t"), "special_redundant": stack.Bool(true)}), []string{"name: tank", "special:"}, 0},
		"a root disk":           {hostOf("ext4", "/dev/sda1", nil), []string{"device: /dev/disk/by-id/ata-A-part1\n"}, 0},
		"mirror":                {hostOf("zfs", "tank/db", map[string]stack.Value{"layout": stack.Text("mirror"), "vdev_paths": two, "vdevs": stack.Int(1)}), []string{"name: tank", "layout: mirror", "- /dev/disk/by-id/a", "version: 10.11"}, 0},
		"mirrors":               {hostOf("zfs", "tank/db", map[string]stack.Value{"layout": stack.Text("mirror"), "vdev_paths": four, "vdevs": stack.Int(2)}), []string{"width: 2"}, 0},
		"log":                   {hostOf("zfs", "tank/db", map[string]stack.Value{"layout": stack.Text("single"), "vdev_paths": stack.List([]string{"/dev/disk/by-id/a"}), "vdevs": stack.Int(1), "log_paths": stack.List([]string{"/dev/disk/by-id/l"})}), []string{"layout: stripe", "log:"}, 0},
		"draid":                 {hostOf("zfs", "tank/db", map[string]stack.Value{"layout": stack.Text("draid"), "vdev_paths": four, "vdevs": stack.Int(1)}), []string{"use: tank"}, 1},
		"xfs":                   {hostOf("xfs", "/dev/vg/db", nil), []string{"type: xfs", "device: /dev/vg/db"}, 0},
	} {
		sp, notes, err := From(c.s, "", names)
		if err != nil || len(notes) != c.notes {
			t.Errorf("%s: %v, notes %v", name, err, notes)
			continue
		}
		text := string(spec.Text(sp))
		for _, part := range c.want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q is not in\n%s", name, part, text)
			}
		}
		if _, err := spec.Parse(name, spec.Text(sp)); err != nil {
			t.Errorf("%s: what it writes is no spec: %v", name, err)
		}
	}
	odd := hostOf("zfs", "my pool/db", map[string]stack.Value{"layout": stack.Text("mirror"), "vdev_paths": two, "vdevs": stack.Int(1)})
	if sp, _, err := From(odd, "", nil); err == nil || !strings.Contains(err.Error(), "my pool") {
		t.Errorf("a pool whose name no spec takes: %v,\n%s", err, spec.Text(sp))
	}
	if _, _, err := From(hostOf("tmpfs", "tmpfs", nil), "", nil); err == nil {
		t.Error("a filesystem in memory is given as what a spec makes")
	}
	// That the name would not stay is not taken for a filesystem that no spec makes.
	if _, _, err := From(hostOf("ext4", "/dev/sdc1", nil), "", nil); err == nil || !strings.Contains(hint.Of(err), "/dev/disk/by-id") {
		t.Errorf("a name that does not stay: %v, %q", err, hint.Of(err))
	}
	if _, _, err := From(hostOf("xfs", "/dev/vg/db", nil), "mysql:3307", nil); hint.Of(err) == "" {
		t.Errorf("a server that is not there: %v", err)
	}
}

// The name of a provision is that of the dataset above its others: two servers of one product do not share it.
func TestOfNamesTheProvision(t *testing.T) {
	pool := &spec.Pool{Name: "tank"}
	for want, sp := range map[string]spec.Spec{
		"tank/mariadb":                {Pool: pool, Server: spec.Server{Product: "mariadb"}},
		"tank/mariadb-3307":           {Pool: pool, Server: spec.Server{Product: "mariadb", Name: "mariadb:3307"}},
		"tank/mariadb-3308":           {Pool: pool, Server: spec.Server{Product: "mariadb", Name: "3308"}},
		"tank/mariadb--run-a-b":       {Pool: pool, Server: spec.Server{Product: "mariadb", Name: "mysql:/run/a@b"}},
		"tank/db/postgres":            {Use: "tank/db", Server: spec.Server{Product: "postgres"}},
		"tank/mariadb--run-db-s.sock": {Pool: pool, Server: spec.Server{Product: "mariadb", Name: "mariadb:/run/db/s.sock"}},
		"/dev/vg/db mariadb":          {Filesystem: &spec.Filesystem{Device: spec.Disk{Path: "/dev/vg/db"}}, Server: spec.Server{Product: "mariadb"}},
	} {
		if got := Of(sp); got != want {
			t.Errorf("it is called %q, want %q", got, want)
		}
	}
}
