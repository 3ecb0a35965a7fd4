package zfs

import (
	"strings"
	"testing"
)

// What is removed is named last, and no name that could be an option, a path
// or a snapshot passes for a dataset.
func TestNamesOfDatasets(t *testing.T) {
	for name, is := range map[string]bool{
		"tank": true, "tank/db": true, "tank/my-db_1.x:y": true,
		"": false, "/tank": false, "-r": false, "tank/": false, "tank@a": false, "tank#b": false, "tank/%recv": false, "tank db": false, "tank\tdb": false,
	} {
		if IsDataset(name) != is {
			t.Errorf("IsDataset(%q) is %v", name, !is)
		}
	}
	if IsPool("tank/db") || !IsPool("tank") || PoolOf("tank/db@x") != "tank" || PoolOf("tank@x") != "tank" {
		t.Error("pools are told wrongly")
	}
}

func TestCommands(t *testing.T) {
	fuse := Tools{Fuse: true}
	for want, argv := range map[string][]string{
		"zpool create -f -o cachefile=none -o ashift=12 -O atime=off -O sync=always -m none lab mirror a b": CreatePool(NewPool{
			Name: "lab", Pool: map[string]string{"ashift": "12"}, Root: map[string]string{"sync": "always", "atime": "off"}, Vdevs: []string{"mirror", "a", "b"}}),
		"zfs clone -o mountpoint=/lab t@a t/b":                      Clone("t@a", "t/b", "mountpoint=/lab"),
		"zfs create -o a=1 -o b=2 t/b":                              Create("t/b", "a=1", "b=2"),
		"zfs inherit -S sync t":                                     InheritReceived("sync", "t"),
		"zfs inherit sync t":                                        Inherit("sync", "t"),
		"zpool status lab":                                          fuse.Status("lab"),
		"zpool status -P lab":                                       Tools{}.Status("lab"),
		"zpool get all lab":                                         fuse.PoolProperties("lab"),
		"zpool get -Hp all lab":                                     Tools{}.PoolProperties("lab"),
		"zfs get -Hp -o name,property,value,source all":             fuse.Datasets(),
		"zfs get -H -r -o name,value,source org.plumb:run tank/lab": Marks("org.plumb:run", "tank/lab"),
		"zfs destroy -r tank/lab":                                   DestroyAll("tank/lab"),
		"zfs list -Hp -t snapshot -o name,creation,createtxg":       Tools{}.Snapshots(),
		"zpool import -d /lab/devices -o cachefile=none lab":        ImportPool("lab", "/lab/devices"),
		"zfs get -Hp -o value -s local recordsize tank":             LocalValue("recordsize", "tank"),
		"zfs get -H -o property,value all tank":                     ShownValues("tank"),
		"zfs get -Hp -o property,value all tank":                    Values("tank"),
		"zpool set autotrim=on tank":                                SetPool("autotrim", "on", "tank"),
		"zpool get -Hp -o value autotrim tank":                      PoolValue("autotrim", "tank"),
		"zpool status -P -j --json-int":                             StatusJSON(),
		"zfs list -H -r -o name tank":                               Below("tank"),
		"zpool list -H -o name":                                     Pools(),
		"zpool destroy -f lab":                                      DestroyPool("lab"),
		"zdb -C":                                                    CachedConfiguration(),
	} {
		if got := strings.Join(argv, " "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// A removal relies on these: what is not understood is an error.
func TestMarksAreReadWhole(t *testing.T) {
	got, err := ParseMarks([]byte("t/lab\trun1\tlocal\nt/lab/my db\t-\t-\n"))
	if err != nil || len(got) != 2 || got["t/lab"] != (Mark{"run1", "local"}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"t/lab\trun1\tlocal", "t/lab\trun1\tlocal\nt/lab/x\ta\tb\tlocal\n", "t/lab\trun1\tlocal\ncannot open\n"} {
		if got, err := ParseMarks([]byte(text)); err == nil {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}

func TestDevicesAreAllOrNone(t *testing.T) {
	const head = "  pool: lab\n state: ONLINE\nconfig:\n\n\tNAME  STATE READ WRITE CKSUM\n\tlab  ONLINE 0 0 0\n"
	const tail = "\nerrors: No known data errors\n"
	read := func(tree string) ([]string, error) { return ParseStatus([]byte(head + tree + tail))[0].Devices() }
	got, err := read("\t  mirror-0  ONLINE 0 0 0\n\t    /lab/a  ONLINE 0 0 0\n\t    replacing-1  ONLINE 0 0 0\n\t      /lab/b  ONLINE 0 0 0\n\t      loop3  ONLINE 0 0 0\n" +
		"\tlogs\t\n\t  /lab/log  ONLINE 0 0 0\n\tspares\n\t  /lab/spare  AVAIL\n")
	if want := "/lab/a /lab/b loop3 /lab/log /lab/spare"; err != nil || strings.Join(got, " ") != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	for _, tree := range []string{"", "\t  /lab/a  ONLINE 0 0 0\n\t        /deep/disk  ONLINE 0 0 0\n"} {
		if got, err := read(tree); err == nil {
			t.Errorf("%q gives %q", tree, got)
		}
	}
}
