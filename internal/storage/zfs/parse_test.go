package zfs

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"plumb/internal/stack"
)

func TestVersionNumber(t *testing.T) {
	for in, want := range map[string]string{
		"2.1.11-1": "2.1.11", "2.3.9-1~bpo13+1": "2.3.9", "0.8.3-1ubuntu12.18": "0.8.3",
		"2.3.0-rc4": "2.3.0", "v2.4.4": "2.4.4", "2.2.2-0ubuntu9.4\n": "2.2.2", "rootless": "", "": "",
	} {
		if got := versionNumber(in); got != want {
			t.Errorf("versionNumber(%q) = %q, want %q", in, got, want)
		}
	}
}

// Typed from zfs-version(8).
func TestParseVersionTakesTheCommandsNotTheModule(t *testing.T) {
	if got := parseVersion([]byte("zfs-2.1.11-1\nzfs-kmod-2.0.3-9\n")); got != "2.1.11" {
		t.Errorf("got %q", got)
	}
	if got := parseVersion([]byte("zfs-kmod-2.0.3-9\n")); got != "" {
		t.Errorf("got %q, want none", got)
	}
	if !atLeast("2.3.4", 2, 3) || atLeast("2.2.9", 2, 3) || !atLeast("3.0", 2, 3) || atLeast("", 2, 3) {
		t.Error("atLeast is wrong")
	}
}

// The first lines are typed from the format of arcstats in OpenZFS.
func TestParseKstat(t *testing.T) {
	text := `9 1 0x01 147 39984 4246293318 1085420132143
name                            type data
hits                            4    1031290
c_max                           4    8298217472
arc_no_grow                     4    0
garbage
too many words here
`
	want := map[string]int64{"hits": 1031290, "c_max": 8298217472, "arc_no_grow": 0}
	if diff := cmp.Diff(want, parseKstat([]byte(text))); diff != "" {
		t.Error(diff)
	}
}

// Typed from the format of the txgs kstat in OpenZFS.
func TestSyncTimes(t *testing.T) {
	text := `2 0 0x01 100 11200 1190041310 101350912345
txg      birth            state ndirty       nread        nwritten     reads    writes   otime        qtime        wtime        stime
1204     101341234567     C     65536        0            131072       0        12       5119943291   8113         41012        9012345
1205     101346354510     C     65536        0            131072       0        12       5119943291   8113         41012        6000000000
1206     101351474453     S     0            0            0            0        0        5119943291   8113         0            0
1207     101356594396     O     0            0            0            0        0        0            0            0            0
`
	if diff := cmp.Diff([]int64{9012, 6000000}, syncTimes([]byte(text))); diff != "" {
		t.Error(diff)
	}
}

func TestParseModprobe(t *testing.T) {
	text := `# ARC
options zfs zfs_arc_max=8589934592 zfs_txg_timeout=5 # spare
options spl spl_kmem=1
options zfs \
   zfs_arc_min=0x10000000 \
   zil_slog_bulk="1"
blacklist zfs
`
	want := []option{
		{"zfs_arc_max", "8589934592", 2}, {"zfs_txg_timeout", "5", 2},
		{"zfs_arc_min", "0x10000000", 4}, {"zil_slog_bulk", "1", 4},
	}
	if diff := cmp.Diff(want, parseModprobe([]byte(text)), cmp.AllowUnexported(option{})); diff != "" {
		t.Error(diff)
	}
}

func TestParseBootOptions(t *testing.T) {
	got := parseBootOptions([]byte("root=/dev/sda1 zfs.zfs_arc_max=1024 zfs=tank quiet\n"))
	if diff := cmp.Diff(map[string]string{"zfs_arc_max": "1024"}, got); diff != "" {
		t.Error(diff)
	}
}

// Captured from zfs-fuse 0.7.0.
func TestParseAshift(t *testing.T) {
	got := parseAshift(testdata(t, "fuse/zdb.txt"))
	if diff := cmp.Diff(map[string]int64{"plumbzfs": 12, "sandboxpool": 12}, got); diff != "" {
		t.Error(diff)
	}
	mixed := "a:\n    children[0]:\n        ashift: 12\n    children[1]:\n        ashift: 9\n        is_log: 1\n    children[2]:\n        ashift: 13\nb:\n    ashift: 9\n"
	if diff := cmp.Diff(map[string]int64{"a": 12, "b": 9}, parseAshift([]byte(mixed))); diff != "" {
		t.Error(diff)
	}
}

