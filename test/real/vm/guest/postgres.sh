# shellcheck shell=bash
# A PostgreSQL on a pool of OpenZFS, its WAL on a dataset of its own, set up as
# articles have it; what plumb finds there, and a tape of it. Then the same
# with what endangers it.
set -e
for dir in /usr/lib/postgresql/*/bin; do PATH=$dir:$PATH; done
as_postgres() { setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }
zpool create -o ashift=12 -O atime=off -O compression=lz4 tank /dev/disk/by-id/virtio-data
zfs create -o recordsize=128K -o logbias=throughput tank/data
zfs create -o recordsize=128K tank/wal
install -d -o postgres -g postgres -m 700 /tank/data/main /tank/wal/main
cd /
as_postgres initdb -D /tank/data/main --waldir=/tank/wal/main -A peer -E UTF8 --locale=C.UTF-8 -k >/out/initdb.log
echo 'full_page_writes = off' >>/tank/data/main/postgresql.conf
as_postgres postgres -D /tank/data/main >/out/postgres.log 2>&1 &
for _ in $(seq 300); do
	pg_isready -q && break
	sleep 1
done
as_postgres psql -qd postgres -c "CREATE TABLE orders AS SELECT i AS id, repeat('plumb', 40) AS item FROM generate_series(1, 50000) i"
as_postgres psql -qd postgres -c "VACUUM ANALYZE orders" -c CHECKPOINT
cat /sys/module/zfs/version
as_postgres psql -Atd postgres -c 'SHOW server_version'
zfs snapshot -r tank@night
zpool sync tank
/in/plumb check --timeout 3m --json >/out/check.json
/in/plumb capture --timeout 3m -o /out/host.tape.gz
# Snapshots of one name, each of a moment of its own; and records that keep no page whole.
zfs snapshot tank/data@day
zpool sync tank
zfs snapshot tank/wal@day
zfs set recordsize=4K primarycache=metadata sync=disabled tank/data
zfs set sync=disabled tank/wal
/in/plumb check --timeout 3m --json >/out/worse.json
as_postgres pg_ctl -D /tank/data/main -m fast -s -w -t 120 stop
zpool export tank
