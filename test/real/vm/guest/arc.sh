# shellcheck shell=bash
# What the ARC keeps of metadata for files in records of 128K and of 16K. Lines
# for the test are words and, last, a number of bytes.
set -e
readings=1500
usual=$(cat /sys/module/zfs/parameters/dbuf_cache_max_bytes)
zpool create -o ashift=12 -O atime=off -O compression=off tank /dev/disk/by-id/virtio-data
# make NAME RECORD MEGABYTES: data that does not repeat, so that checksums do not either.
make() {
	zfs create -o recordsize="$2" "tank/$1"
	dd if=/dev/urandom of="/tank/$1/file" bs=1M count="$3" iflag=fullblock 2>/dev/null
	zpool sync tank
}
# update NAME: as a server leaves a file in the end, each record written at a time and place of its own.
update() {
	perl -e 'srand 2; open F, "+<", $ARGV[0] or die; open R, "<", "/dev/urandom" or die; $n = (-s F) / 16384;
		for (1..$n) { sysread R, $b, 16384; sysseek F, 16384 * int rand $n, 0; syswrite F, $b or die; $_ % 2048 or system "zpool", "sync", "tank" }' "/tank/$1/file"
	zpool sync tank
}
# on_disk NAME: the blocks of pointers of the pool's one file, unpacked and packed.
on_disk() {
	zdb -bbbLP tank 2>/dev/null >"/out/zdb.$1" || true
	awk -v who="$1 disk" '/L[1-9] ZFS plain file/ { lsize += $2; psize += $3 } END { print who, "lsize", lsize; print who, "psize", psize }' "/out/zdb.$1"
}
# stats NAME WHEN
stats() {
	awk -v who="$1 $2" '$1 ~ /^((data|metadata|hdr|dbuf|dnode|bonus|overhead)_size|arc_meta_used|c)$/ { print who, $1, $3 }' /proc/spl/kstat/zfs/arcstats
	awk -v who="$1 $2" '$1 ~ /^cache_(count|size_bytes)$/ { print who, "dbuf_" $1, $3 }' /proc/spl/kstat/zfs/dbufstats
}
# idle NAME WHEN: the same when the cache of buffers just used is empty. It keeps pointers unpacked,
# beside the packed ones.
idle() {
	local most=/sys/module/zfs/parameters/dbuf_cache_max_bytes
	echo 1 >"$most"
	for _ in $(seq 60); do
		sleep 1
		[ "$(awk '$1 == "cache_count" { print $3 }' /proc/spl/kstat/zfs/dbufstats)" -gt 0 ] || break
	done
	stats "$1" "$2"
	echo "$usual" >"$most"
}
# read_cold FILE NAME [MOST]: 8 KiB at random places after an import, with MOST bytes of buffers just used.
read_cold() {
	zpool export tank
	zpool import -d /dev/disk/by-id tank
	stat "/tank/$1/file" >/dev/null
	idle "$2" before
	[ -z "${3-}" ] || echo "$3" >/sys/module/zfs/parameters/dbuf_cache_max_bytes
	perl -e 'srand 1; open F, "<", $ARGV[0] or die; $n = (-s F) / 8192; for (1..$ARGV[1]) { sysseek F, 8192 * int rand $n, 0; sysread F, $b, 8192 or die }' "/tank/$1/file" "$readings"
	stats "$2" used
	idle "$2" idle
}

cat /sys/module/zfs/version
make r128 128K 512
on_disk r128
read_cold r128 r128
zfs destroy tank/r128
zpool sync tank
make r16 16K 160
on_disk r16
read_cold r16 r16
update r16
on_disk updated
read_cold r16 updated
# Of four records.
read_cold r16 few 65536
zpool export tank
