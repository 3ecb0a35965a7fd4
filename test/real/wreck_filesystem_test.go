package real

import (
	"os"
	"testing"

	"plumb/test/sandbox"
)

func filesystemWrecks() []wreck {
	return []wreck{
		{name: "btrfs_on_raid5_with_errors", quick: true, start: btrfsOnParity, fires: []string{
			"btrfs/parity-profile", "btrfs/device-errors", "cross/storage-doublewrite-off-btrfs"}},
		{name: "btrfs_without_copy_on_write", start: nodatacow, fires: []string{"cross/storage-doublewrite-off-nodatacow"}},
		{name: "data_on_ext3", quick: true, start: onExt3, fires: []string{"ext4/ext3"}},
		{name: "data_in_a_container_layer", quick: true, start: containerLayer, fires: []string{"cross/storage-data-in-container-layer"}},
	}
}

// btrfsOnParity has data on RAID5, some of whose blocks were written over on one disk.
func btrfsOnParity(t *testing.T, b *sandbox.Box) {
	var disks []string
	for _, name := range []string{"one", "two", "three"} {
		disk, err := b.Loop(name, 300)
		check(t, err)
		disks = append(disks, disk)
	}
	run(t, append([]string{"mkfs.btrfs", "-q", "-d", "raid5", "-m", "raid1"}, disks...)...)
	dir, err := b.Mount("vol", "btrfs", disks[0], "")
	check(t, err)
	mysqlOn(t, b, dir+"/data", "innodb_doublewrite=0\n")
	known := patterned(t, dir+"/ballast", 100)
	damageBelow(t, b.Dir+"/two.img", known)
	// Reading counts what does not match its checksum. A scrub passes over it now and then.
	run(t, "sh", "-c", `sync; echo 1 > /proc/sys/vm/drop_caches; cat "$1/ballast" > /dev/null`, "sh", dir)
}

// nodatacow has data where btrfs does not copy on write.
func nodatacow(t *testing.T, b *sandbox.Box) {
	dir, err := b.Filesystem("vol", "btrfs", 500, []string{"-q"}, "nodatacow")
	check(t, err)
	mysqlOn(t, b, dir+"/data", "innodb_doublewrite=0\n")
}

// onExt3 has data on a filesystem of the last century.
func onExt3(t *testing.T, b *sandbox.Box) {
	dir, err := b.Filesystem("vol", "ext3", 300, []string{"-q"}, "")
	check(t, err)
	mysqlOn(t, b, dir+"/data", "")
}

// containerLayer has data where a container keeps what no volume takes.
func containerLayer(t *testing.T, b *sandbox.Box) {
	base, err := b.Mount("base", "tmpfs", "none", "size=400m")
	check(t, err)
	for _, dir := range []string{"lower", "upper", "work"} {
		check(t, os.Mkdir(base+"/"+dir, 0o755))
	}
	dir, err := b.Mount("merged", "overlay", "overlay", "lowerdir="+base+"/lower,upperdir="+base+"/upper,workdir="+base+"/work")
	check(t, err)
	postgresOn(t, b, dir+"/data", "fsync = off\n")
}
