# shellcheck shell=bash
# start_ceph DEVICE... starts a cluster of Ceph that is this machine alone: a monitor, and an OSD on each device.
# As many copies are kept. Without a manager nothing counts what is used, and nothing else here needs one.
start_ceph() {
	local fsid keys=/run/ceph-keys number=0
	fsid=$(uuidgen)
	install -d -o ceph -g ceph /var/run/ceph /var/lib/ceph/mon/ceph-a /var/log/ceph
	install -d -m 700 -o ceph -g ceph "$keys"
	cat >/etc/ceph/ceph.conf <<-END
		[global]
		fsid = $fsid
		mon_host = [v2:127.0.0.1:3300,v1:127.0.0.1:6789]
		mon_initial_members = a
		public_network = 127.0.0.0/8
		osd_pool_default_size = $#
		osd_pool_default_min_size = $#
		mon_allow_pool_size_one = true
		osd_crush_chooseleaf_type = 0
		osd_memory_target = 939524096
		# jerasure asks for instructions that the emulated processor does not have.
		osd_erasure_code_plugins =
		# The processor is emulated: who is slow is not dead.
		osd_heartbeat_grace = 300
		mon_osd_report_timeout = 3600
	END
	ceph-authtool --create-keyring /etc/ceph/ceph.client.admin.keyring --gen-key -n client.admin --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *'
	ceph-authtool --create-keyring "$keys/mon" --gen-key -n mon. --cap mon 'allow *'
	ceph-authtool "$keys/mon" --import-keyring /etc/ceph/ceph.client.admin.keyring
	monmaptool --create --fsid "$fsid" --addv a '[v2:127.0.0.1:3300,v1:127.0.0.1:6789]' "$keys/map"
	chown ceph:ceph "$keys"/*
	ceph-mon --setuser ceph --setgroup ceph --mkfs -i a --monmap "$keys/map" --keyring "$keys/mon"
	ceph-mon --setuser ceph --setgroup ceph -i a
	for device in "$@"; do
		start_osd "$number" "$(realpath "$device")"
		number=$((number + 1))
	done
	until ceph osd stat | grep -q "$# up"; do sleep 2; done
	ceph --version
}

# start_osd NUMBER DEVICE
start_osd() {
	local id dir=/var/lib/ceph/osd/ceph-$1
	id=$(uuidgen)
	install -d -o ceph -g ceph "$dir"
	ceph osd new "$id"
	ceph auth get-or-create "osd.$1" mon 'allow profile osd' osd 'allow *' -o "$dir/keyring"
	ln -s "$2" "$dir/block"
	chown -R ceph:ceph "$dir" "$2"
	ceph-osd --setuser ceph --setgroup ceph --mkfs -i "$1" --osd-uuid "$id"
	ceph-osd --setuser ceph --setgroup ceph -i "$1"
}

# map_image NAME SIZE FILESYSTEM DIR puts a filesystem on an image of the pool db.
map_image() {
	local device
	rbd create --size "$2" "db/$1"
	device=$(rbd device map "db/$1")
	mkdir -p "$4"
	mkfs -t "$3" -q "$device"
	mount "$device" "$4"
}
