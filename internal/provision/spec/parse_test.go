package spec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// small is the least of a pool.
const small = `pool:
  name: tank
  layout: mirror
  disks: [/dev/disk/by-id/a, {path: /dev/disk/by-id/b, serial: S2, size: 1G}]
server: {product: mariadb}
`

// plain is a filesystem.
const plain = `filesystem: {type: xfs, device: /dev/vg0/db, at: /srv/x, chunk: 64K, width: 4}
server: {product: postgres, version: 17, role: replica, at: /srv/db, memory: 1.5G, databases: [shop, {name: b, owner: c}]}
`

func TestParse(t *testing.T) {
	for text, want := range map[string]Spec{
		small: {Pool: &Pool{Name: "tank", Layout: Mirror, Data: []Disk{{Path: "/dev/disk/by-id/a"}, {Path: "/dev/disk/by-id/b", Serial: "S2", Size: 1 << 30}}},
			Server: Server{Product: "mariadb"}},
		plain: {Filesystem: &Filesystem{Type: "xfs", Device: Disk{Path: "/dev/vg0/db"}, At: "/srv/x", Chunk: 64 << 10, Width: 4},
			Server: Server{Product: "postgres", Version: "17", Role: Replica, At: "/srv/db", Memory: 3 << 29, Databases: []Database{{"shop", "shop"}, {"b", "c"}}}},
		"use: tank/db\nserver: {product: mysql}\n": {Use: "tank/db", Server: Server{Product: "mysql"}},
		"plumb: 1\npool: {name: t, layout: stripe, disks: [{path: /var/tmp/a, size: 64M}, {path: /dev/disk/by-id/x, erase: 77}]}\nserver: {product: mysql}\n": {
			Pool: &Pool{Name: "t", Layout: Stripe, Data: []Disk{{Path: "/var/tmp/a", Size: 64 << 20}, {Path: "/dev/disk/by-id/x", Serial: "77", Erase: "77"}}}, Server: Server{Product: "mysql"}},
	} {
		got, err := Parse("x.yaml", []byte(text))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
	}
}

func TestParseTellsMistakes(t *testing.T) {
	for _, m := range []struct{ from, to, want string }{
		{"layout:", "lay-out:", `x.yaml:3:3: a pool has no key "lay-out"; did you mean layout?`},
		{"layout: mirror", "layout: miror", `x.yaml:3:11: pool.layout is one of stripe, mirror, raidz1, raidz2, raidz3, not "miror"; did you mean mirror?`},
		{"pool:", "pol:", `x.yaml:1:1: a spec has no key "pol"; did you mean pool?`},
		{"pool:", "use: x\npool:", "x.yaml:3:3: a spec has only one of the keys pool, use and filesystem"},
		{"server: {product: mariadb}", "use: tank", `x.yaml:1:1: a spec needs the key "server"`},
		{"mariadb", "mariadbb", "did you mean mariadb?"},
		{"mariadb", "postgresql", "did you mean postgres?"},
		{"by-id/a", "by-id/b", "x.yaml:4:37: /dev/disk/by-id/b is listed twice, first in line 4"},
		{"/dev/disk/by-id/a", "{path: /dev/disk/by-id/a, serial: S2}", "S2 is listed twice"},
		{"/dev/disk/by-id/a", "/dev/sda", "x.yaml:4:11: /dev/sda may be another disk after the next boot"},
		{"/dev/disk/by-id/a", "/dev/nvme0n1p2", "may be another disk"},
		{"/dev/disk/by-id/a", "sda", "is an absolute path"},
		{"/dev/disk/by-id/a", "/dev/disk/../sda", "is an absolute path"},
		{"/dev/disk/by-id/a", `"/dev/disk/by-id/a b"`, "has no blanks"},
		{"/dev/disk/by-id/a", `"/dev/disk/by-id/$(x)"`, "has no blanks"},
		{"/dev/disk/by-id/a", "/var/tmp/a", "a file needs a size"},
		{"/dev/disk/by-id/a", "{path: /var/tmp/a, size: 1G, erase: x}", "a file is always a new one"},
		{"/dev/disk/by-id/a", "{path: /var/tmp/a, size: 1G, serial: x}", "a file has no serial number"},
		{"/dev/disk/by-id/a", "{path: /dev/disk/by-id/a, serial: x, erase: y}", `erase must repeat the serial number of the disk, "x", not "y"`},
		{"size: 1G", "size: 960GB", "powers of 1024"},
		{"size: 1G", "size: 1K", "is 1K: 64M to 1E are possible"},
		{"size: 1G", "size: 9999999999P", "is 8E: 64M to 1E are possible"},
		{"name: tank", "name: mirror-1", "a pool's name cannot begin with mirror"},
		{"name: tank", "name: -f", "pool.name must be a letter"},
		{"layout: mirror", "layout: raidz1", "raidz1 needs groups of at least 3 disks, and this has 2: a mirror of them"},
		{"layout: mirror", "layout: mirror\n  width: 1", "mirror needs groups of at least 2 disks, and this has 1: one disk is a stripe"},
		{"layout: mirror", "layout: mirror\n  width: 3", "x.yaml:4:10: 2 disks do not make groups of 3"},
		{"layout: mirror", "layout: stripe\n  width: 2", "a stripe has no width"},
		{"layout: mirror", "layout: mirror\n  special: [/dev/disk/by-id/c]", "pool.special has 1 disk, and needs 2"},
		{"layout: mirror", "layout: stripe\n  log: []", "pool.log has 0 disks"},
		{"mariadb}", "mariadb, at: /usr}", "cannot be /usr, which belongs to the system"},
		{"mariadb}", "mariadb, at: /proc/x}", "cannot be below /proc"},
		{"mariadb}", "mariadb, memory: 1M}", "server.memory is 1M"},
		{"mariadb}", "mariadb, version: new}", "is a number such as"},
		{"mariadb}", "mariadb, databases: []}", "server.databases has 0 databases"},
		{"mariadb}", "mariadb, databases: [shop, shop]}", "the database shop is listed twice"},
		{"mariadb}", "mariadb, databases: [{name: Shop}]}", "must be a lower-case letter"},
		{"mariadb}", "mariadb, databases: [{name: shop, owner: root}]}", "cannot be root, which the server reserves"},
		{"mariadb}", "mariadb, databases: [\"a'; DROP\"]}", "must be a lower-case letter"},
		{"mariadb}", "mariadb, version: 11.8}\npackages: {from: mariadb.com}", `packages.from is one of mariadb.org, postgresql.org, not "mariadb.com"; did you mean mariadb.org?`},
		{"mariadb}", "mariadb, version: 11.8}\npackages: {from: postgresql.org}", "postgresql.org has no mariadb"},
		{"mariadb}", "mariadb}\npackages: {from: mariadb.org}", "mariadb.org has a repository for each series: give it as server.version"},
		{"mariadb}", "mariadb, version: 11.8.3}\npackages: {from: mariadb.org}", "give it as server.version"},
		{"mariadb}", "mariadb, version: 11.8}\npackages: {}", `needs the key "from"`},
		{"mariadb}", "mariadb}\n---\nuse: x", "there is a second document"},
		{"pool:", "plumb: 2\npool:", "x.yaml:1: it is a spec of version 2"},
	} {
		text := strings.Replace(small, m.from, m.to, 1)
		if text == small {
			t.Fatalf("%q: nothing was changed", m.from)
		}
		if _, err := Parse("x.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), m.want) {
			t.Errorf("%s: got %v, want %s", m.to, err, m.want)
		}
	}
	for _, m := range []struct{ from, to, want string }{
		{"/dev/vg0/db", "{path: /var/tmp/x, size: 1G}", "x.yaml:1:33: a filesystem is made on a device"},
		{"xfs", "zfs", `filesystem.type is one of ext4, xfs, btrfs, not "zfs"`},
		{"xfs", "btrfs", "btrfs is not aligned"},
		{", width: 4", "", "an array needs both"},
		{"64K", "65K", "a power of two"},
	} {
		if _, err := Parse("x.yaml", []byte(strings.Replace(plain, m.from, m.to, 1))); err == nil || !strings.Contains(err.Error(), m.want) {
			t.Errorf("%s: got %v, want %s", m.to, err, m.want)
		}
	}
}

