# shellcheck shell=bash
# start_ceph DEVICE starts a cluster of Ceph that is this machine alone: a monitor, and one OSD on the device.
# Without a manager nothing counts what is used, and nothing else here needs one.
start_ceph() {
	local device=$1 fsid osd keys=/run/ceph-keys
	fsid=$(uuidgen)
	osd=$(uuidgen)
	install -d -o ceph -g ceph /var/run/ceph /var/lib/ceph/mon/ceph-a /var/lib/ceph/osd/ceph-0 /var/log/ceph
	install -d -m 700 -o ceph -g ceph "$keys"
	cat >/etc/ceph/ceph.conf <<-END
		[global]
		fsid = $fsid
		mon_host = [v2:127.0.0.1:3300,v1:127.0.0.1:6789]
		mon_initial_members = a
		public_network = 127.0.0.0/8
		osd_pool_default_size = 1
		osd_pool_default_min_size = 1
		mon_allow_pool_size_one = true
		osd_crush_chooseleaf_type = 0
		osd_memory_target = 939524096
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
	ceph osd new "$osd"
	ceph auth get-or-create osd.0 mon 'allow profile osd' osd 'allow *' -o /var/lib/ceph/osd/ceph-0/keyring
	ln -s "$(realpath "$device")" /var/lib/ceph/osd/ceph-0/block
	chown -R ceph:ceph /var/lib/ceph/osd/ceph-0 "$(realpath "$device")"
	ceph-osd --setuser ceph --setgroup ceph --mkfs -i 0 --osd-uuid "$osd"
	ceph-osd --setuser ceph --setgroup ceph -i 0
	until ceph osd stat | grep -q '1 up'; do sleep 2; done
	ceph --version
}
