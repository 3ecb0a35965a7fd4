package zfs

import (
	"context"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

const (
	listCommand      = "zpool list -Hp -o name,size,allocated,free,capacity,fragmentation,dedupratio,health"
	datasetCommand   = "zfs get -Hp -o name,property,value,source -t filesystem,volume all"
	snapshotCommand  = "zfs list -Hp -t snapshot -o name,creation,createtxg"
	fuseListCommand  = "zpool list -H -o name,size,allocated,free,capacity,version,dedupratio,health"
	fuseGetCommand   = "zfs get -Hp -o name,property,value,source all"
	fuseSnapsCommand = "zfs list -H -t snapshot -o name"
)

func lookAt(t *testing.T, m hosttest.Map) *stack.Stack {
	t.Helper()
	obs, err := NewProbe(hosttest.Catalog(t)).Collect(context.Background(), m, &stack.Stack{})
	must(t, err)
	s := &stack.Stack{}
	s.Add("zfs", obs)
	return s
}

func check(t *testing.T, s *stack.Stack, ref string, want map[string]stack.Value) {
	t.Helper()
	r, err := stack.ParseRef(ref)
	must(t, err)
	thing := s.Find(r)
	if thing == nil {
		t.Fatalf("%s was not found", ref)
	}
	for name, v := range want {
		f, known := thing.Facts[name]
		if !known || !f.Value.Equal(v) {
			t.Errorf("%s %s = %v (known %v), want %v", ref, name, f.Value, known, v)
		}
	}
}

func unknown(t *testing.T, s *stack.Stack, kind, name, fact string) {
	t.Helper()
	r := stack.Ref{Kind: kind, Name: name}
	if _, known := s.Find(r).Facts[fact]; known {
		t.Errorf("%s %s is known", r, fact)
	}
	if _, ok := s.GapFor(r, fact); !ok {
		t.Errorf("no gap says why %s %s is not known", r, fact)
	}
}

// openZFSHost is typed from the documented formats of OpenZFS 2.1, not
// captured from a host.
func openZFSHost(t *testing.T) hosttest.Map {
	return hosttest.Map{
		Who: host.About{Taken: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), Root: true},
		Files: map[string]string{
			"/sys/module/zfs/version":                        "2.1.11-1+deb12u1\n",
			"/sys/module/zfs/parameters/zfs_arc_max":         "4294967296\n",
			"/sys/module/zfs/parameters/zfs_arc_min":         "0\n",
			"/sys/module/zfs/parameters/zfs_txg_timeout":     "5\n",
			"/sys/module/zfs/parameters/zfs_vdev_scheduler":  "unused\n",
			"/sys/module/zfs/parameters/zfs_fletcher_4_impl": "[fastest] scalar\n",
			"/etc/modprobe.d/zfs.conf":                       "options zfs zfs_arc_max=8589934592\noptions zfs zfs_dio_enabled=0 zfs_txg_timeout=5\n",
			"/usr/lib/modprobe.d/zfs.conf":                   "options zfs zfs_txg_timeout=60\n",
			"/proc/spl/kstat/zfs/arcstats":                   "9 1 0x01 2 2 3 4\nname type data\nsize 4 4000000000\nc_max 4 4294967296\nmemory_throttle_count 4 0\n",
			"/proc/spl/kstat/zfs/dmu_tx":                     "9 1 0x01 2 2 3 4\nname type data\ndmu_tx_dirty_delay 4 17\n",
			"/proc/spl/kstat/zfs/tank/txgs":                  "txg birth state ndirty nread nwritten reads writes otime qtime wtime stime\n1 2 C 0 0 0 0 0 0 0 0 6000000000\n2 2 C 0 0 0 0 0 0 0 0 1000000\n",
		},
		Outputs: map[string]string{
			"zfs version":               "zfs-2.1.5-1\nzfs-kmod-2.1.11-1+deb12u1\n",
			listCommand:                 "tank\t1000\t850\t150\t85\t40\t1.00\tDEGRADED\nwide\t1000\t10\t990\t1\t-\t1.00\tONLINE\n",
			"zpool status -P":           string(testdata(t, "typed/status-2.1.txt")),
			"zpool get -Hp all tank":    "tank\tashift\t0\tdefault\ntank\tautotrim\toff\tdefault\ntank\tfailmode\tpanic\tlocal\ntank\tversion\t-\tdefault\ntank\tcomment\t-\tdefault\ntank\tbcloneused\t4096\t-\n",
			"zpool get -Hp all wide":    "wide\tashift\t13\tlocal\nwide\tversion\t-\tdefault\n",
			"zdb -C":                    "tank:\n    vdev_tree:\n        children[0]:\n            ashift: 9\n",
			datasetCommand:              "tank\ttype\tfilesystem\t-\ntank\tavailable\t150\t-\ntank\tcreation\t1795046400\t-\ntank\trecordsize\t131072\tdefault\ntank\tcompressratio\t1.53\t-\ntank\tquota\t0\tdefault\ntank/vol\ttype\tvolume\t-\ntank/vol\tvolblocksize\t8192\tdefault\ntank/vol\tvolsize\t1000000\tlocal\ntank/vol\trefreservation\t0\tdefault\ntank/vol\tusedbydataset\t400000\t-\ntank/thick\ttype\tvolume\t-\ntank/thick\tvolsize\t1000000\tlocal\ntank/thick\trefreservation\t1031864\tlocal\ntank/thick\tusedbydataset\t7\t-\ntank/vol\tsync\tdisabled\tinherited from tank\n",
			snapshotCommand:             "tank@a\t1795046400\t11\ntank@b\t1795046500\t12\n",
			"zpool status -P -j --json": "",
		},
	}
}

