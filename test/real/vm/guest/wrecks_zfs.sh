# shellcheck shell=bash
# OpenZFS with two servers on it: first all sound, then all that Plumb calls a
# danger or the way to an outage, in as few states as go together.
parameter() { echo "$2" >"/sys/module/zfs/parameters/$1"; }
disk() { echo "/dev/disk/by-id/virtio-$1"; }

echo "OpenZFS $(cat /sys/module/zfs/version), $(mariadbd --version), $(postgres --version)"
zpool create -o ashift=12 -O atime=off tank mirror "$(disk left)" "$(disk right)"
zfs create -o recordsize=16K tank/my
zfs set direct=disabled tank/my 2>/dev/null || true # before 2.3 it always was
zfs create tank/redo
zfs create tank/bin
zfs create -o recordsize=16K tank/pg
zfs create tank/wal
cp -a /var/lib/mysql/. /tank/my/
mv /tank/my/ib_logfile* /tank/redo/
chown mysql:mysql /tank/my /tank/redo /tank/bin
install -d -o postgres -g postgres -m 700 /tank/pg/main /tank/wal/main
as_postgres initdb -D /tank/pg/main --waldir=/tank/wal/main -A peer -E UTF8 --locale=C.UTF-8 -k >/out/initdb.log
on_tank() {
	start_mariadb --datadir=/tank/my --innodb-log-group-home-dir=/tank/redo --log-bin=/tank/bin/log --server-id=1 \
		--sync-binlog=1 --binlog-expire-logs-seconds=86400 "$@"
}
on_tank --innodb-buffer-pool-size=64M
start_postgres /tank/pg/main
zfs snapshot -r tank@night
zpool sync tank
keep sound

# Everything set for speed, by somebody who read half of each article.
stop_mariadb
on_tank --innodb-buffer-pool-size=1G --innodb-doublewrite=0
mariadb -e "CREATE DATABASE shop; CREATE TABLE shop.orders (id INT) PARTITION BY HASH (id) PARTITIONS 120; SELECT * FROM shop.orders"
files=$(find "/proc/$(pidof mariadbd)/fd" -type l | wc -l)
prlimit --pid "$(pidof mariadbd)" --nofile=$((files * 10 / 9)):
as_postgres psql -qd postgres -c 'ALTER SYSTEM SET shared_buffers = "900MB"' -c 'ALTER SYSTEM SET full_page_writes = off'
stop_postgres /tank/pg/main
start_postgres /tank/pg/main
as_postgres psql -qd postgres -c 'ALTER SYSTEM SET huge_pages = on' -c 'SELECT pg_reload_conf()' >/dev/null
zfs set sync=disabled tank/my tank/redo tank/bin tank/pg tank/wal
zfs set logbias=throughput tank/my
zfs inherit direct tank/my 2>/dev/null || true
zfs set recordsize=4K tank/pg
zfs snapshot tank/my@day tank/pg@day
zpool sync tank
zfs snapshot tank/redo@day tank/wal@day
zpool add -f tank special "$(disk special)"
modprobe brd rd_nr=1 rd_size=131072 max_part=4
zpool add tank log /dev/ram0
parameter zfs_nocacheflush 1
parameter zil_nocacheflush 1
zfs create -V 256M tank/swap
udevadm settle
mkswap /dev/zvol/tank/swap >/dev/null
swapon /dev/zvol/tank/swap
before=$(cat /proc/sys/vm/min_free_kbytes)
sysctl -qw vm.swappiness=0 vm.vfs_cache_pressure=0 vm.min_free_kbytes=200000
keep careless
sysctl -qw vm.swappiness=60 vm.vfs_cache_pressure=100 "vm.min_free_kbytes=$before"
swapoff /dev/zvol/tank/swap
parameter zfs_nocacheflush 0
parameter zil_nocacheflush 0
zpool remove tank "$(zpool status -L tank | grep -o 'ram[0-9p]*')"

# More promised than there is.
parameter zfs_arc_max 2400000000
keep crowded
parameter zfs_arc_max 268435456
promised=$(awk '/^Committed_AS/ { print $2 }' /proc/meminfo)
# With room for plumb, whose share counts too.
sysctl -qw vm.overcommit_memory=2 "vm.overcommit_kbytes=$((promised + 220000))"
keep promised
sysctl -qw vm.overcommit_memory=0
stop_mariadb
case $(mariadbd --version) in
*" 10."*) ;;
*)
	on_tank --innodb-doublewrite=fast
	keep fast
	stop_mariadb
	;;
esac
stop_postgres /tank/pg/main

# Filesystems on volumes.
for volume in my pg; do
	zfs create -V 700M -o volblocksize=16K "tank/vol$volume"
	udevadm settle
	mkfs.ext4 -q "/dev/zvol/tank/vol$volume"
	install -d "/vol$volume"
	mount "/dev/zvol/tank/vol$volume" "/vol$volume"
done
cp -a /var/lib/mysql/. /volmy/
chown mysql:mysql /volmy
cp -a /tank/pg/main /volpg/
rm /volpg/main/pg_wal
cp -a /tank/wal/main /volpg/main/pg_wal
rm /volpg/main/postgresql.auto.conf
start_mariadb --datadir=/volmy
start_postgres /volpg/main
keep volumes_sound
stop_mariadb
start_mariadb --datadir=/volmy --innodb-doublewrite=0
as_postgres psql -qd postgres -c 'ALTER SYSTEM SET full_page_writes = off' -c 'SELECT pg_reload_conf()' >/dev/null
zfs set sync=disabled tank/volmy tank/volpg
keep volumes
stop_mariadb
stop_postgres /volpg/main

# A pool that found damage which is gone, and that promised more than it has.
# Large enough that what ZFS keeps for itself is less than a tenth.
zpool create -o ashift=12 -O compression=off worn "$(disk worn)"
damage worn "$(disk worn)" /worn/file
zpool scrub -w worn || true
rm -f /worn/file
zpool sync worn
zpool status -v worn >/out/worn.status
zfs create -s -V 10G worn/promise
zfs create worn/full
n=0
while [ "$(zpool list -Hpo capacity worn)" -lt 86 ]; do
	n=$((n + 1))
	dd if=/dev/zero of="/worn/full/$n" bs=1M count=40 conv=fsync 2>/dev/null
done
keep worn
zpool destroy -f worn

# Two pools without their only disk. One disk is gone: OpenZFS goes on calling its
# pool ONLINE. The other answers every request with an error: its pool stops.
zpool create -o ashift=12 lost "$(disk lost)"
sectors=$(blockdev --getsz "$(disk worn)")
dmsetup create failing --table "0 $sectors linear $(disk worn) 0"
zpool create -f -o ashift=12 stopped /dev/mapper/failing
name=$(basename "$(readlink -f "$(disk lost)")")
echo 1 >"$(readlink -f "/sys/block/$name/device")/../remove"
dmsetup suspend --nolockfs --noflush failing
dmsetup load failing --table "0 $sectors error"
dmsetup resume failing
for pool in lost stopped; do
	(dd if=/dev/zero of=/$pool/file bs=1M count=8 conv=fsync 2>/dev/null &) || true
done
for _ in $(seq 60); do
	timeout -k 1 20 zpool list -H -o name,health lost stopped >/out/lost.health 2>&1 || true
	! grep -q SUSPENDED /out/lost.health || break
	sleep 1
done
cat /out/lost.health
sleep 10
timeout -k 5 180 /in/plumb stack --json --timeout 60s >/out/lost.json || true
sync -f /out
