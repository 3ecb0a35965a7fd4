package point

import (
	"math"
	"strings"
	"testing"

	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

// TestRoomOfThinPools: of a pool that is nearly full of data or of metadata, that takes no writes, or of which nothing is known, no point is taken.
func TestRoomOfThinPools(t *testing.T) {
	const name = "vg--a-thin-tpool"
	for what, test := range map[string]struct {
		name, mode     string
		data, metadata float64 // -1: not known
		want           string
	}{
		"room":                 {name, "rw", 80, 80, ""},
		"data":                 {name, "rw", 90.1, 10, "less than a tenth of the data of the thin pool vg-a/thin is free"},
		"metadata":             {name, "rw", 10, 99, "less than a tenth of the metadata of the thin pool vg-a/thin is free"},
		"no writes":            {name, "ro", 10, 10, "accepts no writes: its mode is ro"},
		"failed":               {name, "fail", -1, -1, "accepts no writes: its mode is fail"},
		"not known":            {name, "", -1, -1, "it is not known how full the thin pool vg-a/thin is"},
		"metadata not known":   {name, "rw", 10, -1, "is not known"},
		"another pool's alone": {"vg--a-other", "rw", 10, 10, "is not known"},
	} {
		b := stack.NewThing("block", "dm-4")
		b.Set("dm_name", stack.Text(test.name), "test")
		for fact, n := range map[string]float64{"thin_data_used": test.data, "thin_metadata_used": test.metadata} {
			if n >= 0 {
				b.Set(fact, stack.Float(n), "test")
			}
		}
		if test.mode != "" {
			b.Set("thin_mode", stack.Text(test.mode), "test")
		}
		s := &stack.Stack{}
		s.Add("test", stack.Observation{Things: []*stack.Thing{b}})
		err := LVM{}.Room(s, []protect.Volume{{Name: "vg-a/db", Pool: "vg-a/thin"}})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestRoomOfFilesystems: what is not known to be free is not taken for room.
func TestRoomOfFilesystems(t *testing.T) {
	for what, test := range map[string]struct {
		at         string
		size, free int64 // -1: not known
		want       string
	}{
		"room":       {"/srv", 1000, 100, ""},
		"full":       {"/srv", 1000, 99, "less than a tenth"},
		"not known":  {"/srv", 1000, -1, "it is not known how full the filesystem at /srv is"},
		"not seen":   {"/other", 1000, 900, "it is not known how full the filesystem at /srv/db is"},
		"of nothing": {"/srv", 0, 0, "is not known"},
	} {
		f := stack.NewThing("filesystem", test.at)
		f.Set("mountpoint", stack.Text(test.at), "test")
		for fact, n := range map[string]int64{"size": test.size, "free": test.free} {
			if n >= 0 {
				f.Set(fact, stack.Int(n), "test")
			}
		}
		s := &stack.Stack{}
		s.Add("test", stack.Observation{Things: []*stack.Thing{f}})
		err := Btrfs{}.Room(s, []protect.Volume{{Name: "/db", Mountpoint: "/srv/db"}})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestWhatCopiesShare: a copy's room is the scarcest of what its storage has: of a pool and of a quota, of data and of metadata.
func TestWhatCopiesShare(t *testing.T) {
	const values, thin = "zfs get -Hp -o property,value all ", "dmsetup status --noflush --target thin-pool"
	zvalues := func(available, used string) string { return "available\t" + available + "\nused\t" + used + "\n" }
	onZFS := protect.Member{Volume: protect.Volume{Name: "tank/a/db"}}
	onLVM := protect.Member{Volume: protect.Volume{Name: "vg-a/db", Pool: "vg-a/thin"}}
	for name, test := range map[string]struct {
		of      protect.Sharer
		member  protect.Member
		outputs map[string]string
		want    float64 // -1: an error
	}{
		"pool":              {ZFS{}, onZFS, map[string]string{values + "tank": zvalues("1", "99"), values + "tank/a": zvalues("1", "9")}, 0.01},
		"quota":             {Zvol{}, onZFS, map[string]string{values + "tank": zvalues("50", "50"), values + "tank/a": zvalues("0", "9")}, 0},
		"the pool's own":    {ZFS{}, protect.Member{Volume: protect.Volume{Name: "tank"}}, map[string]string{values + "tank": zvalues("20", "80")}, 0.2},
		"not told":          {ZFS{}, onZFS, map[string]string{values + "tank": zvalues("-", "99"), values + "tank/a": zvalues("1", "9")}, -1},
		"metadata":          {LVM{}, onLVM, map[string]string{thin: "vg--a-thin-tpool: 0 204800 thin-pool 1 1014/1024 800/1600 - rw discard_passdown queue_if_no_space - 1024\n"}, 10.0 / 1024},
		"data":              {LVM{}, onLVM, map[string]string{thin: "vg--a-thin: 0 204800 thin-pool 1 10/1024 1584/1600 - rw discard_passdown queue_if_no_space - 1024\n"}, 0.01},
		"another thin pool": {LVM{}, onLVM, map[string]string{thin: "vg--a-other-tpool: 0 204800 thin-pool 1 10/1024 8/1600 - rw discard_passdown queue_if_no_space - 1024\n"}, -1},
		"failed":            {LVM{}, onLVM, map[string]string{thin: "vg--a-thin-tpool: 0 204800 thin-pool Fail\n"}, -1},
		"without dmsetup":   {LVM{}, onLVM, nil, -1},
	} {
		got, err := test.of.Free(t.Context(), hosttest.Map{Outputs: test.outputs}, test.member)
		if (err != nil) != (test.want < 0) || err == nil && math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
