# shellcheck shell=bash
# A server whose data lie on md, whose redo log lies on a thin volume, whose
# binary log lies on NFS and whose temporary files lie on a SCSI disk: first all
# sound, then each of them wrecked.
disk() { readlink -f "/dev/disk/by-id/virtio-$1"; }

echo "Linux $(uname -r), $(mariadbd --version)"
modprobe -a raid456 dm-thin-pool bcache nfsd
# The disks are empty, so their parity fits.
mdadm --create /dev/md0 --quiet --run --assume-clean --level=5 --raid-devices=3 --consistency-policy=ppl "$(disk one)" "$(disk two)" "$(disk three)"
mkfs.xfs -q /dev/md0
lvm() { command lvm "$@" --config 'activation/monitoring=0' >>/out/lvm.log 2>&1; }
lvm vgcreate vg "$(disk thin)"
lvm lvcreate --type thin-pool -L 400M --poolmetadatasize 4M -n pool vg
lvm lvcreate --type thin -V 1G --thinpool pool -n redo vg
lvm lvcreate --type thin -V 1G --thinpool pool -n other vg
udevadm settle
mkfs.ext4 -q /dev/vg/redo
modprobe scsi_debug dev_size_mb=256
udevadm settle
scsi=$(basename /sys/bus/pseudo/drivers/scsi_debug/adapter0/host*/target*/*/block/*)
mkfs.ext4 -q "/dev/$scsi"
mkdir -p /srv/data /srv/redo /srv/bin /srv/tmp /export/log
mount /dev/md0 /srv/data
mount /dev/vg/redo /srv/redo
mount "/dev/$scsi" /srv/tmp
mount -t nfsd nfsd /proc/fs/nfsd
exportfs -o rw,no_root_squash,insecure,fsid=0 127.0.0.1:/export
rpc.nfsd -N 3 -V 4 2
rpc.mountd -N 3
mount -t nfs4 127.0.0.1:/log /srv/bin
cp -a /var/lib/mysql/. /srv/data/
mv /srv/data/ib_logfile* /srv/redo/
chown mysql:mysql /srv/data /srv/redo /srv/bin /srv/tmp
start() {
	start_mariadb --datadir=/srv/data --innodb-log-group-home-dir=/srv/redo --log-bin=/srv/bin/log --server-id=1 \
		--sync-binlog=1 --binlog-expire-logs-seconds=86400 --tmpdir=/srv/tmp
}
start
# A cache in front of a disk.
make-bcache --writeback --bucket=64k -C "$(disk fast)" -B "$(disk slow)" >>/out/bcache.log
slow=$(basename "$(disk slow)")
register() { echo "$1" >/sys/fs/bcache/register 2>/dev/null || true; } # udev may have been faster
register "$(disk fast)"
register "$(disk slow)"
udevadm settle
grep -qx clean /sys/block/bcache0/bcache/state
keep sound

mdadm --grow --quiet --consistency-policy=resync /dev/md0
# In the last fifth of a member, where the filesystem has nothing.
dd if=/dev/urandom of="$(disk two)" bs=1M count=1 seek=300 oflag=direct conv=notrunc 2>/dev/null
echo check >/sys/block/md0/md/sync_action
mdadm --wait --quiet /dev/md0 || true
mdadm --quiet --fail /dev/md0 "$(disk three)"
stop_mariadb
umount /srv/bin
mount -t nfs4 -o soft 127.0.0.1:/log /srv/bin
mount -o remount,nobarrier /srv/redo
# From now on it says that it is about to fail.
sdparm --set=TEST=1 "/dev/$scsi" >>/out/sdparm.log 2>&1
smartctl -H "/dev/$scsi" || true
start
echo '/dev/md0 /srv/data xfs noatime,nobarrier 0 0' >>/etc/fstab
dd if=/dev/zero of=/dev/vg/other bs=1M count=330 oflag=direct 2>/dev/null
# The cache set goes, and the disk is forced to go on without it.
echo 1 >/sys/block/bcache0/bcache/stop
for set in /sys/fs/bcache/*-*-*; do echo 1 >"$set/stop"; done
sleep 3
wipefs -qa "$(disk fast)"
register "$(disk slow)"
sleep 1
echo 1 >"/sys/block/$slow/bcache/running"
cat /sys/block/bcache0/bcache/state
keep wrecked

# The thin pool has no room any more.
echo 2 >/sys/module/dm_thin_pool/parameters/no_space_timeout
dd if=/dev/zero of=/dev/vg/other bs=1M seek=330 count=200 oflag=direct 2>/dev/null || true
dmsetup status --target thin-pool
keep full
