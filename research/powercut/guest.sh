# shellcheck shell=bash
# What a guest of the power-cut trials does. The host puts assignments before
# it (ENGINE, STORAGE and so on: see script in guest.go) and a call of
# prepare, serve or verify behind it. IN holds plumb and what else was sent,
# OUT goes back to the host: report has a line "KEY VALUE" for each thing seen.
set -u
IN=${IN:-/in}
OUT=${OUT:-/out}
DATA=/srv/data
BOOK=/srv/book
DB=$DATA/db
SOCKET=/tmp/powercut.sock

say() { echo "powercut: $SECONDS s: $*"; }
note() {
	say "$*"
	echo "$*" >>"$OUT/report"
}
# 77 is what automake's tests say for "cannot be done here".
skip() {
	note "skip $*"
	exit 77
}
fail() {
	note "fail $*"
	exit 1
}
need() {
	for program; do
		command -v "$program" >/dev/null || skip "this guest has no $program"
	done
}

# The disk that is cut has the serial number "data".
find_disk() {
	DISK=${DISK_data:-}
	for block in /sys/block/vd*; do
		[ -n "$DISK" ] || [ "$(cat "$block/serial" 2>/dev/null)" != data ] || DISK=/dev/${block##*/}
	done
	[ -b "$DISK" ] || fail "no disk of the name data"
	case $(cat "/sys/block/${DISK##*/}/queue/write_cache") in
	*back*) ;;
	*) fail "$DISK says that it has no volatile cache: no flush would be seen" ;;
	esac
}

# --- storage

make_storage() {
	mkdir -p "$DATA"
	case $STORAGE in
	ext4)
		mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$DISK" && mount -t ext4 "$DISK" "$DATA"
		;;
	xfs)
		need mkfs.xfs xfs_repair
		mkfs.xfs -q -f -K "$DISK" && mount -t xfs "$DISK" "$DATA"
		;;
	zfs)
		need zpool
		modprobe zfs
		zpool create -f -o ashift=12 -o cachefile=none -O mountpoint=none -O compression=lz4 -O atime=off tank "$DISK" || return
		set -- -o "mountpoint=$DATA" -o "recordsize=$RECORD"
		for property in $PROPERTIES; do set -- "$@" -o "$property"; done
		zfs create "$@" tank/data
		;;
	esac
}

open_storage() {
	mkdir -p "$DATA"
	case $STORAGE in
	zfs)
		modprobe zfs
		zpool import -f -d /dev -o cachefile=none tank
		;;
	*) mount -t "$STORAGE" "$DISK" "$DATA" ;;
	esac
}

close_storage() {
	case $STORAGE in
	zfs) zpool export tank ;;
	*) umount "$DATA" ;;
	esac
}

# Looks at every block that the filesystem knows of; the server is down.
check_storage() {
	case $STORAGE in
	zfs)
		zpool scrub -w tank && zpool status -v tank >"$OUT/zpool.txt"
		result storage grep -q 'errors: No known data errors' "$OUT/zpool.txt"
		close_storage || note "check export bad"
		;;
	ext4)
		close_storage || note "check umount bad"
		result storage e2fsck -f -n "$DISK"
		;;
	xfs)
		close_storage || note "check umount bad"
		result storage xfs_repair -n "$DISK"
		;;
	esac
}

# result NAME COMMAND... notes whether a check went well, and keeps what it said.
result() {
	check=$1
	shift
	if "$@" >"$OUT/$check.txt" 2>&1; then note "check $check ok"; else note "check $check bad"; fi
}

# --- servers

as() {
	user=$1
	shift
	setpriv --reuid="$user" --regid="$user" --init-groups "$@"
}

# The account that MariaDB and MySQL run as; a host that only has their
# programs has none of their own.
mysql_user() {
	if id -u mysql >/dev/null 2>&1; then echo mysql; else echo nobody; fi
}

# sid PROGRAM ARGUMENTS... becomes a program of the MySQL of Debian sid, which
# is unpacked on the host, with the loader and the libraries beside it.
sid() {
	program=$MYSQL/usr/$1
	shift
	exec "$LOADER" --library-path "$MYSQL/usr/lib/x86_64-linux-gnu:$MYSQL/usr/lib/mysql/private" "$program" "$@"
}

mysql_programs() {
	MYSQL=${CACHE:-/nowhere}/mysql-sid
	for LOADER in "$MYSQL"/usr/lib64/ld-linux-x86-64.so.2 "$MYSQL"/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2; do
		[ ! -x "$LOADER" ] || break
	done
	if ! [ -x "$LOADER" ] || ! [ -x "$MYSQL/usr/sbin/mysqld" ] || ! [ -x "$MYSQL/usr/bin/mysqlcheck" ]; then
		skip "this guest has no MySQL of Debian sid"
	fi
}

