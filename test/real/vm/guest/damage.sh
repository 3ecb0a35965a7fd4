# shellcheck shell=bash

# damage POOL DISK FILE writes a file to a pool of one disk without compression, and spoils blocks of it while the pool is exported.
# Only blocks of the file: of others chance could hit every copy. They are written through the partition that ZFS made: when a whole
# disk is closed after a write, udev has the kernel read its partitions anew. The partition and its link then go and come back, and an
# import meanwhile finds the pool and cannot open its disk.
damage() {
	mark="what no other file has"
	part=$2-part1
	yes "$mark" | head -c 32M >"$3"
	zpool export "$1"
	first=$(grep -abom 1 "$mark" "$part" | head -n 1 | cut -d: -f1)
	for at in 2 4 6 8 10; do
		sector=$((first / 512 + at * 2048))
		if dd if="$part" bs=512 skip="$sector" count=1 2>/dev/null | grep -aq "$mark"; then
			echo damage | dd of="$part" bs=512 seek="$sector" conv=notrunc,fsync 2>/dev/null
		fi
	done
	udevadm settle
	zpool import -d /dev/disk/by-id "$1"
}
