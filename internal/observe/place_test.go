package observe

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

const ownMounts = `27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
47 27 7:1 / /srv/db rw,noatime - xfs /dev/loop1 rw,inode64
48 27 0:44 /sub /b rw,relatime - btrfs /dev/loop3 rw,subvol=/sub
51 27 0:27 / /dev/shm rw - tmpfs tmpfs rw
60 27 0:60 / /z rw - zfs tank/db rw
`

// containerMounts is what a container on the same machine sees: its own layer,
// and a volume that lies on our /srv/db.
const containerMounts = `100 99 0:90 / / rw,relatime - overlay overlay rw,lowerdir=/l/A:/l/B,upperdir=/var/lib/docker/overlay2/x/diff,workdir=/w
101 100 7:1 /volumes/x /var/lib/mysql rw,noatime - xfs /dev/loop1 rw,inode64
`

// machine is made by hand: process 7 is in our namespace, 8 in a container.
func machine() hosttest.Map {
	return hosttest.Map{
		Files: map[string]string{
			"/proc/self/mountinfo": ownMounts,
			"/proc/7/mountinfo":    ownMounts,
			"/proc/8/mountinfo":    containerMounts,
		},
		Links: map[string]string{
			"/proc/self/ns/mnt": "mnt:[1]", "/proc/7/ns/mnt": "mnt:[1]", "/proc/8/ns/mnt": "mnt:[2]",
			"/proc/7/root": "/", "/proc/8/root": "/",
		},
		Stats: map[string]host.Stat{
			"/srv/db":                         {DevMajor: 7, DevMinor: 1, MountID: 47, Resolved: "/srv/db"},
			"/srv/db2":                        {DevMajor: 254, MountID: 27, Resolved: "/srv/db2"},
			"/srv/db/redo":                    {DevMajor: 254, MountID: 27, Resolved: "/fast/redo"},
			"/b/data":                         {DevMajor: 0, DevMinor: 99, Resolved: "/b/data"}, // a subvolume before statx told mount ids
			"/dev/shm/t":                      {DevMajor: 0, DevMinor: 27, MountID: 51, Resolved: "/dev/shm/t"},
			"/z/data":                         {DevMajor: 0, DevMinor: 60, MountID: 60, Resolved: "/z/data"},
			"/img/loop1":                      {DevMajor: 254, MountID: 27, Resolved: "/img/loop1"},
			"/dev/vdb":                        {RdevMajor: 254, RdevMinor: 16, Mode: fs.ModeDevice},
			"/dev/vda":                        {RdevMajor: 254, Mode: fs.ModeDevice},
			"/proc/8/root/var/lib/mysql":      {DevMajor: 7, DevMinor: 1, MountID: 101, Resolved: "/proc/8/root/var/lib/mysql"},
			"/proc/8/root/tmp":                {DevMajor: 0, DevMinor: 90, MountID: 100, Resolved: "/proc/8/root/tmp"},
			"/var/lib/docker/overlay2/x/diff": {DevMajor: 254, MountID: 27, Resolved: "/var/lib/docker/overlay2/x/diff"},
		},
		Spaces:  map[string]host.Statfs{"/proc/8/root/tmp": {BlockSize: 4096, TotalBytes: 100, FreeBytes: 50, AvailBytes: 50}, "/dev/shm/t": {BlockSize: 4096}},
		Outputs: map[string]string{"lsattr -d /b/data/ibdata1": "---------------C------ /b/data/ibdata1\n"},
	}
}