# mysqld ARGUMENTS... becomes that server; Debian's build looks for its files under /usr and /var.
mysqld() {
	sid sbin/mysqld --no-defaults --basedir="$MYSQL/usr" --user="$(mysql_user)" --datadir="$DB" --secure-file-priv=NULL --mysqlx=0 "$@"
}

postgres_programs() {
	for dir in /usr/lib/postgresql/*/bin; do PATH=$dir:$PATH; done
	need initdb postgres pg_ctl pg_isready
}

make_server() {
	mkdir -p "$DB"
	case $ENGINE in
	mariadb)
		need mariadbd mariadb-install-db mariadb mariadb-check
		chown "$(mysql_user)" "$DB"
		mariadb-install-db --no-defaults --user="$(mysql_user)" --datadir="$DB" --auth-root-authentication-method=normal --skip-test-db
		;;
	mysql)
		mysql_programs
		chown "$(mysql_user)" "$DB"
		(mysqld --initialize-insecure --log-error=/tmp/server.log)
		;;
	postgres)
		postgres_programs
		chown postgres:postgres "$DB"
		chmod 700 "$DB"
		as postgres initdb -D "$DB" -k -A trust --locale=C.UTF-8 -E UTF8
		;;
	esac
}

# start fails when the server ends. One that neither answers nor ends in five
# minutes, which are long even without hardware help, is not judged; but MySQL
# that finds a torn page says so, dumps it and hangs, and that is a failure.
start() {
	case $ENGINE in
	mariadb)
		# shellcheck disable=SC2086 # the settings are words
		mariadbd --no-defaults --user="$(mysql_user)" --datadir="$DB" --socket="$SOCKET" --port="$PORT" --bind-address=127.0.0.1 \
			--skip-name-resolve --log-error=/tmp/server.log $SETTINGS &
		;;
	mysql)
		mysql_programs
		# shellcheck disable=SC2086
		mysqld --socket="$SOCKET" --port="$PORT" --bind-address=127.0.0.1 --log-error=/tmp/server.log $SETTINGS &
		;;
	postgres)
		postgres_programs
		# Nothing runs since the boot; the number in it may by now be another's.
		rm -f "$DB/postmaster.pid"
		# shellcheck disable=SC2086
		setpriv --reuid=postgres --regid=postgres --init-groups postgres -D "$DB" -c port="$PORT" -c listen_addresses=127.0.0.1 -c unix_socket_directories=/tmp $SETTINGS >/tmp/server.log 2>&1 &
		;;
	esac
	SERVER=$!
	hung=0
	for _ in $(seq 300); do
		if ! kill -0 "$SERVER" 2>/dev/null || [ "$hung" -ge 30 ]; then
			keep_log
			return 1
		fi
		answers && return 0
		! found_torn || hung=$((hung + 1))
		sleep 1
	done
	keep_log
	fail "see the server answer or end"
}

# keep_log shortens lines: MySQL dumps a page on one.
keep_log() {
	cut -b -300 /tmp/server.log | tail -n 200 >"$OUT/server.log"
}

found_torn() {
	[ "$ENGINE" = mysql ] && grep -qa 'Database page corruption on disk' /tmp/server.log
}

answers() {
	case $ENGINE in
	mariadb) mariadb --no-defaults --socket="$SOCKET" --user=root --connect-timeout=5 -e 'DO 1' >/dev/null 2>&1 ;;
	mysql) (sid bin/mysqladmin --no-defaults --socket="$SOCKET" --user=root --connect-timeout=5 ping) >/dev/null 2>&1 ;;
	postgres) pg_isready -q -h 127.0.0.1 -p "$PORT" ;;
	esac
}

# mariadb-admin shutdown on a busy machine loses the connection that it asked
# to end, and fails.
stop() {
	case $ENGINE in
	mariadb | mysql) kill "$SERVER" ;;
	postgres) as postgres pg_ctl -D "$DB" -m fast -s -w -t 120 stop ;;
	esac
	wait "$SERVER"
}

make_users() {
	case $ENGINE in
	mariadb)
		mariadb --no-defaults --socket="$SOCKET" --user=root -e \
			"CREATE DATABASE tpcc; CREATE USER bench@'%'; GRANT ALL ON *.* TO bench@'%'"
		;;
	mysql)
		(sid bin/mysql --no-defaults --socket="$SOCKET" --user=root -e \
			"CREATE DATABASE tpcc; CREATE USER bench@'%'; GRANT ALL ON *.* TO bench@'%'")
		;;
	postgres) psql -q -h 127.0.0.1 -p "$PORT" -U postgres -d postgres -c 'CREATE DATABASE tpcc' ;;
	esac
}

dsn() {
	case $ENGINE in
	mariadb | mysql) echo "mysql://bench@127.0.0.1:$PORT/tpcc" ;;
	postgres) echo "postgres://postgres@127.0.0.1:$PORT/tpcc" ;;
	esac
}

# all_tables reads what mariadb-check or mysqlcheck said: a line for each table.
all_tables() {
	if grep -qE 'OK$' "$OUT/tables.txt" && ! grep -qvE 'OK$' "$OUT/tables.txt"; then note "check tables ok"; else note "check tables bad"; fi
}

check_server() {
	result tpcc "$IN/plumb" load tpcc check --scale "$SCALE" --dsn "$(dsn)"
	case $ENGINE in
	mariadb)
		mariadb-check --no-defaults --socket="$SOCKET" --user=root --check --extended --databases tpcc >"$OUT/tables.txt" 2>&1
		all_tables
		;;
	mysql)
		(sid bin/mysqlcheck --no-defaults --socket="$SOCKET" --user=root --check --extended --databases tpcc) >"$OUT/tables.txt" 2>&1
		all_tables
		;;
	postgres)
		if command -v pg_amcheck >/dev/null; then
			result tables pg_amcheck -h 127.0.0.1 -p "$PORT" -U postgres --install-missing --heapallindexed -d tpcc
		else
			note "check tables skipped"
		fi
		;;
	esac
}

# Not ibdata1: what its doublewrite area holds are pages of others, which
# innochecksum takes for bad ones.
innodb_pages() {
	for file in "$DB"/tpcc/*.ibd "$DB"/mysql/*.ibd; do
		innochecksum "$file" || {
			echo "$file"
			return 1
		}
	done
}

# MySQL keeps its dictionary and its undo in files of their own.
mysql_pages() {
	for file in "$DB"/tpcc/*.ibd "$DB"/mysql.ibd "$DB"/undo_00?; do
		(sid bin/innochecksum "$file") || {
			echo "$file"
			return 1
		}
	done
}

# Pages of a server that was stopped in peace carry good checksums.
check_pages() {
	case $ENGINE in
	mariadb)
		if ! command -v innochecksum >/dev/null; then
			note "check pages skipped"
			return
		fi
		result pages innodb_pages
		;;
	mysql) result pages mysql_pages ;;
	postgres) result pages as postgres pg_checksums --check -D "$DB" ;;
	esac
}

# --- what the host asks for

# prepare makes all that the trials of a row begin with.
prepare() {
	find_disk
	make_storage || fail "make $STORAGE on $DISK"
	make_server || fail "make the server's directory"
	start || fail "start the new server"
	make_users || fail "make the database and its user"
	"$IN/plumb" load tpcc prepare --scale "$SCALE" --threads 2 --dsn "$(dsn)" || fail "fill the tables"
	# Makes the ledger's table too: its loss would be no loss of a commit.
	"$IN/plumb" load tpcc run --scale "$SCALE" --time 1 --ledger /tmp/first --dsn "$(dsn)" || fail "run once"
	stop || fail "stop the new server"
	close_storage || fail "close $STORAGE"
	note "prepared yes"
}

# serve runs the server under load until the power is cut. The ledger is on a
# disk of its own, which is not cut, and the host is told how it grows.
serve() {
	find_disk
	open_storage || fail "open $STORAGE"
	start || fail "start the server"
	mkfs.ext4 -q -F "${DISK_book:-}" || fail "make the disk of the ledger"
	open_book || fail "open the disk of the ledger"
	"$IN/powercut" -watch "$BOOK/ledger" &
	"$IN/plumb" load tpcc run --scale "$SCALE" --threads "$THREADS" --time 3600 --ledger "$BOOK/ledger" --dsn "$(dsn)" >/tmp/load.txt 2>&1
	tail -n 5 /tmp/load.txt
	fail "keep the load going"
}

open_book() {
	mkdir -p "$BOOK"
	mount -t ext4 "${DISK_book:-}" "$BOOK"
}

# shorten gives what the ledger had when the power was cut, if that was before
# its end: a header of 4096 bytes and 16 for each record.
shorten() {
	if [ "$RECORDS" -eq 0 ]; then cat "$BOOK/ledger"; else head -c "$((4096 + 16 * RECORDS))" "$BOOK/ledger"; fi >/tmp/ledger
}

# verify looks at what a power cut left.
verify() {
	find_disk
	if ! open_book || ! shorten; then fail "read the ledger"; fi
	if ! open_storage; then
		note "mounted no"
		return 0
	fi
	note "mounted yes"
	if ! start; then
		note "started no"
		return 0
	fi
	note "started yes"
	"$IN/plumb" load verify --ledger /tmp/ledger --json --dsn "$(dsn)" >"$OUT/verify.json" 2>"$OUT/verify.txt"
	note "verify $?"
	check_server
	if stop; then note "check stop ok"; else note "check stop bad"; fi
	keep_log
	check_pages
	check_storage
	note "done yes"
}
