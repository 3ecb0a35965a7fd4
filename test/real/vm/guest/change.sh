# shellcheck shell=bash
# Changes of a real OpenZFS and their way back; a scrub that finds what was
# damaged; a pool that hangs while plumb looks. What is seen goes to /out.
set -e
plumb() { /in/plumb "$@"; }
state() {
	zfs get -Hp -o property,value,source recordsize,logbias,compression,atime,primarycache,sync tank/mysql
	zpool get -Hp -o property,value,source autotrim tank
	cat /sys/module/zfs/parameters/zfs_txg_timeout /sys/module/zfs/parameters/zfs_prefetch_disable
	cat /etc/modprobe.d/*.conf 2>/dev/null
}

zpool create -o ashift=12 tank /dev/disk/by-id/virtio-data
zfs create -o recordsize=128K tank/mysql
state >/out/before

plumb fix --yes --set dataset:tank/mysql#recordsize=16K --set dataset:tank/mysql#primarycache=metadata \
	--set dataset:tank/mysql#atime=off --set zfs:module#zfs_txg_timeout=8 >/out/fix.txt 2>&1 || echo "fix: $?" >>/out/fix.txt
state >/out/changed
plumb undo --all --yes >/out/undo.txt 2>&1 || echo "undo: $?" >>/out/undo.txt
state >/out/after

# Damage behind the back of ZFS: file data on a pool of one disk, whose copy is the only one.
zfs set compression=off tank/mysql
damage tank /dev/disk/by-id/virtio-data /tank/mysql/ibdata
zpool scrub -w tank || true
zpool status -v tank >/out/scrub.status 2>&1 || true
plumb check --json >/out/scrub.json || true
zpool destroy -f tank

# A pool that lost its only disk. OpenZFS 2.3.9 goes on calling it ONLINE for a minute and more.
zpool create -o ashift=12 lost /dev/disk/by-id/virtio-lost
zfs create lost/db
disk=$(basename "$(readlink -f /dev/disk/by-id/virtio-lost)")
echo 1 >"$(readlink -f "/sys/block/$disk/device")/../remove"
(dd if=/dev/zero of=/lost/db/file bs=1M count=8 conv=fsync 2>/dev/null &) || true
for _ in $(seq 60); do
	timeout -k 1 20 zpool list -H -o health lost >/out/lost.health 2>&1 || true
	! grep -q SUSPENDED /out/lost.health || break
	sleep 1
done
timeout -k 1 20 zpool status -j lost >/out/lost.status 2>&1 || timeout -k 1 20 zpool status lost >/out/lost.status 2>&1 || true
began=$(date +%s)
timeout -k 5 180 /in/plumb check --json --timeout 60s >/out/lost.json 2>/out/lost.err && code=0 || code=$?
echo "$code $(($(date +%s) - began))" >/out/lost.took
sync -f /out