// seen is what the probes would have reported of machine.
func seen(roles ...stack.Role) *stack.Stack {
	var s stack.Observation
	mounts, _ := parseMounts([]byte(ownMounts))
	for _, m := range mounts {
		if m.Type != "tmpfs" {
			s.Things = append(s.Things, m.Thing(m.Point))
		}
	}
	disk := func(name, dev, layer string) *stack.Thing {
		b := s.New("block", name)
		b.Set("dev", stack.Text(dev), "test")
		b.Set("layer", stack.Text(layer), "test")
		b.Link("on")
		b.SetAbsent("cloud_volume", "test")
		return b
	}
	disk("vda", "254:0", "disk")
	vdb := disk("vdb", "254:16", "disk")
	vdb.Set("cloud_volume", stack.Text("ebs"), "test")
	vdb.Set("write_cache", stack.Text("write back"), "test")
	disk("loop1", "7:1", "loop").Set("loop_file", stack.Text("/img/loop1"), "test")
	disk("loop3", "7:3", "loop") // its file is not known
	s.Things[slices.IndexFunc(s.Things, func(t *stack.Thing) bool { return t.Ref.Name == "/b" })].
		Link("block", stack.Ref{Kind: "block", Name: "loop3"})
	s.New("dataset", "tank/db").Link("pool", stack.Ref{Kind: "pool", Name: "tank"})
	s.New("pool", "tank").Set("vdev_paths", stack.List([]string{"/dev/vdb"}), "test")
	for _, r := range roles {
		s.New(r.DB.Kind, r.DB.Name)
		s.Roles = append(s.Roles, r)
	}
	st := &stack.Stack{}
	st.Add("test", s)
	return st
}

var db = stack.Ref{Kind: "mysql", Name: "3306"}

func role(name, path string, pid int) stack.Role {
	return stack.Role{DB: db, Name: name, Path: path, PID: pid}
}

func TestPlace(t *testing.T) {
	for name, c := range map[string]struct {
		role       stack.Role
		filesystem string
		resolved   string
	}{
		"mount":                    {role("data", "/srv/db", 7), "/srv/db", "/srv/db"},
		"prefix_is_not_a_mount":    {role("data", "/srv/db2", 7), "/", "/srv/db2"},
		"link_leads_elsewhere":     {role("redo", "/srv/db/redo", 7), "/", "/fast/redo"},
		"subvolume_without_id":     {role("data", "/b/data", 7), "/b", "/b/data"},
		"memory":                   {role("temporary", "/dev/shm/t", 7), "/dev/shm", "/dev/shm/t"},
		"volume_of_a_container":    {role("data", "/var/lib/mysql", 8), "/srv/db", "/var/lib/mysql"},
		"own_layer_of_a_container": {role("temporary", "/tmp", 8), "/proc/8/root", "/tmp"},
		"missing":                  {role("data", "/nowhere", 7), "", ""},
		"relative":                 {role("data", "data", 7), "", ""},
		"remote":                   {role("data", "/srv/db", 0), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := seen(c.role)
			placeRoles(context.Background(), machine(), s)
			got := s.Roles[0].Placement
			if got.Filesystem.Name != c.filesystem || got.Resolved != c.resolved {
				t.Errorf("placed on %q at %q, want %q at %q; gaps %v", got.Filesystem.Name, got.Resolved, c.filesystem, c.resolved, s.Gaps)
			}
			link, known := s.Find(db).Links[c.role.Name]
			if known != (c.filesystem != "") {
				t.Errorf("link %v, known %v", link, known)
			}
			if _, gap := s.GapFor(db, c.role.Name); !known && c.role.PID != 0 && !gap {
				t.Error("not placed, and no gap says why")
			}
			if known && s.Find(got.Filesystem) == nil {
				t.Errorf("%s is not in the stack", got.Filesystem)
			}
		})
	}
}

func TestPlaceDenied(t *testing.T) {
	h := machine()
	h.Errors = map[string]error{"stat /srv/db": fs.ErrPermission, "stat /srv/db/undo": fs.ErrPermission}
	s := seen(role("data", "/srv/db", 7), role("undo", "/srv/db/undo", 7))
	placeRoles(context.Background(), h, s)
	if got := s.Roles[0].Filesystem.Name; got != "/srv/db" {
		t.Errorf("a path that is a mount point was placed on %q", got)
	}
	if got := s.Roles[1].Filesystem; !got.IsZero() {
		t.Errorf("a path that could hold a link was guessed to be on %s", got)
	}
	if g, ok := s.GapFor(db, "undo"); !ok || g.Hint != "run as root" {
		t.Errorf("gap %+v", g)
	}
}