// TestParseRefusesWhatIsNoName: what a command or a file on the way would take for something else.
func TestParseRefusesWhatIsNoName(t *testing.T) {
	for _, m := range []struct{ from, to, want string }{
		{"/dev/disk/by-id/a", "/dev/rbd0", "may be another disk"},
		{"/dev/disk/by-id/a", "/dev/dasda1", "may be another disk"},
		{"/dev/disk/by-id/a", "/dev/zram0", "may be another disk"},
		{"/dev/disk/by-id/a", "\"/dev/disk/by-id/a\\n\"", "has no blanks"},
		{"/dev/disk/by-id/a", "\"/dev/disk/by-id/\\e[2J\"", "has no blanks"},
		{"mariadb}", "mariadb, at: \"/srv/a,exec\"}", "has no blanks, commas"}, // it would be an option of a mount
		{"mariadb}", "mariadb, name: \"mariadb:\\n3306\"}", "server.name is one word"},
		{"name: tank", "name: \"tank\\n\"", "pool.name must be a letter"},
		{"name: tank", "name: c0t0", "a pool's name cannot begin with c and a digit"},
		{"name: tank", "name: spares", "a pool's name cannot begin with spare"},
	} {
		if _, err := Parse("x.yaml", []byte(strings.Replace(small, m.from, m.to, 1))); err == nil || !strings.Contains(err.Error(), m.want) {
			t.Errorf("%s: got %v, want %s", m.to, err, m.want)
		}
	}
}

// One run shows them all, in the order of the file, and no more than a person reads.
func TestParseTellsAllMistakesAtOnce(t *testing.T) {
	_, err := Parse("x.yaml", []byte("pool: {name: 1, layout: mirrr, disks: [x]}\nserver: {product: x, colour: red}\nuse: -x\n"))
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 7 {
		t.Errorf("%d mistakes:\n%v", len(lines), err)
	}
	_, err = Parse("x.yaml", []byte("pool: {name: t, layout: stripe, disks: ["+strings.Repeat("x, ", 100)+"]}\n"))
	if lines := strings.Split(err.Error(), "\n"); len(lines) != mostWords {
		t.Errorf("%d mistakes", len(lines))
	}
	if _, err := Parse("x.yaml", make([]byte, mostText+1)); err == nil || !strings.Contains(err.Error(), "too large for a spec") {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(example(f))
	f.Add(small)
	f.Add(plain)
	f.Add("pool: {disks: [[], {}], special: 1}\nfilesystem: []")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("x.yaml", []byte(text))
		if err != nil {
			return
		}
		again, err := Parse("x.yaml", Text(s))
		if diff := cmp.Diff(s, again); diff != "" || err != nil {
			t.Errorf("written and read again it is another: %v\n%s\n%s", err, Text(s), diff)
		}
	})
}
