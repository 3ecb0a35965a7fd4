# shellcheck shell=bash
# Runs one experiment in the virtual machine. What is to stay is on the second disk: a machine that was stopped amid a
# trial is booted again, and goes on. FILE is the experiment, ARC its ARC in bytes.
set -eu
modprobe -a loop zfs
# Version 2 of control groups limits no threads of the kernel, and ZFS writes with its own: version 1 limits the device. A
# controller can be had in version 1 while no group of version 2 has it. The server's memory stays with version 2: Debian's
# kernel was built without that of version 1.
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/blkio
mount -t cgroup -o blkio blkio /sys/fs/cgroup/blkio
# A zfs_arc_max below zfs_arc_min, which is a part of the machine's memory, is passed over. The lab sees whether it was taken.
echo $((ARC / 2)) >/sys/module/zfs/parameters/zfs_arc_min
echo "$ARC" >/sys/module/zfs/parameters/zfs_arc_max
blkid "$DISK_data" >/dev/null || mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$DISK_data"
mkdir -p /lab
mount -o noatime "$DISK_data" /lab
rm -rf /lab/work # volumes of a lab that died with its machine
mkdir /lab/work
resume=
[ ! -e /lab/ledger ] || resume=--resume
code=0
/in/plumb lab run "$FILE" --ledger /lab/ledger --dir /lab/work --no-capture $resume || code=$?
cp -a /lab/ledger /out/ledger
umount /lab
exit "$code"
