# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # what selinux_lib.sh uses and sets
# A MariaDB that the policy confines is moved to datasets and back, and to a filesystem, where its files have two names. It cannot
# start on files that are not labelled as its own. Then the recorder runs as a service.
unit=mariadb label=mysqld_db_t
has_server() { mariadb-admin --silent ping; }
rows() { mariadb -Ne 'SELECT COUNT(*) FROM shop.orders'; }
insert() { mariadb -e 'INSERT INTO shop.orders VALUES (NULL)'; }
until_it has_server
mariadb -e 'CREATE DATABASE shop; CREATE TABLE shop.orders (id INT AUTO_INCREMENT PRIMARY KEY)'
insert
enforce
systemctl restart mariadb
state "at first" /var/lib/mysql
echo "fact: $(plumb stack --json | tr -d ' \n' | grep -oE '"selinux":\{[^}]*\}')"
list >/root/list
cat >/root/spec.yaml <<-'END'
	pool: {name: tank, layout: stripe, disks: [/dev/disk/by-id/virtio-data]}
	server: {product: mariadb}
END
skip='kernel/*,cross/kernel-*,cross/storage-readahead-*,block/*'

echo "== what sets labels is not installed"
mv /usr/sbin/semanage /root/
typed 3 provision spec.yaml --yes --skip "$skip"
mv /root/semanage /usr/sbin/
echo "refused: pools $(zpool list -H -o name)"

echo "== moved"
typed "0 1" provision spec.yaml --yes --skip "$skip"
insert
echo "listed: $(list)"
state moved /var/lib/mysql /var/lib/mysql-log
denied "$began"

echo "== as at a boot"
systemctl stop mariadb
cp -a /etc/zfs/zpool.cache /root/ # which an export empties
zpool export tank
cp -a /root/zpool.cache /etc/zfs/
systemctl restart zfs-import-cache || true
systemctl restart zfs-mount || true
echo "boot: $(zfs get -H -o value mounted tank/mariadb/data tank/mariadb/log 2>&1 | xargs)"
zpool list tank || zpool import tank
systemctl start mariadb
insert
state "booted" /var/lib/mysql /var/lib/mysql-log

echo "== without its label"
systemctl stop mariadb
chcon -t default_t /var/lib/mysql
controlled=$(now)
systemctl start mariadb || true
echo "mislabelled: $(systemctl is-active mariadb || true)"
denied "$controlled"
restorecon /var/lib/mysql
systemctl reset-failed mariadb
systemctl start mariadb
state "labelled again" /var/lib/mysql /var/lib/mysql-log

echo "== taken away"
back=$(now)
typed 0 provision spec.yaml --undo --yes
state back /var/lib/mysql
list | diff /root/list - && echo "list: as before"
systemctl restart mariadb
state "started once more" /var/lib/mysql
denied "$back"

cat >/root/spec.yaml <<-'END'
	filesystem: {type: ext4, device: /dev/disk/by-id/virtio-files}
	server: {product: mariadb}
END

echo "== moved to a filesystem"
typed "0 1" provision spec.yaml --yes --skip "$skip"
insert
echo "listed: $(list)"
state "on ext4" /var/lib/mysql /srv/mariadb/data

echo "== relabelled by either name, and as at a boot"
restorecon -R -F /var/lib/mysql
restorecon -R -F /srv
systemctl stop mariadb
umount /var/lib/mysql /srv/mariadb
systemctl daemon-reload # which reads fstab
systemctl start mariadb
insert
state "booted on ext4" /var/lib/mysql /srv/mariadb/data

echo "== taken away again"
typed 0 provision spec.yaml --undo --yes
state "back from ext4" /var/lib/mysql
list | diff /root/list - && echo "list again: as before"

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
echo end
