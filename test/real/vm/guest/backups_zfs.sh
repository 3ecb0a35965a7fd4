# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # what points_lib.sh sets and uses
# A chain of two backups whose first point is pruned in between, the loss of the pool, and a restore that a server starts on.
# The log is in a dataset that is encrypted: it is sent raw.
zpool create -o ashift=12 -O atime=off -O compression=lz4 tank /dev/disk/by-id/virtio-data
zpool create -o ashift=12 vault /dev/disk/by-id/virtio-pool
(umask 077; head -c 32 /dev/urandom >/root/zfs.key)
zfs create tank/db
zfs create -o recordsize=16K tank/db/data
zfs create -o encryption=on -o keyformat=raw -o keylocation=file:///root/zfs.key tank/db/log
zfs create vault/store
useradd --system --no-create-home --shell /usr/sbin/nologin plumb-verify
echo "OpenZFS $(cat /sys/module/zfs/version)"
move_mariadb /tank/db/data /tank/db/log
store=file:///vault/store
typed 0 backup key
printf '%s\n' "$said" | grep -v '^#' >/root/db1.pub
# stored CODE ARG... types a command about what is in the store.
stored() { typed "$@" --from "$store" --trust /root/db1.pub; }

taken 0 snapshot
first=$(point)
typed 0 backup "$first" --to "$store" --recipients-file /in/recipients.txt
echo "== bookmarks after the first: $(zfs list -H -t bookmark -o name -r tank | grep -c "#plumb-backup-.*$first")"

taken 0 snapshot --mode locked
second=$(point)
typed 0 prune "$first" --yes
echo "== the first point is gone: $(zfs list -H -t snapshot -o name | grep -c "$first")"
typed 0 backup "$second" --to "$store" --recipients-file /in/recipients.txt
echo "== bookmarks after the second: $(zfs list -H -t bookmark -o name -r tank | grep -c "$first"), $(zfs list -H -t bookmark -o name -r tank | grep -c "#plumb-backup-.*$second")"
stored 0 backup list --json
echo "== built on the first: $(printf '%s' "$said" | grep -c '"base"')"
stored 0 verify --sample 100 --identity /in/key.txt --all

echo "== the pool is lost"
service mariadb stop
zpool destroy tank
stored 0 restore --identity /in/key.txt --into vault/restored
echo "== its properties are told: $(said_of 'zfs set .*recordsize=16384')"
echo "== received as it was: $(zfs get -H -o value encryption vault/restored/log | grep -c aes), keys $(zfs get -H -o value keystatus vault/restored/log)"
# What was not encrypted is encrypted where it comes back, below a dataset that is.
zfs create -o encryption=on -o keyformat=raw -o keylocation=file:///root/zfs.key vault/secret
stored 0 restore --identity /in/key.txt --into vault/secret/restored
echo "== below an encrypted dataset: $(zfs get -H -o value encryptionroot vault/secret/restored/data), $(zfs get -H -o value encryptionroot vault/secret/restored/log)"
zfs destroy -r vault/secret
zfs load-key -L file:///root/zfs.key vault/restored/log
stored 0 restore --identity /in/key.txt --into vault/restored --start back
echo "== back: $(whole "$(socket_of back)" "$row"), orders $(mariadb -S "$(socket_of back)" -Ne 'SELECT COUNT(*) FROM shop.orders')"
typed 0 clone drop back --yes
zfs list -H -t all -o name -r vault
echo "== left: clones $(zfs list -H -o name | grep -c plumb-clone)"