func TestPlaceChroot(t *testing.T) {
	h := machine()
	h.Files["/proc/9/mountinfo"] = "200 199 0:5 / /proc rw - proc proc rw\n"
	h.Links["/proc/9/ns/mnt"], h.Links["/proc/9/root"] = "mnt:[1]", "/jail"
	h.Stats["/proc/9/root/data"] = host.Stat{DevMajor: 7, DevMinor: 1, Resolved: "/proc/9/root/data"}
	for _, visible := range []string{h.Files["/proc/9/mountinfo"], ""} { // a chroot may show no mount at all
		h.Files["/proc/9/mountinfo"] = visible
		s := seen(role("data", "/data", 9), role("log", "/nowhere", 9))
		placeRoles(context.Background(), h, s)
		if got := s.Roles[0].Filesystem.Name; got != "/srv/db" {
			t.Errorf("placed on %q; gaps %v", got, s.Gaps)
		}
		if _, ok := s.GapFor(db, "log"); !ok {
			t.Error("not placed, and no gap says why")
		}
	}
}

func TestJoin(t *testing.T) {
	s := seen(role("data", "/z/data", 7), role("redo", "/srv/db", 7), role("log", "/tmp", 8))
	placeRoles(context.Background(), machine(), s)
	names := func(kind, name, link string) []string {
		refs, known := s.Find(stack.Ref{Kind: kind, Name: name}).Links[link]
		if !known {
			return []string{"unknown"}
		}
		var out []string
		for _, r := range refs {
			out = append(out, r.Name)
		}
		return out
	}
	for _, c := range []struct{ kind, name, link, want string }{
		{"filesystem", "/", "block", "vda"},
		{"filesystem", "/srv/db", "block", "loop1"},
		{"filesystem", "/srv/db", "disks", "vda"},
		{"filesystem", "/z", "block", ""},
		{"filesystem", "/z", "dataset", "tank/db"},
		{"filesystem", "/z", "disks", "vdb"},
		{"filesystem", "/b", "disks", "unknown"},
		{"filesystem", "/proc/8/root", "disks", "vda"},
		{"block", "loop1", "backing", "/"},
		{"block", "vda", "disks", "vda"},
		{"pool", "tank", "disks", "vdb"},
		{"pool", "tank", "backing", ""},
		{"pool", "tank", "log_disks", "unknown"},
	} {
		if got := strings.Join(names(c.kind, c.name, c.link), " "); got != c.want {
			t.Errorf("%s:%s %s = %q, want %q", c.kind, c.name, c.link, got, c.want)
		}
	}
	if got := s.Find(stack.Ref{Kind: "filesystem", Name: "/z"}).Text("cloud_volume"); got != "ebs" {
		t.Errorf("cloud_volume %q", got)
	}
	for _, c := range []struct{ name, disks, cache string }{{"/", "vda", ""}, {"/z", "vdb", "write back"}} {
		f := s.Find(stack.Ref{Kind: "filesystem", Name: c.name})
		v, _ := f.Get("disk_names")
		if l, _ := v.List(); strings.Join(l, " ") != c.disks || f.Text("write_cache") != c.cache {
			t.Errorf("%s lies on %v, cache %q", c.name, l, f.Text("write_cache"))
		}
	}
	if _, ok := s.GapFor(stack.Ref{Kind: "filesystem", Name: "/"}, "write_cache"); !ok {
		t.Error("no gap says why the cache under / is not known")
	}
	for _, c := range []struct {
		disk, fact string
		want       []string
	}{{"vda", "roles", []string{"log", "redo"}}, {"vda", "pools", nil}, {"vdb", "pools", []string{"tank"}}} {
		v, known := s.Find(stack.Ref{Kind: "block", Name: c.disk}).Get(c.fact)
		if l, _ := v.List(); !known || !slices.Equal(l, c.want) {
			t.Errorf("%s on %s: %v, known %v", c.fact, c.disk, l, known)
		}
	}
	if _, ok := s.GapFor(stack.Ref{Kind: "filesystem", Name: "/b"}, "disks"); !ok {
		t.Error("no gap says why the disks of /b are not known")
	}
}

