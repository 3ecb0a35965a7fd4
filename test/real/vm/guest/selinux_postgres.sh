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
archiver() { sql "SELECT $1 FROM pg_stat_archiver"; }
has_tried() { [ "$(archiver 'archived_count + failed_count > 0')" = t ]; }
has_archived() { [ "$(archiver 'archived_count > 0')" = t ]; }
until_it has_tried
echo "archived: $(archiver 'archived_count > 0')"
denied "$archived"

echo "== with rules for what was denied"
setenforce 0
until_it has_archived
journalctl --sync
journalctl -b --no-pager -o cat --since "$archived" |
	sed -nE 's/.*avc: +denied +\{ ([^}]*) \}.* scontext=[^:]*:[^:]*:(postgresql_t):.* tcontext=[^:]*:[^:]*:([^: ]*):.* tclass=([a-z0-9_]*) .*/(allow \2 \3 (\4 (\1)))/p' |
	sort -u >/root/plumb-archive.cil
cat /root/plumb-archive.cil
semodule -i /root/plumb-archive.cil
setenforce 1
sql "SELECT pg_stat_reset_shared('archiver')"
insert
sql 'SELECT pg_switch_wal()'
until_it has_tried
echo "archived with them: $(archiver 'archived_count > 0')"
echo end
