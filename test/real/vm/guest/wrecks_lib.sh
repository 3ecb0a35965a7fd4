# shellcheck shell=bash
# What the scripts that wreck a machine begin with.
set -e
for dir in /usr/lib/postgresql/*/bin; do PATH=$dir:$PATH; done
cd /

# keep NAME keeps what plumb sees now. The test says which rules fire there.
keep() {
	/in/plumb stack --timeout 5m --json >"/out/$1.json"
	echo "$((SECONDS))s: kept $1"
}

as_postgres() { setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }

# start_mariadb OPTION... starts the server that Debian installed.
start_mariadb() {
	mariadbd --user=mysql "$@" >>/out/mariadbd.log 2>&1 &
	mariadb=$!
	for _ in $(seq 300); do
		! mariadb-admin --silent ping >/dev/null 2>&1 || return 0
		kill -0 "$mariadb"
		sleep 1
	done
}

stop_mariadb() {
	kill "$mariadb"
	wait "$mariadb" || true
}

# start_postgres DIR
start_postgres() {
	as_postgres postgres -D "$1" >>/out/postgres.log 2>&1 &
	for _ in $(seq 300); do
		! pg_isready -q || return 0
		sleep 1
	done
}

stop_postgres() { as_postgres pg_ctl -D "$1" -m fast -s -w -t 120 stop; }
