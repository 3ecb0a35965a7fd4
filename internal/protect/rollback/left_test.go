package rollback

import (
	"slices"
	"strings"
	"testing"

	"plumb/internal/btrfs"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/internal/zfs"
)

// Rights and bookmarks of a dataset are in no clone of it: a plan says so, and also when it could not look.
func TestWhatACloneLacks(t *testing.T) {
	const allow, bookmarks = "zfs allow tank/db", "zfs list -H -d 1 -t bookmark -o name tank/db"
	for name, test := range map[string]struct {
		outputs map[string]string
		want    []string
	}{
		"nothing": {map[string]string{allow: "---- Permissions on tank ----\n", bookmarks: ""}, nil},
		"both":    {map[string]string{allow: "---- Permissions on tank/db ----\n", bookmarks: "tank/db#a\ntank/db#b\n"}, []string{"rights that zfs allow gives on tank/db itself", "2 bookmarks of tank/db will stay"}},
		"unseen":  {nil, []string{"whether zfs allow gives rights on tank/db cannot be seen", "whether tank/db has bookmarks cannot be seen"}},
	} {
		c := &checking{h: hosttest.Map{Outputs: test.outputs}}
		c.left(t.Context(), "tank/db")
		if !slices.EqualFunc(c.notes, test.want, strings.HasPrefix) {
			t.Errorf("%s: noted %q", name, c.notes)
		}
	}
}

// Who may set properties of his own could have root share a dataset's clone, by a line break in one.
func TestPropertiesToldTwice(t *testing.T) {
	const native = "tank/db\tguid\t7\t-\ntank/db\tmountpoint\t/srv\tlocal\ntank/db\tcanmount\ton\tdefault\ntank/db\tsharenfs\toff\tdefault\n"
	for text, ok := range map[string]bool{
		native + "tank/db\tx:y\ta\tlocal\n": true,
		native + "tank/db\tx:y\ta\tlocal\ntank/db\tsharenfs\trw\tlocal\ntank/db\tx:z\tb\tlocal\n": false,
		native + "tank/db\tx:y\ta\tlocal\ntank/other\tsharesmb\ton\tlocal\n":                      false,
		native + "tank/db\tx:y\ta\nb\tlocal\n":                                                    false,
	} {
		v := &Volume{Member: protect.Member{Volume: protect.Volume{Name: "tank/db", Mountpoint: "/srv"}}}
		c := &checking{h: hosttest.Map{Outputs: map[string]string{strings.Join(zfs.Properties("tank/db"), " "): text}}}
		err := c.properties(t.Context(), v)
		if (err == nil) != ok || err != nil && len(v.own) > 1 {
			t.Errorf("%q: %v, %q", text, err, v.own)
		}
	}
}

// What a dataset was only mounted with, such as nosuid, is not said of it, and its clone is mounted without: a plan says so.
func TestMountedWithMore(t *testing.T) {
	v := &Volume{Member: protect.Member{Volume: protect.Volume{Name: "tank/db", Mountpoint: "/srv"}}}
	const text = "tank/db\tguid\t7\t-\ntank/db\tmountpoint\t/srv\tlocal\ntank/db\tcanmount\ton\tdefault\ntank/db\tsetuid\toff\ttemporary\n"
	c := &checking{h: hosttest.Map{Outputs: map[string]string{strings.Join(zfs.Properties("tank/db"), " "): text}}}
	if err := c.properties(t.Context(), v); err != nil || len(v.own) != 0 || len(c.notes) != 1 || !strings.Contains(c.notes[0], "setuid=off of tank/db is set for its mount alone") {
		t.Errorf("%v, %q, noted %q", err, v.own, c.notes)
	}
}

// A subvolume below the one that is swapped is in none of its snapshots: it would be gone from its place without a word.
func TestSubvolumesBelow(t *testing.T) {
	all := []btrfs.Subvolume{{Path: "db"}, {Path: "db2"}, {Path: "db/export/old"}, {Path: ".plumb-points/p.db"}}
	if err := alone("/db", all); err == nil || !strings.Contains(err.Error(), "the subvolume /db/export/old is below it") {
		t.Errorf("with another below it: %v", err)
	}
	if err := alone("/db2", all); err != nil {
		t.Errorf("with none: %v", err)
	}
}
