# shellcheck shell=bash
# A MariaDB on OpenZFS, held back in five ways, each beside a twin that differs in one thing. Plumb looks for almost three
# minutes: while the disk has one request at a time, so that it learns what one takes, then under load. What it
# says in the end is kept. A client that fails is a failed run: without its load a twin could not be wrong. After
# wrecks_lib.sh.
parameter() { echo "$2" >"/sys/module/zfs/parameters/$1"; }
disk() { echo "/dev/disk/by-id/virtio-$1"; }
# aggregated BYTES: how much of what lies side by side is one request of the disk. 0 is one for each record.
aggregated() {
	parameter zfs_vdev_aggregation_limit "$1"
	parameter zfs_vdev_aggregation_limit_non_rotating "$1"
}
kstats() { cat /proc/spl/kstat/zfs/arcstats /proc/spl/kstat/zfs/dmu_tx /proc/spl/kstat/zfs/tank/txgs; }

# on DISK SETTING... makes the pool on that disk and starts MariaDB with a table of some 100 MB on it. kept is what the ARC
# keeps of its files, all unless it is set.
on() {
	local on=$1
	shift
	aggregated 1048576
	zpool create -f -o ashift=12 -O atime=off -O compression=off -O recordsize=16K tank "$(disk "$on")"
	where=$on
	zfs create -o primarycache="${kept-all}" tank/my
	zfs create tank/copy
	cp -a /var/lib/mysql/. /tank/my/
	chown mysql:mysql /tank/my
	restarted "$@"
	mariadb <<-'SQL'
		CREATE DATABASE w;
		USE w;
		CREATE TABLE w.t (id INT PRIMARY KEY, n INT, pad VARBINARY(1600)) ENGINE=InnoDB;
		INSERT INTO w.t SELECT seq, 0, REPEAT(MD5(seq), 50) FROM seq_1_to_60000;
		DELIMITER //
		CREATE PROCEDURE w.read_for(s INT, think DOUBLE) BEGIN
			DECLARE until DATETIME DEFAULT SYSDATE() + INTERVAL s SECOND;
			WHILE SYSDATE() < until DO
				SET @i = 1 + FLOOR(RAND() * 60000); -- in the condition it would be another one for each row
				SELECT LENGTH(pad) INTO @l FROM w.t WHERE id = @i;
				IF think > 0 THEN DO SLEEP(think); END IF;
			END WHILE;
		END//
		CREATE PROCEDURE w.write_for(s INT) BEGIN
			DECLARE until DATETIME DEFAULT SYSDATE() + INTERVAL s SECOND;
			WHILE SYSDATE() < until DO
				SET @i = 1 + FLOOR(RAND() * 60000);
				UPDATE w.t SET n = n + 1, pad = REVERSE(pad) WHERE id = @i;
			END WHILE;
		END//
	SQL
	zpool sync tank
	aggregated 0
}

# restarted SETTING... is not direct: OpenZFS 2.3 would read and write past the ARC.
restarted() {
	[ -z "${mariadb-}" ] || stop_mariadb
	start_mariadb --datadir=/tank/my --innodb-flush-method=fsync --innodb-use-native-aio=0 --performance-schema=ON \
		--performance-schema-instrument='wait/%=ON' --performance-schema-consumer-events-waits-current=ON "$@"
}

off() {
	stop_mariadb
	mariadb=
	zpool destroy -f tank
}

# clients N STATEMENT
clients() {
	for _ in $(seq "$1"); do (mariadb -e "$2" >/dev/null || touch /tmp/idle) & done
}
reads() { clients "$1" "CALL w.read_for(100, ${2-0})"; }
writes() { clients "$1" 'CALL w.write_for(100)'; }
# copies has somebody write what does not compress, again and again.
copies() {
	for n in 1 2; do
		timeout 100 sh -c "while :; do dd if=/tmp/random of=/tank/copy/$n bs=128k conv=notrunc 2>/dev/null; done" &
	done
}

# bursts has somebody write more at once than a small zfs_dirty_data_max takes, and less in all than the disk does.
bursts() {
	timeout 100 sh -c 'while :; do dd if=/tmp/random of=/tank/copy/burst bs=128k count=240 conv=notrunc 2>/dev/null; sleep 2; done' &
}

# spins keeps the processors as busy as a load does. The fast disk is a program of the same processors, and would be faster
# alone for their sake only.
spins() {
	for _ in $(seq "$(nproc)"); do
		timeout 85 nice -n 19 sh -c 'while :; do :; done' &
	done
}

