# shellcheck shell=bash
# What the scripts about points of a MariaDB begin with. Commands are typed with the
# real binary and shown; what the test looks for begins with "== ".
set -e
cd /
died() { echo "it ended in line $1"; tail -n 40 /var/log/mysql/error.log /var/log/syslog 2>/dev/null || true; }
trap 'died $LINENO' ERR

# typed CODE ARG... types a command that is to end so, and keeps what it says in $said. One that hangs says where.
typed() {
	local want=$1 got=0
	shift
	echo "\$ plumb $*"
	said=$(timeout --signal=QUIT --kill-after=30 480 /in/plumb "$@" </dev/null 2>&1) || got=$?
	printf '%s\n' "$said"
	echo "= $got, $SECONDS s"
	[ "$got" = "$want" ] || { echo "it ended with $got, not $want"; return 1; }
}
# point prints the first point that was named last.
point() { printf '%s\n' "$said" | grep -oE '[0-9]{8}T[0-9]{6}Z-[0-9a-f]{4}' | head -n 1; }
ask() { mariadb -Ne "$1"; }
# until_it COMMAND... waits for at most five minutes.
until_it() {
	for _ in $(seq 300); do
		! "$@" >/dev/null 2>&1 || return 0
		sleep 1
	done
	echo "after five minutes not: $*"
	return 1
}

# move_mariadb DATA LOG [SETTING...] has MariaDB keep its data and its binary log there.
move_mariadb() {
	local data=$1 log=$2
	shift 2
	cp -a /var/lib/mysql/. "$data/"
	chown mysql:mysql "$data" "$log"
	printf '%s\n' '[mariadbd]' "datadir = $data" "log_bin = $log/binlog" 'server_id = 7' 'gtid_strict_mode = ON' 'sync_binlog = 1' \
		'innodb_flush_log_at_trx_commit = 1' 'innodb_buffer_pool_size = 64M' 'innodb_log_file_size = 16M' 'log_error = /var/log/mysql/error.log' "$@" \
		>/etc/mysql/mariadb.conf.d/99-points.cnf
	# Which would look through all tables after each start, beside what is tried here.
	printf '#!/bin/sh\n' >/etc/mysql/debian-start
	service mariadb start
	until_it mariadb-admin --silent ping
	ask 'CREATE DATABASE shop; CREATE TABLE shop.ledger (id INT PRIMARY KEY) ENGINE=InnoDB;
		CREATE TABLE shop.orders (id INT AUTO_INCREMENT PRIMARY KEY, mail TEXT); INSERT INTO shop.orders (mail) VALUES ("a@example.com"), ("b@example.com")'
	echo "MariaDB $(ask 'SELECT VERSION()')"
}

# said_of TEXT counts what the last command said, however it was broken into lines.
said_of() { printf '%s\n' "$said" | tr -s '[:space:]' ' ' | grep -c -- "$1" || true; }

# start_writer commits the rows that follow, 1, 2, 3, …, and notes each that was acknowledged. It is there
# while a point is taken, and not while a copy is looked at: the processor is emulated.
start_writer() {
	: >/run/acknowledged
	seq "$(ask 'SELECT COALESCE(MAX(id), 0) + 1 FROM shop.ledger')" 100000000 | sed 's/.*/INSERT INTO shop.ledger VALUES (&); SELECT &;/' |
		mariadb -Nn >/run/acknowledged 2>/run/writer.err &
	writer=$!
	until_written
}
# until_written waits for a writer's first rows.
until_written() {
	until [ "$(acknowledged)" -gt 0 ]; do
		kill -0 "$writer" || { cat /run/writer.err; return 1; }
		sleep 0.2
	done
	sleep 2
}
# The row that is being printed may be cut short, which only makes it smaller.
acknowledged() { tail -c 100 /run/acknowledged | head -c -1 | tail -n 1 | grep -oE '^[0-9]+' || echo 0; }
stop_writer() {
	kill "$writer"
	wait "$writer" 2>/dev/null || true
	! grep . /run/writer.err
}

# taken CODE ARG... takes a point while rows are written: $row was acknowledged before.
taken() {
	start_writer
	row=$(acknowledged)
	typed "$@"
	stop_writer
	echo "acknowledged before: $row, after: $(acknowledged)"
}

# whole SOCKET ROW says whether a copy has all rows from the first to at least this one.
whole() {
	mariadb -S "$1" -Ne "SELECT IF(COUNT(*) = MAX(id) AND MAX(id) >= $2, 'whole', CONCAT('lost: ', COUNT(*), ' rows up to ', MAX(id), ' of $2')) FROM shop.ledger"
}
# socket_of NAME gives the socket of a clone.
socket_of() { echo "/var/lib/plumb-copies/$1/run/mysqld.sock"; }
