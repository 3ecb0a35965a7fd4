# shellcheck shell=bash
# A MariaDB on OpenZFS, held back in five ways, each beside a twin that differs in one thing. Plumb looks for two and a
# half minutes: while the disk has one request at a time, so that it learns what one takes, then under load. What it
# says in the end is kept. After wrecks_lib.sh.
parameter() { echo "$2" >"/sys/module/zfs/parameters/$1"; }
disk() { echo "/dev/disk/by-id/virtio-$1"; }
# aggregated BYTES: how much of what lies side by side is one request of the disk. 0 is one for each record.
aggregated() {
	parameter zfs_vdev_aggregation_limit "$1"
	parameter zfs_vdev_aggregation_limit_non_rotating "$1"
}
kstats() { cat /proc/spl/kstat/zfs/arcstats /proc/spl/kstat/zfs/dmu_tx /proc/spl/kstat/zfs/tank/txgs; }

# on DISK SETTING... makes the pool on that disk and starts MariaDB with a table of some 100 MB on it.
on() {
	local on=$1
	shift
	aggregated 1048576
	zpool create -f -o ashift=12 -O atime=off -O compression=off -O recordsize=16K tank "$(disk "$on")"
	where=$on
	zfs create tank/my
	zfs create tank/copy
	cp -a /var/lib/mysql/. /tank/my/
	chown mysql:mysql /tank/my
	restarted "$@"
	mariadb <<-'SQL'
		CREATE DATABASE w;
		CREATE TABLE w.t (id INT PRIMARY KEY, n INT, pad VARBINARY(1600)) ENGINE=InnoDB;
		INSERT INTO w.t SELECT seq, 0, REPEAT(MD5(seq), 50) FROM seq_1_to_60000;
		DELIMITER //
		CREATE PROCEDURE w.read_for(s INT, think DOUBLE) BEGIN
			DECLARE until DATETIME DEFAULT SYSDATE() + INTERVAL s SECOND;
			WHILE SYSDATE() < until DO
				SELECT LENGTH(pad) INTO @l FROM w.t WHERE id = 1 + FLOOR(RAND() * 60000);
				IF think > 0 THEN DO SLEEP(think); END IF;
			END WHILE;
		END//
		CREATE PROCEDURE w.write_for(s INT) BEGIN
			DECLARE until DATETIME DEFAULT SYSDATE() + INTERVAL s SECOND;
			WHILE SYSDATE() < until DO
				UPDATE w.t SET n = n + 1, pad = REVERSE(pad) WHERE id = 1 + FLOOR(RAND() * 60000);
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
	for _ in $(seq "$1"); do mariadb -e "$2" >/dev/null & done
}
reads() { clients "$1" "CALL w.read_for(80, ${2-0})"; }
writes() { clients "$1" 'CALL w.write_for(80)'; }
# copies has somebody write what does not compress, again and again.
copies() {
	for n in 1 2; do
		timeout 80 sh -c "while :; do dd if=/tmp/random of=/tank/copy/$n bs=128k conv=notrunc 2>/dev/null; done" &
	done
}

# alone asks the disk one thing at a time, in the partition of 8 MiB that ZFS leaves at its end.
alone() {
	local part
	part=$(readlink -f "$(disk "$where")-part9")
	timeout 35 sh -c "while :; do dd if=/tmp/random of=$part bs=16k count=500 oflag=direct 2>/dev/null; done" || true
	timeout 35 sh -c "while :; do dd if=$part of=/dev/null bs=16k count=500 iflag=direct 2>/dev/null; done" || true
}

# watched NAME LOAD: a line of the shell that starts the load and does not wait for it.
watched() {
	/in/plumb watch --once --for 150s --json >"/out/$1.json" 2>"/out/$1.err" &
	looks=$!
	alone
	kstats >"/out/$1.before"
	eval "$2"
	wait "$looks" || true
	kstats >"/out/$1.after"
	[ -z "${scatterer-}" ] || kill "$scatterer" || true
	scatterer=
	for job in $(jobs -p); do
		[ "$job" = "$mariadb" ] || wait "$job" || true
	done
	echo "$((SECONDS))s: watched $1"
}

echo "OpenZFS $(cat /sys/module/zfs/version), $(mariadbd --version)"
head -c 64M /dev/urandom >/tmp/random

on slow --innodb-buffer-pool-size=64M
parameter zfs_dirty_data_max 33554432
watched disk 'copies; writes 4'
off

on fast --innodb-buffer-pool-size=64M
watched parameter 'copies; writes 4'
parameter zfs_dirty_data_max 1073741824
watched neither 'copies; writes 4'

restarted --innodb-buffer-pool-size=16M
watched double 'reads 6'
zfs set primarycache=metadata tank/my
watched once 'reads 6'
zfs set primarycache=all tank/my
off

# Of records of 4 KiB the pointers are four times as many.
parameter zfs_arc_min 33554432
parameter zfs_arc_max 67108864
on slow --innodb-buffer-pool-size=16M
zfs create -o recordsize=4K tank/small
truncate -s 8G /tank/small/file
perl -e 'open F, "+<", "/tank/small/file" or die; for (0..2047) { sysseek F, $_ * 4194304, 0; syswrite F, "x" x 4096 }'
zpool sync tank
# scattered TIMES reads one record here and one there, each behind pointers of its own.
scattered() {
	perl -e 'open F, "<", "/tank/small/file" or die; while ($ARGV[0]--) { sysseek F, 4194304 * int rand 2048, 0; sysread F, $b, 4096 }' "$1"
}
watched squeezed 'scattered 1000000 & scatterer=$!; reads 4'
parameter zfs_arc_max 1073741824
scattered 20000 # until all are in memory
watched roomy 'scattered 1000000 & scatterer=$!; reads 4'
rm /tank/small/file
zpool sync tank

aggregated 1048576
head -c 400M /dev/zero | tr '\0' 'x' >/tank/copy/old
zpool sync tank
aggregated 0
# scrubs again and again, as a large pool would be at it for hours.
scrubs() { timeout 80 sh -c 'while :; do zpool scrub -w tank; done' & }
watched scrub 'scrubs; reads 3 0.02'
watched scrubbed 'reads 3 0.02'
off
sync -f /out