func TestLookReadsOpenZFS(t *testing.T) {
	s := lookAt(t, openZFSHost(t))
	check(t, s, "zfs:module", map[string]stack.Value{
		"implementation": stack.Text("openzfs"), "version": stack.Text("2.1.11"), "release": stack.Text("2.1.11-1+deb12u1"),
		"userland": stack.Text("2.1.5"), "zfs_arc_max": stack.Int(4 << 30), "arc_limit": stack.Int(4 << 30),
		"arc_throttled": stack.Int(0), "tx_delayed": stack.Int(17), "modprobe_unknown": stack.List([]string{"zfs_dio_enabled"}),
		"zfs_dio_enabled": {}, "arc_demand_data_iohits": {},
	})
	f := s.Find(stack.Ref{Kind: "zfs", Name: "module"}).Facts["zfs_arc_max"]
	if f.Origin == nil || f.Origin.From != stack.FromRuntime || f.Next == nil || !f.Next.Value.Equal(stack.Int(8<<30)) || f.Next.Origin.Line != 1 {
		t.Errorf("zfs_arc_max: %+v, next %+v; want runtime, next 8 GiB from line 1", f.Origin, f.Next)
	}
	check(t, s, "pool:tank", map[string]stack.Value{
		"health": stack.Text("DEGRADED"), "capacity": stack.Float(85), "fragmentation": stack.Float(40), "layout": stack.Text("mirror"),
		"redundant": stack.Bool(true), "has_special": stack.Bool(true), "special_redundant": stack.Bool(false),
		"log_mirrored": stack.Bool(true), "has_cache": stack.Bool(true), "ashift": stack.Int(9), "failmode": stack.Text("panic"),
		"checksum_errors": stack.Int(3), "data_errors": stack.Int(3), "scan_errors": stack.Int(2), "txg_slow": stack.Int(1),
		"unhealthy_devices": stack.List([]string{"/dev/disk/by-id/nvme-B-part1 UNAVAIL"}), "pool_version": {}, "comment": stack.Text(""), "cloned": stack.Int(4096),
		"sparse_volumes": stack.Int(1), "sparse_owed": stack.Int(600000), "available": stack.Int(150),
		"age": stack.Int(86400), "scrub_age": stack.Int(1795132800 - 1794098062),
	})
	check(t, s, "pool:wide", map[string]stack.Value{"ashift": stack.Int(13), "layout": stack.Text("raidz2"), "has_log": stack.Bool(false), "log_mirrored": {}, "cloned": {}})
	unknown(t, s, "pool", "wide", "scrub_age")
	unknown(t, s, "pool", "wide", "txg_slow")
	check(t, s, "dataset:tank", map[string]stack.Value{
		"recordsize": stack.Int(131072), "compressratio": stack.Float(1.53), "quota": stack.Int(0), "volblocksize": {},
		"snapshots": stack.Int(2), "snapshot_newest": stack.Text("b"), "snapshot_newest_txg": stack.Int(12),
	})
	check(t, s, "dataset:tank/vol", map[string]stack.Value{"recordsize": {}, "volblocksize": stack.Int(8192), "snapshots": stack.Int(0), "snapshot_newest": {}})
	if o := s.Find(stack.Ref{Kind: "dataset", Name: "tank/vol"}).Facts["sync"].Origin; o.From != stack.FromInherited || o.Of != "tank" {
		t.Errorf("sync comes from %+v, want inherited from tank", o)
	}
}