# alone asks the disk to read or write one thing at a time, in the partition of 8 MiB that ZFS leaves at its end. Of the
# seconds in which ZFS writes a group too it learns nothing, so it takes far more than the thirty that are needed.
alone() {
	local part
	part=$(readlink -f "$(disk "$where")-part9")
	case $1 in
	write) set -- if=/tmp/random of="$part" oflag=direct ;;
	read) set -- if="$part" of=/dev/null iflag=direct ;;
	esac
	[ "$where" = slow ] || spins
	timeout 85 sh -c 'while :; do dd "$@" bs=16k count=500 2>/dev/null; done' - "$@" || true
}

# watched NAME OP LOAD: what the load has the disk do above all, and a line of the shell that starts the load and does not wait for it.
watched() {
	/in/plumb watch --once --for 170s --json >"/out/$1.json" 2>"/out/$1.err" &
	looks=$!
	alone "$2"
	kstats >"/out/$1.before"
	eval "$3"
	wait "$looks" || true
	kstats >"/out/$1.after"
	for job in $(jobs -p); do
		[ "$job" = "$mariadb" ] || wait "$job" || true
	done
	echo "$((SECONDS))s: watched $1"
}

echo "OpenZFS $(cat /sys/module/zfs/version), $(mariadbd --version)"
head -c 64M /dev/urandom >/tmp/random

on slow --innodb-buffer-pool-size=64M
parameter zfs_dirty_data_max 33554432
watched disk write 'copies; writes 4'
off

# Hundreds of flushes a second would make the disk slow by themselves.
on fast --innodb-buffer-pool-size=64M --innodb-flush-log-at-trx-commit=2
# With so much of the little waiting ZFS would write ten at a time. A disk that does those at once is what is meant, and
# this one is a file behind a process: with two at a time each takes 2.4 times as long.
parameter zfs_vdev_async_write_min_active 1
parameter zfs_vdev_async_write_max_active 1
watched parameter write 'bursts; writes 1'
parameter zfs_dirty_data_max 1073741824
watched neither write 'bursts; writes 1'
parameter zfs_vdev_async_write_min_active 2
parameter zfs_vdev_async_write_max_active 10

restarted --innodb-buffer-pool-size=16M
watched double read 'reads 4'
zfs set primarycache=metadata tank/my
watched once read 'reads 4'
zfs set primarycache=all tank/my
off

# Of records of 4 KiB the pointers are four times as many: of this file some 100 MB, of which each record needs others.
# Data are not kept, so that metadata has all of the ARC. Each block of pointers is 128 KiB while it is read, of which so small
# an ARC makes room for many at once: it is between a third and all of its limit. So its least is almost its limit, which
# OpenZFS ignores unless it is above the least.
parameter zfs_arc_min 67108864
parameter zfs_arc_max 69206016
kept=metadata
on fast --innodb-buffer-pool-size=16M
zfs create -o recordsize=4K -o primarycache=metadata tank/small
truncate -s 128G /tank/small/file
perl -e 'open F, "+<", "/tank/small/file" or die; for (0..32767) { sysseek F, $_ * 4194304, 0; syswrite F, "x" x 4096 }'
zpool sync tank
# scattered has somebody read one record here and one there.
scattered() {
	perl -e 'alarm 100; open F, "<", "/tank/small/file" or die; for (;;) { sysseek F, 4194304 * int rand 32768, 0; sysread F, $b, 4096 }' || true
}
watched squeezed read 'scattered & reads 4'
parameter zfs_arc_max 1073741824
# All of them once, so that they are in memory.
perl -e 'open F, "<", "/tank/small/file" or die; for (0..32767) { sysseek F, $_ * 4194304, 0; sysread F, $b, 4096 }'
watched roomy read 'scattered & reads 4'
off

on slow --innodb-buffer-pool-size=16M
aggregated 1048576
head -c 400M /dev/zero | tr '\0' 'x' >/tank/copy/old
zpool sync tank
aggregated 0
# scrubs again and again, as a large pool would be at it for hours. Beside clients that never think ZFS holds it back so far
# that requests take 1.87 times as long as alone.
scrubs() { timeout 100 sh -c 'while :; do zpool scrub -w tank; done' & }
watched scrub read 'scrubs; reads 4 0.02'
watched scrubbed read 'reads 4 0.02'
off
sync -f /out
[ ! -e /tmp/idle ]
