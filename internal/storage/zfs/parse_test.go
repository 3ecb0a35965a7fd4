package zfs

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plumb/internal/stack"
	"plumb/internal/zfs"
)

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
	f.Add([]byte("options zfs zfs_arc_max=1 \\\n a=b"))
	f.Add([]byte("txg birth state stime\n1 2 C 4\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		zfs.ParseKstat(b)
		syncTimes(b)
		parseModprobe(b)
		parseBootOptions(b)
		parameterValue(string(b))
	})
}

// The largest unsigned long, as OpenZFS 2.3.9 printed it, is a number like the
// others.
func TestParameterWithoutLimitIsANumber(t *testing.T) {
	if v := parameterValue("18446744073709551615"); !v.Equal(stack.Int(math.MaxInt64)) {
		t.Errorf("it is %v", v)
	}
}