// A dataset may take what the nearest of all quotas leaves, whatever the pool
// has.
func TestNearestQuota(t *testing.T) {
	m := openZFSHost(t)
	lines := ""
	for _, d := range []struct{ name, used, referenced, quota, refquota string }{
		{"tank", "900", "10", "0", "0"}, {"tank/db", "90", "20", "1000", "50"}, {"tank/db/my", "60", "60", "70", "0"},
		{"tank/db/pg", "10", "10", "0", "0"}, {"tank/over", "30", "30", "20", "none"},
	} {
		for _, p := range []string{"type\tfilesystem", "used\t" + d.used, "referenced\t" + d.referenced, "quota\t" + d.quota, "refquota\t" + d.refquota, "available\t40"} {
			lines += d.name + "\t" + p + "\t-\n"
		}
	}
	m.Outputs[datasetCommand] = lines
	s := lookAt(t, m)
	check(t, s, "dataset:tank", map[string]stack.Value{"quota_left": {}, "quota_left_by": {}})
	check(t, s, "dataset:tank/db", map[string]stack.Value{"quota_left": stack.Int(30), "quota_left_limit": stack.Int(50), "quota_left_by": stack.Text("refquota of tank/db")})
	check(t, s, "dataset:tank/db/my", map[string]stack.Value{"quota_left": stack.Int(10), "quota_left_limit": stack.Int(70), "quota_left_by": stack.Text("quota of tank/db/my")})
	check(t, s, "dataset:tank/db/pg", map[string]stack.Value{"quota_left": stack.Int(910), "quota_left_limit": stack.Int(1000), "quota_left_by": stack.Text("quota of tank/db")})
	check(t, s, "dataset:tank/over", map[string]stack.Value{"quota_left": stack.Int(0), "quota_left_by": stack.Text("quota of tank/over")})
}

func TestLookUsesJSONWhereTheCommandsKnowIt(t *testing.T) {
	m := openZFSHost(t)
	m.Outputs["zfs version"] = "zfs-2.3.4-1\nzfs-kmod-2.3.4-1\n"
	m.Outputs["zpool status -P -j --json-int"] = string(testdata(t, "typed/status-2.3.json"))
	delete(m.Outputs, "zpool status -P")
	s := lookAt(t, m)
	check(t, s, "pool:tank", map[string]stack.Value{"layout": stack.Text("mirror"), "scan_errors": stack.Int(2)})
}

func TestLookGoesOnWhenAPoolHangs(t *testing.T) {
	m := openZFSHost(t)
	m.Errors = map[string]error{"run zpool status -P": context.DeadlineExceeded, "run " + datasetCommand: context.DeadlineExceeded}
	s := lookAt(t, m)
	unknown(t, s, "pool", "tank", "layout")
	check(t, s, "pool:tank", map[string]stack.Value{"health": stack.Text("DEGRADED"), "failmode": stack.Text("panic")})
	said := slices.ContainsFunc(s.Gaps, func(g stack.Gap) bool {
		return strings.Contains(g.Why, "datasets could not be read") && strings.Contains(g.Hint, "suspended")
	})
	if !said {
		t.Errorf("no gap speaks of the datasets and a suspended pool: %+v", s.Gaps)
	}
}

// Seen on a zfs-fuse that had stopped answering: its figures and the datasets
// hang while zpool list still answers.
func TestLookGoesOnWhenZFSFuseHangs(t *testing.T) {
	s := lookAt(t, hosttest.Map{
		Files:   map[string]string{"/proc/8865/comm": "zfs-fuse\n", "/proc/8865/cmdline": "zfs-fuse\x00-n\x00"},
		Outputs: map[string]string{fuseListCommand: string(testdata(t, "fuse/list.txt"))},
		Errors: map[string]error{
			"glob /zfs-kstat/zfs": context.DeadlineExceeded, "file /zfs-kstat/zfs/arcstats/size": context.DeadlineExceeded,
			"run zpool status": context.DeadlineExceeded, "run " + fuseGetCommand: context.DeadlineExceeded,
		},
	})
	check(t, s, "zfs:module", map[string]stack.Value{"implementation": stack.Text("zfs-fuse")})
	check(t, s, "pool:plumbzfs", map[string]stack.Value{"health": stack.Text("ONLINE")})
	unknown(t, s, "zfs", "module", "arc_limit")
	unknown(t, s, "pool", "plumbzfs", "layout")
}

func TestLookOnAHostWithoutZFSIsEmpty(t *testing.T) {
	s := lookAt(t, hosttest.Map{Files: map[string]string{"/proc/1/comm": "init\n"}})
	if len(s.Things)+len(s.Gaps) != 0 {
		t.Errorf("found %v, %v", s.Things, s.Gaps)
	}
}

