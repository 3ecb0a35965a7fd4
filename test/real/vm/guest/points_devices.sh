# Points of a MariaDB on filesystems on volumes: $volumes is lvm (one thin volume) or zvol (two), $data and $log
# are their filesystems.
disk=/dev/disk/by-id/virtio-data
mkdir -p /srv/db
if [ "$volumes" = lvm ]; then
	pvcreate -qq "$disk"
	vgcreate -qq vg-db "$disk"
	lvcreate -qq --type thin-pool -L 4G --poolmetadatasize 16M -n thin vg-db
	lvcreate -qq -V 3G --thinpool thin -n my-data vg-db
	mkfs -t "$data" -q /dev/vg-db/my-data
	mount /dev/vg-db/my-data /srv/db
	mkdir /srv/db/data /srv/db/log
else
	zpool create -o ashift=12 tank "$disk"
	for name in data log; do
		zfs create -s -V 2G -b 16K "tank/$name"
		udevadm settle
		mkdir "/srv/db/$name"
		mkfs -t "${!name}" -q "/dev/zvol/tank/$name"
		mount "/dev/zvol/tank/$name" "/srv/db/$name"
	done
	rm -rf /srv/db/data/lost+found
fi
held() { if [ "$volumes" = lvm ]; then lvs --noheadings -o lv_name,origin,lv_attr vg-db; else zfs list -H -t all -o name,origin; fi; }
before=$(held)
findmnt -t xfs,ext4
move_mariadb /srv/db/data /srv/db/log
ask 'CREATE TABLE shop.flat (id INT PRIMARY KEY) ENGINE=MyISAM; INSERT INTO shop.flat VALUES (1), (2), (3)'

typed 0 snapshot --dry-run
start_writer
sleep 5
row=$(acknowledged)
typed 0 snapshot --mode locked
locked=$(point)
typed 0 drill "$locked" --checks full --ready
echo "== locked: $(grep -c "exactly the point's" <<<"$said")"
held
typed 0 clone "$locked" --name loc
echo "== clone of the locked one: $(whole "$(socket_of loc)" "$row"), MyISAM $(mariadb -S "$(socket_of loc)" -Ne 'SELECT COUNT(*) FROM shop.flat')"
typed 0 clone list
findmnt -t xfs,ext4
held
row=$(acknowledged)
typed 0 snapshot --mode crash --drill
crash=$(point)
echo "== crash: $(grep -c 'proven: a copy was started' <<<"$said")"
typed 0 clone "$crash" --name dev
echo "== clone of the crash point: $(whole "$(socket_of dev)" "$row")"
typed 3 rollback "$crash" --yes
stop_writer
typed 0 clone drop dev --yes
typed 0 clone drop loc --yes
typed 0 prune --keep last=1 --dry-run
typed 0 prune --keep last=1 --yes
typed 0 protect list
echo "== pruned: locked $(grep -c "$locked" <<<"$said"), crash $(grep -c "$crash" <<<"$said")"
held
echo "== left: copies $(ls /var/lib/plumb-copies | wc -l), of the locked one $(held | grep -c "$locked"), clones $(held | grep -c plumb-clone)"
