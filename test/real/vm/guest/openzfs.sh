# shellcheck shell=bash
# A MariaDB on a pool of OpenZFS with a log and a cache device, in records as
# they are by default; what plumb finds there, and a tape of it.
set -e
zpool create -o ashift=12 -O atime=off -O compression=lz4 tank /dev/disk/by-id/virtio-data \
	log /dev/disk/by-id/virtio-log cache /dev/disk/by-id/virtio-cache
zfs create -o recordsize=128K tank/mysql
cp -a /var/lib/mysql/. /tank/mysql/
chown mysql:mysql /tank/mysql
mariadbd --user=mysql --datadir=/tank/mysql --innodb-doublewrite=0 >/out/mariadbd.log 2>&1 &
server=$!
for _ in $(seq 300); do
	mariadb-admin --silent ping >/dev/null 2>&1 && break
	sleep 1
done
mariadb -e 'CREATE DATABASE shop; CREATE TABLE shop.orders AS SELECT seq AS id, REPEAT("plumb", 40) AS item FROM mysql.seq_1_to_20000'
cat /sys/module/zfs/version
mariadb -Ne 'SELECT VERSION()'
/in/plumb check --timeout 3m --json >/out/check.json
/in/plumb capture --timeout 3m -o /out/host.tape.gz
# By signal: on a busy machine mariadb-admin loses the connection that it asked to end.
kill "$server"
wait "$server"
zpool export tank