// TestOneZFSFuseOfSeveral: the one that mounts where we look is asked about. The others have lower numbers, and come first. The very first is
// another user's, who calls a process so.
func TestOneZFSFuseOfSeveral(t *testing.T) {
	m := hosttest.Map{Files: map[string]string{"/usr/sbin/zfs-fuse": ""}, Links: map[string]string{"/proc/self/ns/mnt": "mnt:[1]"}, Errors: map[string]error{}}
	for pid, megabytes := range map[string]string{"1100": "16", "1200": "32", "1300": "64"} {
		m.Files["/proc/"+pid+"/comm"], m.Files["/proc/"+pid+"/cmdline"] = "zfs-fuse\n", "zfs-fuse\x00-n\x00-m\x00"+megabytes+"\x00"
		m.Links["/proc/"+pid+"/ns/mnt"] = "mnt:[" + pid + "]"
	}
	m.Files["/proc/1050/comm"], m.Files["/proc/1050/cmdline"], m.Links["/proc/1050/ns/mnt"] = "zfs-fuse\n", "zfs-fuse\x00-m\x008\x00", "mnt:[1]"
	m.Files["/proc/1050/status"] = "Name:\tzfs-fuse\nUid:\t1000\t1000\t1000\t1000\n"
	if s := lookAt(t, m); len(s.Things)+len(s.Gaps) != 0 {
		t.Errorf("none mounts here: found %v, %v", s.Things, s.Gaps)
	}
	m.Errors["link /proc/1200/ns/mnt"] = fs.ErrPermission
	s := lookAt(t, m)
	unknown(t, s, "zfs", "module", "arc_limit")
	if g, _ := s.GapFor(stack.Ref{Kind: "zfs", Name: "module"}, "arc_limit"); !strings.Contains(g.Why, "process 1200") || g.Hint != "run as root" {
		t.Errorf("not to be seen where it mounts: %+v", g)
	}
	m.Links["/proc/1300/ns/mnt"] = "mnt:[1]"
	check(t, lookAt(t, m), "zfs:module", map[string]stack.Value{"implementation": stack.Text("zfs-fuse"), "arc_limit": stack.Int(64 << 20)})
}

// The texts are captured from zfs-fuse 0.7.0; the files of /zfs-kstat are
// three of the captured ones.
func TestLookReadsZFSFuse(t *testing.T) {
	m := hosttest.Map{
		Who: host.About{Taken: time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)},
		Files: map[string]string{
			"/proc/1/comm": "init\n", "/proc/8865/comm": "zfs-fuse\n", "/proc/8865/cmdline": "zfs-fuse\x00-n\x00",
			"/zfs-kstat/zfs/arcstats/size": "2034736\n", "/zfs-kstat/zfs/arcstats/c_max": "104857600\n", "/zfs-kstat/zfs/arcstats/l2_size": "671744\n",
		},
		Outputs: map[string]string{
			fuseListCommand: string(testdata(t, "fuse/list.txt")), "zpool status": string(testdata(t, "fuse/status.txt")),
			"zpool get all plumbzfs": string(testdata(t, "fuse/get.txt")), "zdb -C": string(testdata(t, "fuse/zdb.txt")),
			fuseGetCommand: string(testdata(t, "fuse/zfsget.txt")), fuseSnapsCommand: string(testdata(t, "fuse/snapshots.txt")),
		},
	}
	s := lookAt(t, m)
	check(t, s, "zfs:module", map[string]stack.Value{
		"implementation": stack.Text("zfs-fuse"), "version": {}, "arc_limit": stack.Int(100 << 20), "zfs_arc_max": {}, "zil_commits": {},
	})
	check(t, s, "pool:plumbzfs", map[string]stack.Value{
		"size": stack.Int(294 << 20), "capacity": stack.Float(3), "pool_version": stack.Int(23), "fragmentation": {}, "layout": stack.Text("mirror"),
		"ashift": stack.Int(12), "cache_paths": stack.List([]string{"/dev/loop0"}), "has_log": stack.Bool(true), "log_mirrored": stack.Bool(false),
		"failmode": stack.Text("wait"), "autotrim": {}, "txg_slow": {},
	})
	check(t, s, "dataset:plumbzfs/db/data", map[string]stack.Value{
		"recordsize": stack.Int(16384), "compression": stack.Text("gzip"), "primarycache": stack.Text("metadata"), "sync": {}, "direct": {},
		"snapshots": stack.Int(1), "snapshot_newest": stack.Text("one"), "logicalused": {},
	})
	unknown(t, s, "pool", "sandboxpool", "failmode")
	for range 20 { // three datasets have snapshots: a tape tells of them in the same order every time
		if again := lookAt(t, m); !reflect.DeepEqual(again.Gaps, s.Gaps) {
			t.Fatalf("gaps\n%v\nand then\n%v", s.Gaps, again.Gaps)
		}
	}
}

// testdata is what the commands printed; the parsers keep it.
func testdata(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("../../zfs/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
