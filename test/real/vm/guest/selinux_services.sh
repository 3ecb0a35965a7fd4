# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # what selinux_lib.sh uses and sets
# What Plumb does as a service: the recorder, and a drill, which starts a copy of a server that the policy confines.
unit=mariadb label=mysqld_db_t
has_server() { mariadb-admin --silent ping; }
rows() { mariadb -Ne 'SELECT COUNT(*) FROM mysql.user'; }
systemctl stop mariadb
mv /var/lib/mysql /root/mysql
zpool create -o ashift=12 -O recordsize=16K -O compression=lz4 -m none tank /dev/disk/by-id/virtio-data
zfs create -o mountpoint=/var/lib/mysql tank/db
cp -a /root/mysql/. /var/lib/mysql/
chown mysql:mysql /var/lib/mysql
restorecon -R /var/lib/mysql
enforce
systemctl start mariadb
state "at first" /var/lib/mysql

echo "== the recorder"
plumb watch record --emit systemd >/root/unit
mkdir -p /etc/sysusers.d
awk '/^# \// {file = $2; next} file {print > file}' /root/unit
systemd-sysusers
systemctl daemon-reload
systemctl start plumb-watch
has_recorded() { [ "$(cat /var/lib/plumb-watch/recording.sqlite* | wc -c)" -gt 100000 ]; }
until_it has_recorded
echo "recorder: $(systemctl is-active plumb-watch), $(domain plumb-watch), restarts $(systemctl show --value --property=NRestarts plumb-watch)"
systemctl stop plumb-watch
denied "$began"

echo "== a drill"
typed 0 snapshot
point=$(printf '%s\n' "$said" | grep -oE '[0-9]{8}T[0-9]{6}Z-[0-9a-f]{4}' | head -n 1)
typed 0 drill "$point"
# drilled NAME [OPTION...]: by a service with these options.
drilled() {
	local name=$1 from code
	shift
	from=$(now)
	systemd-run --quiet --wait --collect --pipe "$@" plumb drill "$point" 2>&1 | cat
	code=${PIPESTATUS[0]}
	echo "drilled $name: $code"
	denied "$from"
}
drilled "by a service"
drilled "by a service that may do what root may" -p SELinuxContext=unconfined_u:unconfined_r:unconfined_t:s0
echo end
