package rollback

import (
	"regexp"
	"testing"

	"plumb/internal/protect"
)

// TestShownInTheMountTable: a dataset and a subvolume are found in the kernel's table under a name with a blank, too.
func TestShownInTheMountTable(t *testing.T) {
	const table = `36 25 0:32 / /srv/my\040db rw,noatime shared:1 - zfs tank/my\040db rw,xattr` + "\n" +
		`37 25 0:33 /my\040db /srv/sub rw shared:2 - btrfs /dev/sdb rw,subvol=/my\040db` + "\n"
	for _, v := range []Volume{
		{Member: protect.Member{Volume: protect.Volume{Name: "tank/my db", Mountpoint: "/srv/my db"}}},
		{Member: protect.Member{Volume: protect.Volume{Name: "/my db", Mountpoint: "/srv/sub"}}, top: "/mnt/top"},
	} {
		found := regexp.MustCompile("(?m)" + v.mounted().Match).FindStringSubmatch(table)
		if found == nil || found[1] != v.shown() {
			t.Errorf("%s: the table has %q, and %q is expected", v.Name, found, v.shown())
		}
	}
}
