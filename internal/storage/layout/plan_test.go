package layout

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/provision"
	"plumb/internal/provision/disk"
	"plumb/internal/provision/spec"
	"plumb/internal/zfs"
)

func disksOf(names string) (all []spec.Disk) {
	for _, n := range strings.Fields(names) {
		all = append(all, spec.Disk{Path: n})
	}
	return all
}

func TestVdevs(t *testing.T) {
	for want, p := range map[string]spec.Pool{
		"a b c":                       {Layout: spec.Stripe, Data: disksOf("a b c")},
		"mirror a b":                  {Layout: spec.Mirror, Data: disksOf("a b")},
		"mirror a b mirror c d log x": {Layout: spec.Mirror, Width: 2, Data: disksOf("a b c d"), Log: disksOf("x")},
		"raidz2 a b c d special mirror s t u log mirror x y cache p q": {Layout: spec.RAIDZ2, Data: disksOf("a b c d"), Special: disksOf("s t u"), Log: disksOf("x y"), Cache: disksOf("p q")},
	} {
		if got := strings.Join(forCreate(vdevsOf(p)), " "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestLasting(t *testing.T) {
	p := spec.Pool{Name: "tank", Layout: spec.RAIDZ1, Special: disksOf("s t"), Key: "/k"}
	got := strings.Join(lasting(p), "; ")
	for _, want := range []string{"(ashift) cannot be changed", "the raidz1 of the pool tank cannot be removed", "a special vdev beside raidz1 cannot be removed", "the encryption of the pool tank"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	if got := lasting(spec.Pool{Name: "tank", Layout: spec.Mirror, Special: disksOf("s t")}); len(got) != 1 {
		t.Errorf("of mirrors: %v", got)
	}
}

// Disks of one vdev are of one size and kind, as zpool wants it.
func TestAlike(t *testing.T) {
	d := func(path string, gib int64, file bool) disk.Disk {
		return disk.Disk{Spec: spec.Disk{Path: path}, Size: gib << 30, File: file}
	}
	two := spec.Pool{Layout: spec.Mirror, Width: 2, Data: disksOf("a b c d"), Log: disksOf("x y")}
	for want, all := range map[string][]disk.Disk{
		"":                            {d("a", 1, false), d("b", 1, false), d("c", 2, true), d("d", 2, true), d("x", 3, false), d("y", 3, false)},
		"c has 2G and d has 1G":       {d("a", 1, false), d("b", 1, false), d("c", 2, false), d("d", 1, false), d("x", 3, false), d("y", 3, false)},
		"x has 3G and y has 4G":       {d("a", 1, false), d("b", 1, false), d("c", 2, false), d("d", 2, false), d("x", 3, false), d("y", 4, false)},
		"a is a file and b is a disk": {d("a", 1, true), d("b", 1, false), d("c", 2, false), d("d", 2, false), d("x", 3, false), d("y", 3, false)},
	} {
		m := &poolMaking{pool: two, disks: all}
		if err := m.alike(); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", want, err)
		} else if want == "" && m.out.Room != 3<<30 {
			t.Errorf("two mirrors have room for %d", m.out.Room)
		}
	}
	for layout, room := range map[spec.Layout]int64{spec.Stripe: 5, spec.Mirror: 1, spec.RAIDZ1: 4, spec.RAIDZ3: 2} {
		m := &poolMaking{pool: spec.Pool{Layout: layout, Data: disksOf("a b c d e")}}
		for _, p := range m.pool.Data {
			m.disks = append(m.disks, d(p.Path, 1, false))
		}
		if err := m.alike(); err != nil || m.out.Room != room<<30 {
			t.Errorf("%s has room for %d: %v", layout, m.out.Room, err)
		}
	}
	stripe := &poolMaking{pool: spec.Pool{Layout: spec.Stripe, Data: disksOf("a b")}, disks: []disk.Disk{d("a", 1, false), d("b", 2, false)}}
	if err := stripe.alike(); err != nil || stripe.out.Room != 3<<30 {
		t.Errorf("a stripe has room for %d: %v", stripe.out.Room, err)
	}
}

// What the array tells counts, unless the spec says otherwise, and then it is said.
func TestAlign(t *testing.T) {
	tells := disk.Disk{Logical: 512, Physical: 4096, Chunk: 256 << 10, Stripe: 768 << 10}
	silent := disk.Disk{Logical: 512, Physical: 512}
	for _, c := range []struct {
		d     disk.Disk
		f     spec.Filesystem
		flags string
		note  bool
	}{
		{tells, spec.Filesystem{Type: "ext4"}, "-E stride=64,stripe_width=192", false},
		{tells, spec.Filesystem{Type: "xfs"}, "-d su=262144,sw=3", false},
		{tells, spec.Filesystem{Type: "btrfs"}, "", false},
		{tells, spec.Filesystem{Type: "xfs", Chunk: 64 << 10, Width: 4}, "-d su=65536,sw=4", true},
		{tells, spec.Filesystem{Type: "xfs", Chunk: 256 << 10, Width: 3}, "-d su=262144,sw=3", false},
		{silent, spec.Filesystem{Type: "ext4"}, "", false},
		{silent, spec.Filesystem{Type: "ext4", Chunk: 64 << 10, Width: 2}, "-E stride=16,stripe_width=32", false},
	} {
		a := align(c.d, c.f)
		if strings.Join(a.flags, " ") != c.flags || (a.note != "") != c.note {
			t.Errorf("%+v: %v, %q", c.f, a.flags, a.note)
		}
	}
}

// A filesystem's UUID is read where mkfs writes it, and no other is taken for it.
func TestIdentityReadsTheUUID(t *testing.T) {
	const uuid = "0123abcd-4567-4ef0-8123-456789abcdef"
	for _, kind := range spec.Filesystems() {
		look, id := identity(spec.Filesystem{Type: kind, Device: spec.Disk{Path: "/dev/x"}}, uuid)
		if id != "01 23 ab cd 45 67 4e f0 81 23 45 67 89 ab cd ef" || !slices.Contains(look.Argv, "/dev/x") || !strings.Contains(look.Match, "("+id+")") {
			t.Errorf("%s: %q, %+v", kind, id, look)
		}
	}
	if a, b := newUUID(), newUUID(); a == b || len(a) != 36 {
		t.Error(a, b)
	}
}

// Whoever has no Plumb reads the states with sed, which knows none of Perl's expressions.
func TestStatesAreReadBySed(t *testing.T) {
	looks := []change.Inspection{immutable("/srv/a.b").Switch.Inspect}
	for _, kind := range spec.Filesystems() {
		look, _ := identity(spec.Filesystem{Type: kind}, newUUID())
		looks = append(looks, look)
	}
	for _, look := range looks {
		if _, err := regexp.CompilePOSIX(look.Match); err != nil {
			t.Error(err)
		}
	}
}

// Without ZFS the disks are looked at already; with it, the pool may be there.
func TestDisksAreLookedAtBeforeZFSIsThere(t *testing.T) {
	p := spec.Pool{Name: "tank", Layout: spec.Stripe, Data: disksOf("/dev/disk/by-id/none")}
	if err := New().Disks(t.Context(), hosttest.Map{}, p); err == nil || !strings.Contains(err.Error(), "/dev/disk/by-id/none is not there") {
		t.Error(err)
	}
	if err := New().Disks(t.Context(), hosttest.Map{Outputs: map[string]string{"zfs version": "zfs-2.3.9-1\n"}}, p); err != nil {
		t.Error(err)
	}
}

// poolOfOne is a machine that has a pool of one disk, encrypted or not.
func poolOfOne(encryption string) hosttest.Map {
	line := func(argv []string) string { return strings.Join(argv, " ") }
	return hosttest.Map{Outputs: map[string]string{
		line(zfs.Version()): "zfs-2.3.9-1\nzfs-kmod-2.3.9-1\n", line(zfs.Pools()): "tank\n", line(zfs.Value("encryption", "tank")): encryption + "\n",
		line(zfs.Tools{}.Status("tank")): `  pool: tank
 state: ONLINE
config:

	NAME                 STATE     READ WRITE CKSUM
	tank                 ONLINE       0     0     0
	  /dev/disk/by-id/a  ONLINE       0     0     0

errors: No known data errors
`}}
}

// A spec that names a key is not carried out on a pool that is there and not encrypted.
func TestAPoolWithoutTheKeyIsRefused(t *testing.T) {
	p := spec.Pool{Name: "tank", Layout: spec.Stripe, Data: disksOf("/dev/disk/by-id/a")}
	for _, c := range []struct{ encryption, key, refused string }{
		{"off", "", ""}, {"aes-256-gcm", "/etc/zfs/tank.key", ""}, {"aes-256-gcm", "", ""},
		{"off", "/etc/zfs/tank.key", "the pool tank exists and is not encrypted"},
	} {
		p.Key = c.key
		m, err := New().Pool(t.Context(), poolOfOne(c.encryption), p, provision.Birth{})
		if !m.Done() || (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("encryption=%s, key %q: %v", c.encryption, c.key, err)
		}
	}
}

// A key that a start of the machine takes away is told: with it all data would be lost.
func TestAKeyInMemoryIsTold(t *testing.T) {
	for magic, told := range map[int64]bool{unix.TMPFS_MAGIC: true, unix.RAMFS_MAGIC: true, unix.EXT4_SUPER_MAGIC: false} {
		h := hosttest.Map{Stats: map[string]host.Stat{"/": {Mode: fs.ModeDir | 0o755, Resolved: "/"}, "/run/key": {Mode: 0o600, Size: 32, Resolved: "/run/key"}}, Spaces: map[string]host.Statfs{"/run/key": {Type: magic}}}
		format, note, err := keyFormat(t.Context(), h, "/run/key")
		if format != "raw" || err != nil || strings.Contains(note, "is in memory") != told {
			t.Errorf("%x: %q, %q, %v", magic, format, note, err)
		}
	}
}

// A key that lies, or is a link, where another user can put his own in its place is refused: the pool would be made with a key that he knows.
func TestAKeyInAPlaceOfOthersIsRefused(t *testing.T) {
	dir := func(uid uint32, perm fs.FileMode, at string) host.Stat {
		return host.Stat{Mode: fs.ModeDir | perm, UID: uid, Resolved: at}
	}
	h := hosttest.Map{Spaces: map[string]host.Statfs{}, Stats: map[string]host.Stat{"/": dir(0, 0o755, "/"), "/etc": dir(0, 0o755, "/etc"), "/home": dir(0, 0o755, "/home"), "/home/eve": dir(1000, 0o755, "/home/eve"),
		"/tmp": dir(0, 0o777|fs.ModeSticky, "/tmp"), "/srv": dir(0, 0o777, "/srv")}}
	for key, c := range map[string]struct{ at, refused string }{
		"/etc/key": {"/etc/key", ""}, "/tmp/key": {"/tmp/key", ""}, "/home/eve/key": {"/home/eve/key", "/home/eve belongs to user 1000"}, "/srv/key": {"/srv/key", "/srv is writable by everybody"},
		"/etc/link": {"/home/eve/key", "/home/eve belongs to user 1000"}, "/home/eve/link": {"/etc/key", "/home/eve belongs to user 1000"},
	} {
		h.Stats[key], h.Spaces[key] = host.Stat{Mode: 0o600, Size: 32, Resolved: c.at}, host.Statfs{Type: unix.EXT4_SUPER_MAGIC}
		_, _, err := keyFormat(t.Context(), h, key)
		if (err != nil) != (c.refused != "") || err != nil && (!strings.Contains(err.Error(), c.refused) || hint.Of(err) == "") {
			t.Errorf("%s, which is %s: %v", key, c.at, err)
		}
	}
}

// What a person should know of the devices beside the data is said before they are added.
func TestWarningsOfDevices(t *testing.T) {
	m := &poolMaking{pool: spec.Pool{Special: disksOf("a b"), Log: disksOf("l"), Cache: disksOf("c")}}
	m.warn()
	all := strings.Join(m.out.Notes, "\n")
	for _, want := range []string{"the special vdev of the pool: it alone holds the metadata", "power-loss protection", "it is not mirrored", "memory of the ARC"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in %s", want, all)
		}
	}
	m = &poolMaking{pool: spec.Pool{Log: disksOf("l m")}}
	if m.warn(); len(m.out.Notes) != 1 {
		t.Errorf("of a mirror: %v", m.out.Notes)
	}
}

// A zfs-fuse of a container has pools that are none of ours, and makes none for us.
func TestZFSIsTheOneThatMountsHere(t *testing.T) {
	m := hosttest.Map{Outputs: map[string]string{"zfs version": "unrecognized command 'version'\n"}, Files: map[string]string{"/proc/9/comm": "zfs-fuse\n", "/proc/9/cmdline": "zfs-fuse\x00-n\x00"},
		Links: map[string]string{"/proc/self/ns/mnt": "mnt:[1]", "/proc/9/ns/mnt": "mnt:[2]"}}
	if is, err := zfsHere(t.Context(), m); err == nil || !strings.Contains(err.Error(), "no zfs-fuse runs that mounts here") {
		t.Errorf("%+v, %v", is, err)
	}
	m.Links["/proc/9/ns/mnt"] = "mnt:[1]"
	if is, err := zfsHere(t.Context(), m); err != nil || !is.Fuse {
		t.Errorf("%+v, %v", is, err)
	}
}
