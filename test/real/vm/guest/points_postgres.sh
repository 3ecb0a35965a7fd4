# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # what points_lib.sh sets and uses
# Points of a PostgreSQL whose WAL is on a dataset of its own.
zpool create -o ashift=12 -O atime=off -O compression=lz4 tank /dev/disk/by-id/virtio-data
zfs create tank/pg
zfs create -o recordsize=16K tank/pg/data
zfs create tank/pg/wal
echo "OpenZFS $(cat /sys/module/zfs/version)"
version=$(ls /usr/lib/postgresql)
chown postgres:postgres /tank/pg/data /tank/pg/wal
pg_createcluster "$version" main -d /tank/pg/data/main -- --waldir=/tank/pg/wal/wal
service postgresql start
as_postgres() { setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }
sql() { as_postgres psql -h "${2:-/run/postgresql}" -p "${3:-5432}" -XqtA -c "$1" "${4:-postgres}"; }
until_it sql 'SELECT 1'
sql 'CREATE TABLE ledger (id INT PRIMARY KEY)'
sql 'CREATE TABLE orders (mail TEXT)'
sql "INSERT INTO orders VALUES ('a@example.com'), ('b@example.com')"
sql 'SELECT version()'

typed 0 snapshot --dry-run
start_writer() {
	: >/run/acknowledged
	seq "$(sql 'SELECT COALESCE(MAX(id), 0) + 1 FROM ledger')" 100000000 | sed 's/.*/INSERT INTO ledger VALUES (&) RETURNING id;/' |
		setpriv --reuid=postgres --regid=postgres --init-groups psql -XqtA >/run/acknowledged 2>/run/writer.err & # of a function a kill would end only the shell
	writer=$!
	until_written
}
taken 0 snapshot
first=$(point)
typed 0 drill "$first" --ready
echo "== first: $(said_of 'proven: a copy was started')"
typed 0 clone "$first" --name dev --mask "UPDATE orders SET mail = ''"
run=/var/lib/plumb-copies/dev/run
port=$(find "$run" -name ".s.PGSQL.*[0-9]" | grep -oE "[0-9]+$")
count() { sql "SELECT CASE WHEN COUNT(*) = MAX(id) AND MAX(id) >= $3 THEN 'whole' ELSE 'lost: ' || COUNT(*) || ' up to ' || MAX(id) || ' of $3' END FROM ledger" "$1" "$2"; }
echo "== clone: $(count "$run" "$port" "$row"), mails $(sql "SELECT COUNT(*) FROM orders WHERE mail = ''" "$run" "$port")"
typed 0 clone drop dev --yes
taken 0 snapshot
second=$(point)
typed 0 drill "$second"
sql 'DROP TABLE orders'
sql 'CREATE TABLE later AS SELECT 3 AS id'
newest=$(sql 'SELECT MAX(id) FROM ledger')
typed 0 rollback "$second" --service postgresql --dry-run
typed 0 rollback "$second" --service postgresql --yes
echo "== rolled back: orders $(sql 'SELECT COUNT(*) FROM orders'), $(count /run/postgresql 5432 "$row")"
typed 0 undo --yes
echo "== forward again: later $(sql 'SELECT id FROM later'), $(count /run/postgresql 5432 "$newest")"
# What was written between is kept, with what it was made of, until nobody wants it.
for set in $(zfs list -H -o name | grep undone-); do zfs destroy "$set"; done
typed 0 prune --keep last=1,verified=1 --yes
typed 0 protect list
zfs list -H -t all -o name,origin -r tank
echo "== left: copies $(find /var/lib/plumb-copies -mindepth 1 -maxdepth 1 | wc -l), snapshots of the first $(zfs list -H -t snapshot -o name | grep -c "$first"), clones $(zfs list -H -o name | grep -c plumb-clone)"
