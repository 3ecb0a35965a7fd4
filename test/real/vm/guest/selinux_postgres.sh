# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # what selinux_lib.sh uses and sets
# A PostgreSQL that the policy confines is moved to datasets and back, and archives its log by a service.
version=$(ls /usr/lib/postgresql)
unit=postgresql@$version-main label=postgresql_db_t data=/var/lib/postgresql/$version/main
pg_createcluster "$version" main
restorecon -R /etc/postgresql /var/lib/postgresql /var/log/postgresql
systemctl daemon-reload
has_server() { pg_isready -q; }
sql() { setpriv --reuid=postgres --regid=postgres --init-groups psql -XqtA -c "$1" postgres; }
rows() { sql 'SELECT COUNT(*) FROM orders'; }
insert() { sql 'INSERT INTO orders VALUES (1)'; }
enforce
systemctl start "$unit"
until_it has_server
sql 'CREATE TABLE orders (id INT)'
insert
state "at first" "$data"
list >/root/list
cat >/root/spec.yaml <<-'END'
	pool: {name: tank, layout: stripe, disks: [/dev/disk/by-id/virtio-data]}
	server: {product: postgres}
END

echo "== moved"
typed "0 1" provision spec.yaml --yes --skip 'kernel/*,cross/kernel-*,cross/storage-readahead-*,block/*'
insert
state moved "$data"
systemctl restart "$unit"
state "started once more" "$data"
denied "$began"

echo "== taken away"
typed 0 provision spec.yaml --undo --yes
state back "$data"
list | diff /root/list - && echo "list: as before"
systemctl restart "$unit"
state "and again" "$data"

echo "== the archive"
mkdir -p /var/backups/archive
typed 0 archive run --to file:///var/backups/archive --recipients-file /in/recipients.txt --wal-user postgres --emit systemd
printf '%s\n' "$said" | awk '/^# \// {file = $2; next} file {print > file}'
systemctl daemon-reload
archived=$(now)
systemctl start plumb-archive-main
until_it test -S /run/plumb-archive/main.sock
echo "archive: $(systemctl is-active plumb-archive-main), $(domain plumb-archive-main)"
sql "ALTER SYSTEM SET archive_mode = on"
sql "ALTER SYSTEM SET archive_command = 'plumb archive push %p'"
systemctl restart "$unit"
until_it has_server
insert
sql 'SELECT pg_switch_wal()'
has_tried() { [ "$(sql 'SELECT archived_count + failed_count > 0 FROM pg_stat_archiver')" = t ]; }
until_it has_tried
echo "archived: $(sql 'SELECT archived_count > 0 FROM pg_stat_archiver')"
denied "$archived"
tail -n 5 "/var/log/postgresql/postgresql-$version-main.log"
echo end
