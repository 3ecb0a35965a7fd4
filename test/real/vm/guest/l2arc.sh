# shellcheck shell=bash
# The experiment of XFS, a pool, and a pool with a cache, on disks of few requests a second. The machine holds each disk
# to its number, below everything that a filesystem does, so the lab itself has nothing to limit.
set -e
disk() { echo "/dev/disk/by-id/virtio-$1"; }
# The least that OpenZFS takes: the data must not fit. It ignores a limit that is not above zfs_arc_min.
echo $((32 << 20)) >/sys/module/zfs/parameters/zfs_arc_min
echo $((64 << 20)) >/sys/module/zfs/parameters/zfs_arc_max
limit=$(awk '$1 == "c_max" {print $3}' /proc/spl/kstat/zfs/arcstats)
[ "$limit" = $((64 << 20)) ] || { echo "the ARC's limit is $limit"; exit 1; }
mkfs.xfs -q "$(disk xfs)"
mkdir -p /lab
mount "$(disk xfs)" /lab
pool() { zpool create -f -o ashift=12 -O atime=off -O compression=off -O recordsize=16K "$@"; }
pool plain "$(disk plain)"
pool cached "$(disk cached)" cache "$(disk cache)"
/in/plumb lab run --no-capture --ledger /root/ledger --dir /lab /in/l2arc.yaml
/in/plumb lab report --ledger /root/ledger --json >/out/report.json
zpool iostat -v
grep -E '^(l2_hits|l2_misses|l2_size|l2_asize|hits|misses|c|c_max|size) ' /proc/spl/kstat/zfs/arcstats
