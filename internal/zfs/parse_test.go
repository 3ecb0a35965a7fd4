package zfs

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestVersionNumber(t *testing.T) {
	for in, want := range map[string]string{
		"2.1.11-1": "2.1.11", "2.3.9-1~bpo13+1": "2.3.9", "0.8.3-1ubuntu12.18": "0.8.3",
		"2.3.0-rc4": "2.3.0", "v2.4.4": "2.4.4", "2.2.2-0ubuntu9.4\n": "2.2.2", "rootless": "", "": "",
	} {
		if got := VersionNumber(in); got != want {
			t.Errorf("VersionNumber(%q) = %q, want %q", in, got, want)
		}
	}
}

// Typed from zfs-version(8).
func TestParseVersionTakesTheCommandsNotTheModule(t *testing.T) {
	if got := ParseVersion([]byte("zfs-2.1.11-1\nzfs-kmod-2.0.3-9\n")); got != "2.1.11" {
		t.Errorf("got %q", got)
	}
	if got := ParseVersion([]byte("zfs-kmod-2.0.3-9\n")); got != "" {
		t.Errorf("got %q, want none", got)
	}
	if !AtLeast("2.3.4", 2, 3) || AtLeast("2.2.9", 2, 3) || !AtLeast("3.0", 2, 3) || AtLeast("", 2, 3) {
		t.Error("AtLeast is wrong")
	}
}

// Captured from zfs-fuse 0.7.0.
func TestParseAshift(t *testing.T) {
	got := ParseAshift(testdata(t, "fuse/zdb.txt"))
	if diff := cmp.Diff(map[string]int64{"plumbzfs": 12, "sandboxpool": 12}, got); diff != "" {
		t.Error(diff)
	}
	mixed := "a:\n    children[0]:\n        ashift: 12\n    children[1]:\n        ashift: 9\n        is_log: 1\n    children[2]:\n        ashift: 13\nb:\n    ashift: 9\n"
	if diff := cmp.Diff(map[string]int64{"a": 12, "b": 9}, ParseAshift([]byte(mixed))); diff != "" {
		t.Error(diff)
	}
}

// Captured from zfs-fuse 0.7.0.
func TestParsePropertiesOfZFSFuse(t *testing.T) {
	all := ParseProperties(testdata(t, "fuse/zfsget.txt"))
	want := Property{"plumbzfs/db/data", "logbias", "throughput", "inherited from plumbzfs/db"}
	if !cmp.Equal(all, []Property{want}, cmpopts.IgnoreSliceElements(func(p Property) bool {
		return p.Of != want.Of || p.Name != want.Name
	})) {
		t.Errorf("no %+v among %d properties", want, len(all))
	}
	of := slices.DeleteFunc(slices.Clone(all), func(p Property) bool { return p.Of != want.Of })
	if got := strings.Join(Unsent(of), " "); got != "recordsize=16384 compression=gzip atime=off primarycache=metadata logbias=throughput" {
		t.Errorf("no stream has %s", got)
	}
	pool := parseAligned(testdata(t, "fuse/get.txt"))
	if len(pool) != 18 || pool[0] != (Property{"plumbzfs", "size", "294M", "-"}) {
		t.Errorf("zpool get: %d properties, first %+v", len(pool), pool[0])
	}
	if got := ParseProperties([]byte("a\tused\t1\t-\na\tquo")); len(got) != 1 {
		t.Errorf("a line cut in the middle was read: %+v", got)
	}
}

func TestParseSnapshots(t *testing.T) {
	got := ParseSnapshots([]byte("a@x\t100\t7\na@y\t200\t9\na@w\t150\t8\nb\t1\t1\nb@one\t100\t7\n"))
	want := map[string]Snapshots{"a": {3, "y", 200, 9, 100}, "b": {1, "one", 100, 7, 100}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	fuse := ParseSnapshots(testdata(t, "fuse/snapshots.txt")) // captured from zfs-fuse 0.7.0
	if diff := cmp.Diff(Snapshots{Count: 1, Newest: "one"}, fuse["plumbzfs/db/data"]); diff != "" {
		t.Error(diff)
	}
}

// What is no name makes no thing.
func TestNamesInRows(t *testing.T) {
	for _, first := range []string{"", "/", "\x01", "a\xff", "/tank"} {
		if rows := ParseRows([]byte(first+"\tx\n"), 2); len(rows) > 0 {
			t.Errorf("%q is a name: %q", first, rows)
		}
		if all := ParseProperties([]byte(first + "\tsync\tstandard\tlocal\n")); len(all) > 0 {
			t.Errorf("%q is a name: %+v", first, all)
		}
	}
	if rows := ParseRows([]byte("tank/my db\tx\n"), 2); len(rows) != 1 {
		t.Error("a name with a blank is one")
	}
}

func FuzzParsers(f *testing.F) {
	for _, name := range []string{"fuse/zfsget.txt", "fuse/get.txt", "fuse/zdb.txt", "fuse/list.txt", "fuse/snapshots.txt"} {
		f.Add(testdata(f, name))
	}
	f.Add([]byte("zfs-2.3.4-1\nzfs-kmod-2.3.4-1\n"))
	f.Add([]byte("pool/lab\trun1\tlocal\npool/lab/golden@lab\t-\t-\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		ParseProperties(b)
		parseAligned(b)
		ParseRows(b, 8)
		ParseValues(b)
		ParseAshift(b)
		ParseVersion(b)
		ParseEstimate(b)
		ParseSnapshots(b)
		ParseSize(string(b))
		marks, err := ParseMarks(b)
		if err == nil && len(marks) > strings.Count(string(b), "\n") {
			t.Errorf("more names than lines: %v", marks)
		}
		for _, name := range append(Names(b), slices.Collect(maps.Keys(marks))...) {
			if !isName(name) {
				t.Errorf("%q is no name", name)
			}
		}
	})
}