// TestJoinEveryDeviceOfBcachefs: the mount table gives the number of the first
// device and the names of all (bch2_show_devname).
func TestJoinEveryDeviceOfBcachefs(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"/dev/vda:/dev/vdb", "vda vdb"},
		{"/dev/vda", "vda"},
		{"/dev/vda:/dev/gone", ""},
	} {
		s := seen()
		mounts, _ := parseMounts([]byte("90 27 254:0 / /many rw - bcachefs " + c.source + " rw\n"))
		s.Add("test", stack.Observation{Things: []*stack.Thing{mounts[0].Thing("/many")}})
		placeRoles(context.Background(), machine(), s)
		ref := stack.Ref{Kind: "filesystem", Name: "/many"}
		var got []string
		for _, r := range s.Find(ref).Links["disks"] {
			got = append(got, r.Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: disks %v, want %q", c.source, got, c.want)
		}
		if _, gap := s.GapFor(ref, "block"); gap != (c.want == "") {
			t.Errorf("%s: a gap %v", c.source, gap)
		}
	}
}

func TestJoinCircle(t *testing.T) {
	h := machine()
	h.Stats["/img/loop1"] = host.Stat{DevMajor: 7, DevMinor: 1, MountID: 47, Resolved: "/srv/db/self"}
	s := seen()
	placeRoles(context.Background(), h, s)
	if _, known := s.Find(stack.Ref{Kind: "filesystem", Name: "/srv/db"}).Links["disks"]; known {
		t.Error("a circle has disks")
	}
}

func TestNoCOW(t *testing.T) {
	s := seen(role("data", "/b/data", 7))
	placeRoles(context.Background(), machine(), s)
	if on, known := s.Find(db).Bool("data_nocow"); !known || !on {
		t.Errorf("data_nocow %v, %v", on, known)
	}
	s = seen(role("data", "/srv/db", 7))
	placeRoles(context.Background(), machine(), s)
	if f, known := s.Find(db).Facts["data_nocow"]; !known || !f.Value.IsAbsent() {
		t.Error("data_nocow on XFS")
	}
}

func TestParseMounts(t *testing.T) {
	mounts, err := parseMounts([]byte(`36 35 98:0 /mnt1 /mnt\0402 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
37 35 0:9 / /o rw - overlay overlay rw,lowerdir=/a:/b,upperdir=/u
bad line
38 35 0:9 / /never rw - tmpfs x rw
`))
	if err == nil || len(mounts) != 2 {
		t.Fatalf("%d mounts, error %v", len(mounts), err)
	}
	m := mounts[0]
	if m.ID != 36 || m.Dev != "98:0" || m.Point != "/mnt 2" || m.Type != "ext3" ||
		!slices.Equal(m.Options, []string{"rw", "noatime", "errors=continue"}) {
		t.Errorf("%+v", m)
	}
	if up, ok := mounts[1].Option("upperdir"); !ok || up != "/u" || len(mounts[1].Options) != 2 {
		t.Errorf("%+v", mounts[1])
	}
}

func TestMountLimit(t *testing.T) {
	var b strings.Builder
	for i := range mountLimit + 1 {
		fmt.Fprintf(&b, "%d 1 8:1 / /m%d rw - xfs /dev/sda1 rw\n", i, i)
	}
	mounts, err := parseMounts([]byte(b.String()))
	if len(mounts) != mountLimit || err == nil {
		t.Errorf("%d mounts, error %v", len(mounts), err)
	}
}

func TestParseAttributes(t *testing.T) {
	for line, want := range map[string]string{
		"---------------C------ /b/nocow\n": "---------------C------",
		"---------------------- btrfs\n":    "----------------------",
		"lsattr: Inappropriate ioctl":       "",
		"":                                  "",
	} {
		if got, ok := parseAttributes([]byte(line)); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", line, got, ok)
		}
	}
}

func FuzzParseMounts(f *testing.F) {
	f.Add([]byte(ownMounts))
	f.Add([]byte(containerMounts))
	f.Fuzz(func(t *testing.T, data []byte) {
		mounts, _ := parseMounts(data)
		for _, m := range mounts {
			if !strings.HasPrefix(m.Point, "/") {
				t.Errorf("mount point %q", m.Point)
			}
			m.Thing("x")
		}
	})
}

func FuzzParseAttributes(f *testing.F) {
	f.Add([]byte("---------------C------ /b/nocow\n"))
	f.Fuzz(func(t *testing.T, data []byte) { parseAttributes(data) })
}
