package zfs

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Captured from zfs-fuse 0.7.0 with two pools.
func TestParseStatusOfZFSFuse(t *testing.T) {
	all := ParseStatus(testdata(t, "fuse/status.txt"))
	if len(all) != 2 {
		t.Fatalf("%d pools, want 2", len(all))
	}
	want := Status{
		Pool: "plumbzfs", State: "ONLINE", ScanRead: true, Scans: []Scan{{What: "scrub", State: scanDone, End: 1795227101}}, DataErrors: 0,
		Root: &Vdev{Name: "plumbzfs", State: "ONLINE"},
		Classes: map[string][]*Vdev{
			ClassData: {{Name: "mirror-0", State: "ONLINE", Children: []*Vdev{
				{Name: "/tmp/zfs/vdevs/a.img", State: "ONLINE"}, {Name: "/tmp/zfs/vdevs/b.img", State: "ONLINE"},
			}}},
			ClassLogs:  {{Name: "/tmp/zfs/vdevs/log1.img", State: "ONLINE"}},
			ClassCache: {{Name: "loop0", State: "ONLINE"}},
		},
	}
	if diff := cmp.Diff(want, all[1]); diff != "" {
		t.Error(diff)
	}
	if all[0].ScanWord() != "none" || !all[0].ScanRead || Layout(all[0].Classes[ClassData]) != "single" {
		t.Errorf("first pool: %+v", all[0])
	}
}

// Captured from OpenZFS 2.1.11: a pool that was never scrubbed has no line
// about a scan. One that is not understood is something else.
func TestParseStatusOfNoScan(t *testing.T) {
	text := testdata(t, "openzfs-2.1/status.txt")
	all := ParseStatus(text)
	if len(all) != 1 || !all[0].ScanRead || len(all[0].Scans) != 0 || all[0].DataErrors != 0 {
		t.Errorf("read %+v", all)
	}
	if len(all) == 1 && (len(all[0].Classes[ClassLogs]) != 1 || len(all[0].Classes[ClassCache]) != 1) {
		t.Errorf("classes %v", all[0].Classes)
	}
	strange := bytes.Replace(text, []byte("config:"), []byte("  scan: news of a later version\nconfig:"), 1)
	if all := ParseStatus(strange); len(all) != 1 || all[0].ScanRead {
		t.Errorf("read %+v", all)
	}
	if all := ParseStatus(text[:bytes.Index(text, []byte("config:"))]); len(all) != 1 || all[0].ScanRead {
		t.Errorf("of text that was cut, read %+v", all)
	}
}

// Both texts are typed from the format that zpool-status(8) of OpenZFS 2.1
// and 2.3 documents and cmd/zpool prints; they are not captured.
func TestStatusSaysTheSameInBothForms(t *testing.T) {
	text := ParseStatus(testdata(t, "typed/status-2.1.txt"))
	json, err := ParseStatusJSON(testdata(t, "typed/status-2.3.json"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, json); diff != "" {
		t.Error(diff)
	}
	tank := text[0]
	data := tank.Classes[ClassData]
	if Layout(data) != "mirror" || !AllRedundant(data) {
		t.Errorf("layout %q, redundant %v: want a redundant mirror", Layout(data), AllRedundant(data))
	}
	if AllRedundant(tank.Classes[ClassSpecial]) || !AllRedundant(tank.Classes[ClassLogs]) {
		t.Error("want a single special vdev and mirrored logs")
	}
	if got := len(Paths(data)); got != 5 {
		t.Errorf("%d data devices, want 5", got)
	}
	if wide := text[1]; Layout(wide.Classes[ClassData]) != "raidz2" || wide.ScanWord() != "scrubbing" {
		t.Errorf("wide: layout %q, scan %q", Layout(wide.Classes[ClassData]), wide.ScanWord())
	}
}

func TestLayoutNamesMixedPools(t *testing.T) {
	mirror := &Vdev{Name: "mirror-0", Children: []*Vdev{{Name: "/dev/a"}, {Name: "/dev/b"}}}
	disk := &Vdev{Name: "/dev/c"}
	for want, tops := range map[string][]*Vdev{
		"mixed":  {mirror, disk},
		"mirror": {mirror, {Name: "indirect-1"}},
		"stripe": {disk, {Name: "mirrordisk"}},
		"raidz1": {{Name: "raidz1-0", Children: []*Vdev{disk}}},
		"draid":  {{Name: "draid2:4d:8c:1s-0", Children: []*Vdev{disk}}},
		"":       nil,
	} {
		if got := Layout(tops); got != want {
			t.Errorf("layout = %q, want %q", got, want)
		}
	}
}

func TestParseSize(t *testing.T) {
	for in, want := range map[string]int64{"0": 0, "1536": 1536, "1.5K": 1536, "294M": 294 << 20, "7.5T": 15 << 39, "0B": 0, "12B": 12} {
		if got, ok := ParseSize(in); !ok || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", in, got, ok, want)
		}
	}
	for _, in := range []string{"", "-", "B", "K", "1.2.3K", "-5K", "99999E", "x"} {
		if got, ok := ParseSize(in); ok {
			t.Errorf("ParseSize(%q) = %d, want none", in, got)
		}
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add(testdata(f, "fuse/status.txt"))
	f.Add(testdata(f, "typed/status-2.1.txt"))
	f.Add(testdata(f, "openzfs-2.1/status.txt"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, st := range ParseStatus(b) {
			if devices, err := st.Devices(); err == nil && (len(devices) == 0 || slices.Contains(devices, "")) {
				t.Errorf("the devices are %q", devices)
			}
			for _, tops := range st.Classes {
				Layout(tops)
				Paths(tops)
			}
		}
	})
}

func FuzzParseStatusJSON(f *testing.F) {
	f.Add(testdata(f, "typed/status-2.3.json"))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, _ := ParseStatusJSON(b)
		for _, st := range all {
			Layout(st.Classes[ClassData])
			Paths(st.Classes[ClassData])
		}
	})
}
