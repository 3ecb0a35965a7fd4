# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # what points_lib.sh and the test set, and use
# Points of a MariaDB on filesystems on volumes, of which "cases" says the kind and the filesystems.

# on_lvm FILESYSTEM puts it on a thin volume.
on_lvm() {
	pvcreate -qq /dev/disk/by-id/virtio-data
	vgcreate -qq vg-db /dev/disk/by-id/virtio-data
	lvcreate -qq --type thin-pool -L 4G --poolmetadatasize 16M -n thin vg-db
	lvcreate -qq -V 3G --thinpool thin -n my-data vg-db
	mkfs -t "$1" -q /dev/vg-db/my-data
	mkdir -p /srv/lvm
	mount /dev/vg-db/my-data /srv/lvm
	mkdir /srv/lvm/data /srv/lvm/log
	held() { lvs --noheadings -o lv_name,origin,lv_attr vg-db; }
}

# on_zvol DATA LOG puts these filesystems on two volumes of OpenZFS.
on_zvol() {
	zpool create -o ashift=12 tank /dev/disk/by-id/virtio-pool
	for name in data log; do
		zfs create -s -V 2G -b 16K "tank/$name"
		udevadm settle
		mkdir -p "/srv/zvol/$name"
		mkfs -t "$1" -q "/dev/zvol/tank/$name"
		mount "/dev/zvol/tank/$name" "/srv/zvol/$name"
		rm -rf "/srv/zvol/$name/lost+found"
		shift
	done
	held() { zfs list -H -t all -o name,origin; }
}

# on_rbd FILESYSTEM puts it on an image of Ceph that the kernel mapped.
on_rbd() {
	start_ceph /dev/disk/by-id/virtio-data
	ceph osd pool create db 8
	rbd pool init db
	map_image my-data 3G "$1" /srv/rbd
	mkdir /srv/rbd/data /srv/rbd/log
	held() {
		for image in $(rbd ls db); do
			echo "$image $(rbd snap ls --format json "db/$image") $(rbd info "db/$image" | grep parent || true)"
		done
		rbd device list
	}
}

# points_of KIND FILESYSTEM... goes the way of a point.
points_of() {
	case $1 in
	lvm) on_lvm "$2" ;;
	zvol) on_zvol "$2" "$3" ;;
	rbd) on_rbd "$2" ;;
	esac
	findmnt -t xfs,ext4
	move_mariadb "/srv/$1/data" "/srv/$1/log"
	ask 'CREATE TABLE shop.flat (id INT PRIMARY KEY) ENGINE=MyISAM; INSERT INTO shop.flat VALUES (1), (2), (3)'

	typed 0 snapshot --dry-run
	taken 0 snapshot --mode locked
	locked=$(point)
	typed 0 drill "$locked" --checks full --ready
	echo "== $1 locked: $(said_of "exactly the point's")"
	held
	typed 0 clone "$locked" --name loc
	echo "== $1 clone: $(whole "$(socket_of loc)" "$row"), MyISAM $(mariadb -S "$(socket_of loc)" -Ne 'SELECT COUNT(*) FROM shop.flat')"
	findmnt -t xfs,ext4
	held
	typed 3 rollback "$locked" --service mariadb --yes
	typed 0 clone drop loc --yes
	typed 3 snapshot --mode crash
	ask 'DROP TABLE shop.flat' # what a power cut may tear is in no crash point
	taken 0 snapshot --mode crash
	crash=$(point)
	typed 0 drill "$crash"
	echo "== $1 crash: $(said_of 'proven: a copy was started')"
	typed 0 clone "$crash" --name dev
	echo "== $1 clone of the crash point: $(whole "$(socket_of dev)" "$row")"
	typed 0 clone drop dev --yes
	typed 0 prune --keep last=1 --dry-run
	typed 0 prune --keep last=1 --yes
	typed 0 protect list
	echo "== $1 pruned: locked $(said_of "$locked"), crash $(said_of "$crash")"
	held
	echo "== $1 left: copies $(find /var/lib/plumb-copies -mindepth 1 -maxdepth 1 | wc -l), of the locked one $(held | grep -c "$locked"), clones $(held | grep -c plumb-clone)"
}

bad=0
set +e
for case in "${cases[@]}"; do
	# shellcheck disable=SC2086 # words
	(set -e; points_of $case) # and no ||, which would let it go on after an error
	# shellcheck disable=SC2181
	[ $? = 0 ] || bad=1
	kill "$(cat /run/mysqld/mysqld.pid)"
	while [ -e /run/mysqld/mysqld.pid ]; do sleep 1; done
done
exit $bad