// Captured from zfs-fuse 0.7.0.
func TestParsePropertiesOfZFSFuse(t *testing.T) {
	all := parseProperties(testdata(t, "fuse/zfsget.txt"))
	want := property{"plumbzfs/db/data", "logbias", "throughput", "inherited from plumbzfs/db"}
	if !cmp.Equal(all, []property{want}, cmp.AllowUnexported(property{}), cmpopts.IgnoreSliceElements(func(p property) bool {
		return p.of != want.of || p.name != want.name
	})) {
		t.Errorf("no %+v among %d properties", want, len(all))
	}
	pool := parseAligned(testdata(t, "fuse/get.txt"))
	if len(pool) != 18 || pool[0] != (property{"plumbzfs", "size", "294M", "-"}) {
		t.Errorf("zpool get: %d properties, first %+v", len(pool), pool[0])
	}
	if got := parseProperties([]byte("a\tused\t1\t-\na\tquo")); len(got) != 1 {
		t.Errorf("a line cut in the middle was read: %+v", got)
	}
}

func TestOrigin(t *testing.T) {
	for in, want := range map[string]stack.Origin{
		"local": {From: stack.FromLocal}, "default": {From: stack.FromDefault}, "received": {From: stack.FromReceived},
		"inherited from tank/db": {From: stack.FromInherited, Of: "tank/db"}, "-": {From: stack.FromComputed},
		"temporary": {From: stack.FromRuntime},
	} {
		if got := origin(in); got != want {
			t.Errorf("origin(%q) = %+v, want %+v", in, got, want)
		}
	}
}

func TestParseSnapshots(t *testing.T) {
	got := parseSnapshots([]byte("a@x\t100\t7\na@y\t200\t9\na@w\t150\t8\nb\t1\t1\nb@one\t100\t7\n"))
	want := map[string]snapshots{"a": {3, "y", 200, 9}, "b": {1, "one", 100, 7}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(snapshots{})); diff != "" {
		t.Error(diff)
	}
	fuse := parseSnapshots(testdata(t, "fuse/snapshots.txt")) // captured from zfs-fuse 0.7.0
	if diff := cmp.Diff(snapshots{n: 1, newest: "one"}, fuse["plumbzfs/db/data"], cmp.AllowUnexported(snapshots{})); diff != "" {
		t.Error(diff)
	}
}

func TestMaxARC(t *testing.T) {
	for want, args := range map[int64][]string{
		512 << 20: {"zfs-fuse", "-n", "-m", "512"}, 16 << 20: {"zfs-fuse", "-m16"},
		64 << 20: {"zfs-fuse", "--max-arc-size=64"}, 128 << 20: {"zfs-fuse", "--max-arc-size", "128"},
	} {
		if got, ok := maxARC(args); !ok || got != want {
			t.Errorf("maxARC(%q) = %d, want %d", args, got, want)
		}
	}
	if _, ok := maxARC([]string{"zfs-fuse", "-n", "-m"}); ok {
		t.Error("a limit was found where none is")
	}
}

func FuzzParsers(f *testing.F) {
	for _, name := range []string{"fuse/zfsget.txt", "fuse/get.txt", "fuse/zdb.txt", "fuse/list.txt", "fuse/snapshots.txt"} {
		f.Add(testdata(f, name))
	}
	f.Add([]byte("options zfs zfs_arc_max=1 \\\n a=b"))
	f.Add([]byte("txg birth state stime\n1 2 C 4\n"))
	f.Add([]byte("zfs-2.3.4-1\nzfs-kmod-2.3.4-1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		parseProperties(b)
		parseAligned(b)
		parseRows(b, 8)
		parseAshift(b)
		parseKstat(b)
		syncTimes(b)
		parseModprobe(b)
		parseBootOptions(b)
		parseVersion(b)
		parseSnapshots(b)
		parameterValue(string(b))
		parseSize(string(b))
	})
}

// The largest unsigned long, as OpenZFS 2.3.9 printed it, is a number like the
// others.
func TestParameterWithoutLimitIsANumber(t *testing.T) {
	if v := parameterValue("18446744073709551615"); !v.Equal(stack.Int(math.MaxInt64)) {
		t.Errorf("it is %v", v)
	}
}
