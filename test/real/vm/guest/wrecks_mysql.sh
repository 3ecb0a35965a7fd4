# shellcheck shell=bash
# MySQL itself, which no Debian release has: with its data on one disk and its
# redo log on another, then on a disk that is not a hypervisor's, then on OpenZFS.
disk() { echo "/dev/disk/by-id/virtio-$1"; }
tree=/in/mysql-sid
mysql_program() {
	name=$1
	shift
	"$tree/usr/lib64/ld-linux-x86-64.so.2" --library-path "$tree/usr/lib/x86_64-linux-gnu:$tree/usr/lib/mysql/private" \
		"$tree/usr/$name" --no-defaults "$@"
}

start_mysql() {
	mysql_program sbin/mysqld --basedir=$tree/usr --user=mysql --secure-file-priv=NULL --mysqlx=OFF --skip-networking \
		--socket=/run/mysqld/mysqld.sock --pid-file=/run/mysqld/mysqld.pid --innodb-redo-log-capacity=64M "$@" >>/out/mysqld.log 2>&1 &
	mysql=$!
	for _ in $(seq 600); do
		! mysql_program bin/mysqladmin --silent --socket=/run/mysqld/mysqld.sock ping >/dev/null 2>&1 || return 0
		kill -0 "$mysql"
		sleep 1
	done
}

stop_mysql() {
	kill "$(cat /run/mysqld/mysqld.pid)"
	wait "$mysql" || true
}

mysql_program sbin/mysqld --version
for place in data redo; do
	mkfs.ext4 -q "$(disk $place)"
	mkdir -p "/srv/$place"
	mount "$(disk $place)" "/srv/$place"
	install -d -o mysql -g mysql "/srv/$place/my"
done
mysql_program sbin/mysqld --basedir=$tree/usr --user=mysql --initialize-insecure --datadir=/srv/data/my \
	--innodb-redo-log-capacity=64M >/out/initialize.log 2>&1
echo "${SECONDS}s: initialised"
cp -a /srv/data/my /srv/data/copy
start_mysql --datadir=/srv/data/my
keep sound
stop_mysql
mv '/srv/data/my/#innodb_redo' /srv/redo/my/
start_mysql --datadir=/srv/data/my --innodb-log-group-home-dir=/srv/redo/my --innodb-flush-method=O_DIRECT_NO_FSYNC
sysctl -qw "fs.aio-max-nr=$(($(cat /proc/sys/fs/aio-nr) * 10 / 9))"
keep two_places
stop_mysql
sysctl -qw fs.aio-max-nr=65536

modprobe scsi_debug dev_size_mb=450
udevadm settle
scsi=$(basename /sys/bus/pseudo/drivers/scsi_debug/adapter0/host*/target*/*/block/*)
mkfs.ext4 -q "/dev/$scsi"
mkdir -p /srv/scsi
mount "/dev/$scsi" /srv/scsi
cp -a /srv/data/copy /srv/scsi/my
start_mysql --datadir=/srv/scsi/my --innodb-flush-method=O_DIRECT
keep volatile
stop_mysql
umount /srv/scsi
rmmod scsi_debug

zpool create -o ashift=12 tank "$(disk tank)"
zfs create tank/my
cp -a /srv/data/copy/. /tank/my/
chown mysql:mysql /tank/my
# Together a little more than there is.
echo 2200000000 >/sys/module/zfs/parameters/zfs_arc_max
start_mysql --datadir=/tank/my --innodb-dedicated-server=ON
keep dedicated
stop_mysql
