# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # what selinux_lib.sh uses and sets
# A MariaDB that the policy confines is moved to a filesystem, where its files have two names, and back.
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
list >/root/list
cat >/root/spec.yaml <<-'END'
	filesystem: {type: ext4, device: /dev/disk/by-id/virtio-data}
	server: {product: mariadb}
END

echo "== moved"
typed "0 1" provision spec.yaml --yes --skip 'kernel/*,cross/kernel-*,cross/storage-readahead-*,block/*'
insert
echo "listed: $(list)"
state moved /var/lib/mysql /srv/mariadb/data

echo "== relabelled by either name, and as at a boot"
restorecon -R -F /var/lib/mysql
restorecon -R -F /srv
systemctl stop mariadb
umount /var/lib/mysql /srv/mariadb
systemctl start mariadb
insert
state booted /var/lib/mysql /srv/mariadb/data

echo "== taken away"
typed 0 provision spec.yaml --undo --yes
state back /var/lib/mysql
list | diff /root/list - && echo "list: as before"
systemctl restart mariadb
state "started once more" /var/lib/mysql

denied "$began"
echo end
