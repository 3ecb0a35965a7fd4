# shellcheck shell=bash
# Runs one cell in the virtual machine. What is to stay is on the second disk: a machine that was stopped amid a
# trial is booted again, and goes on. FILE is the experiment, ARC its ARC in bytes.
set -eu
modprobe zfs 2>/dev/null || true
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
