# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # what points_lib.sh sets and uses
zpool create -o ashift=12 -O atime=off -O compression=lz4 tank /dev/disk/by-id/virtio-data
zfs create tank/db
zfs create -o recordsize=16K tank/db/data
zfs create tank/db/log
echo "OpenZFS $(cat /sys/module/zfs/version)"
move_mariadb /tank/db/data /tank/db/log
# What a rollback and its undo leave as it was.
properties() { zfs get -Hp -t filesystem -o name,property,value -s local,received all tank/db tank/db/data tank/db/log; }
before=$(properties)

typed 0 snapshot --dry-run
taken 0 snapshot
first=$(point)
typed 0 drill "$first" --ready
echo "== first: $(said_of 'proven: a copy was started')"
typed 0 clone "$first" --name dev --mask "UPDATE shop.orders SET mail = ''"
echo "== clone of the first: $(whole "$(socket_of dev)" "$row"), mails: $(mariadb -S "$(socket_of dev)" -Ne 'SELECT GROUP_CONCAT(mail) FROM shop.orders')"
taken 0 snapshot --mode locked
locked=$(point)
typed 0 drill "$locked" --checks full
echo "== locked: $(said_of "exactly the point's")"
typed 0 clone "$locked" --name loc
echo "== clone of the locked one: $(whole "$(socket_of loc)" "$row")"
typed 0 clone list
typed 0 clone drop loc --yes
typed 0 clone drop dev --yes

echo "== rollback and its way back"
ask 'DROP TABLE shop.orders; CREATE TABLE shop.later (id INT PRIMARY KEY); INSERT INTO shop.later VALUES (3)'
newest=$(ask 'SELECT MAX(id) FROM shop.ledger')
typed 0 rollback "$locked" --service mariadb --dry-run
typed 0 rollback "$locked" --service mariadb --yes
echo "== rolled back: orders $(ask 'SELECT COUNT(*) FROM shop.orders'), later: $(ask 'SELECT 1 FROM shop.later' 2>&1 | grep -o "doesn't exist"), $(whole /run/mysqld/mysqld.sock "$row")"
ask 'INSERT INTO shop.orders (mail) VALUES ("c@example.com")'
typed 0 undo --yes
echo "== forward again: later $(ask 'SELECT GROUP_CONCAT(id) FROM shop.later'), $(whole /run/mysqld/mysqld.sock "$newest")"
zfs list -t all -r -o name,origin,mountpoint tank
echo "$before" >/run/before
echo "== properties: $(properties | diff /run/before - && echo as before)"

typed 0 snapshot
third=$(point)
typed 0 prune --keep last=1 --dry-run
typed 0 prune --keep last=1 --yes
typed 0 protect list
echo "== pruned: first $(said_of "$first"), locked $(said_of "$locked"), third $(said_of "$third")"
zfs list -H -t all -o name -r tank
echo "== left: copies $(find /var/lib/plumb-copies -mindepth 1 -maxdepth 1 | wc -l), snapshots of the first $(zfs list -H -t snapshot -o name | grep -c "$first"), clones $(zfs list -H -o name | grep -c plumb-clone)"
