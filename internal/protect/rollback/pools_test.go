package rollback

import (
	"strings"
	"testing"

	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/internal/zfs"
)

// TestPoolsOnWhichASwapWouldFail: a pool below an alternate root, and reservations that are too much twice, are refused before the server
// is stopped.
func TestPoolsOnWhichASwapWouldFail(t *testing.T) {
	const as, free = "zpool get -Hp all tank", "zfs get -Hp -o value available tank"
	const fuse = "NAME PROPERTY VALUE SOURCE\ntank size 1G -\n"
	for name, test := range map[string]struct {
		fuse    bool
		outputs map[string]string
		reserve int64
		want    string // of the refusal
		note    string
	}{
		"plain":           {false, map[string]string{as: "tank\tsize\t1024\t-\ntank\taltroot\t-\tdefault\n"}, 0, "", ""},
		"altroot":         {false, map[string]string{as: "tank\taltroot\t/mnt\tlocal\n"}, 0, "the pool tank is imported under the directory /mnt (altroot)", ""},
		"fuse":            {true, map[string]string{"zpool get all tank": fuse + "tank altroot - default\n"}, 0, "", ""},
		"altroot of fuse": {true, map[string]string{"zpool get all tank": fuse + "tank altroot /mnt local\n"}, 0, "is imported under the directory /mnt", ""},
		"unseen":          {false, nil, 0, "look how the pool tank was imported", ""},
		"room for two":    {false, map[string]string{as: "tank\taltroot\t-\tdefault\n", free: "4096\n"}, 2048, "", "4K stay reserved for the old dataset as well, tank/db.before-1"},
		"room for one":    {false, map[string]string{as: "tank\taltroot\t-\tdefault\n", free: "4095\n"}, 2048, "4K are reserved for tank/db, and would be reserved again", ""},
		"room not told":   {false, map[string]string{as: "tank\taltroot\t-\tdefault\n", free: "-\n"}, 2048, `zfs gives "-"`, ""},
	} {
		c := &checking{h: hosttest.Map{Outputs: test.outputs}, plan: &Plan{}, tools: zfs.Tools{Fuse: test.fuse}}
		for _, of := range []string{"tank/db", "tank/db/log"} {
			c.plan.Volumes = append(c.plan.Volumes, Volume{Member: protect.Member{Volume: protect.Volume{Name: of, Pool: "tank"}}, Before: of + ".before-1", root: of == "tank/db", reserve: test.reserve})
		}
		err := c.pools(t.Context())
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
		if got := strings.Join(c.notes, "; "); got != test.note {
			t.Errorf("%s: noted %q", name, got)
		}
	}
}

// TestReservationsOfADataset: of what is reserved for a dataset and for all below it, the larger is what its clone reserves too.
func TestReservationsOfADataset(t *testing.T) {
	v := &Volume{Member: protect.Member{Volume: protect.Volume{Name: "tank/db", Mountpoint: "/srv"}}}
	const text = "tank/db\tguid\t7\t-\ntank/db\tmountpoint\t/srv\tlocal\ntank/db\tcanmount\ton\tdefault\ntank/db\treservation\t5000\tlocal\ntank/db\trefreservation\t4000\treceived\n"
	c := &checking{h: hosttest.Map{Outputs: map[string]string{strings.Join(zfs.Properties("tank/db"), " "): text}}}
	if err := c.properties(t.Context(), v); err != nil || v.reserve != 5000 || len(v.own) != 2 {
		t.Errorf("%v, %d, %q", err, v.reserve, v.own)
	}
}

// TestVolumesThatCannotBeSwapped: a part of a volume, a volume in two places, and two of one name on two filesystems.
func TestVolumesThatCannotBeSwapped(t *testing.T) {
	on := func(pool, mountpoint, within string) protect.Member {
		return protect.Member{Volume: protect.Volume{Storage: "btrfs", Name: "/data", Pool: pool, Mountpoint: mountpoint, Within: within}}
	}
	for want, members := range map[string][]protect.Member{
		"":                                    {on("a", "/srv/db", "")},
		"mounted in parts or more than once":  {on("a", "/srv/db", "pg")},
		"mounted in parts or more than once ": {on("a", "/srv/db", ""), on("a", "/srv/log", "")},
		"on two filesystems, are both called": {on("a", "/srv/db", ""), on("b", "/srv/log", "")},
	} {
		c := &checking{plan: &Plan{Point: protect.Point{Members: members}}}
		for _, m := range members {
			c.now.Set.Volumes = append(c.now.Set.Volumes, m.Volume)
		}
		if err := c.same(t.Context()); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%+v: %v", members, err)
		}
	}
}
