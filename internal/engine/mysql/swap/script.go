package swap

import "plumb/internal/protect/service"

// names are what all scripts call their first arguments. as runs a command as the server's user, with no rights of root's: the
// directories are that user's, who could put a link in the way.
const names = `dir=$1 uid=$2 gid=$3
shift 3
export LC_ALL=C
as() { setpriv --reuid="$uid" --regid="$gid" --init-groups --inh-caps=-all -- "$@"; }
`

// mark is the file that says that the data were brought under the new server, and where its log stood before.
const mark = "upgraded"

// configured has the program of the new version read the configuration, as its packages will find it, with the plugins of before.
const configured = names + `p="$dir/programs"
at=$(as mktemp -d /tmp/plumb-swap-XXXXXX)
trap 'rm -rf -- "$at"' EXIT
said=$(cd / && LD_LIBRARY_PATH=$(echo "$p"/usr/lib/*-linux-gnu "$p"/lib/*-linux-gnu | tr ' ' :) as "$p/usr/sbin/mariadbd" --basedir="$p/usr" \
	--datadir="$at" --log-error= "$@" --verbose --help 2>&1 >/dev/null) ||
{ echo "the new server does not take the configuration as it is: $({ printf '%s\n' "$said" | grep -F '[ERROR]' || printf '%s\n' "$said"; } | tail -n 5)" >&2; exit 1; }`

// still are functions for data that must stay as they are while no server is to run, although something may watch the server and start it
// again: a watchdog, a resource manager, a person. A server changes to its data directory before all else, so it does not come into one
// without permissions; whoever was in it before that is seen. The times are those of whole seconds, as some filesystems keep no others.
const still = service.Idle + `empty() {
	by=$(runs_in "$1")
	[ -z "$by" ] || { echo "process $by runs in $1: something has started the server again. Pause what watches it, and stop the server" >&2; exit 1; }
}
files() { (cd "$1" && find . -path "./${2:-.}" -prune -o ! -type d -printf '%P %y %s %T@\n') | sed 's/[.][0-9]*$//' | sort | cksum; }
alike() { [ "$(files "$1" "${3:-}")" = "$(files "$2")" ] || { echo "$1 is no longer as it was copied: something has started the server again meanwhile. Pause what watches it" >&2; exit 1; }; }
`

// shut lets nobody into the data any more. What is left is as it was copied, or what the server was promised would be missing in the copy.
const shut = names + still + `data=$1
as chmod 1000 "$data"
empty "$data"
while [ "$#" -gt 0 ]; do
	alike "$1" "$2"
	shift 2
done
as chmod 0 "$data"`

// putBack gives a directory the content that was kept: without that nothing is done, for the packages of before come next. A directory
// that can be renamed changes places with what was kept, or with a copy of it where that is on another filesystem. One that is a
// filesystem of its own cannot: there what the new server wrote goes into a directory within, and what was kept is copied; the
// directory within bears the identity of what was kept, so that one of an earlier way back is not taken for its own. Killed amid that,
// it goes on: the file $back says which directory holds the data of before once all of them are there, and of what. Only then what
// was kept is removed, under another name, so that half of it is not copied. Nothing is put in the place of what is not mounted, which
// would lie over it the next day. The data of before are shut, for the programs of the newer server are still there; not what lies beside
// them, such as a log.
const putBack = names + still + `data=$1 kept=$2 aside=$3
back="$dir/${kept##*/}.back" gone="${kept%/*}/.${kept##*/}.plumb-gone"
exec 9>"$dir/alone"
flock 9
who() { stat -c '%i %w' -- "$1"; }
is_data() { [ -d "$kept/mysql" ]; } # the system's own tables, without which no server starts
begun() { [ -e "$back" ] && [ "$(sed -n 1p "$back")" = "$(who "$kept")" ]; }
is_back() {
	[ -e "$back" ] && [ "$(sed -n 2p "$back")" = "$(who "$data" 2>/dev/null)" ] || return 1
	[ ! -d "$kept" ] || begun
}
whole() {
	sync -f "$1"
	{ who "$kept" && who "$1"; } >"$back.new"
	sync "$back.new"
	mv -T "$back.new" "$back"
	sync -f "$dir"
}
renamed() {
	aside="${data%/*}/$aside" from=$kept
	[ ! -e "$data" ] || [ ! -e "$aside" ] || { echo "$aside is there already, from an earlier way back: move it away" >&2; exit 1; }
	if [ "$(stat -c %d "$kept")" != "$(stat -c %d "${data%/*}")" ]; then
		from="${data%/*}/.${data##*/}.plumb-back"
		rm -rf --one-file-system -- "$from"
		mkdir -m 700 "$from"
		chown -h "$uid:$gid" "$from"
		as cp -a "$kept/." "$from/"
	fi
	whole "$from"
	! is_data || as chmod 0 "$from"
	[ ! -e "$data" ] || mv -T "$data" "$aside"
	(empty "$aside") || { mv -T "$aside" "$data"; exit 1; }
	mv -T "$from" "$data"
	sync -f "$data"
}
filled() {
	within="$data/.$aside" of="of $(who "$kept")"
	! is_data || as chmod "$(stat -c %a "$kept")" "$data"
	[ ! -e "$within" ] || as test -e "$within/.$of" || as rmdir "$within" 2>/dev/null || { echo "$within is there already, from an earlier way back: move it away" >&2; exit 1; }
	as mkdir -p -m 700 "$within" "$within/.$of"
	as test -e "$within/.all" || {
		as find "$data" -mindepth 1 -maxdepth 1 ! -path "$within" -exec mv -t "$within" -- {} +
		as touch "$within/.all"
	}
	as find "$data" -mindepth 1 -maxdepth 1 ! -path "$within" -exec rm -rf -- {} +
	as cp -a "$kept/." "$data/"
	! is_data || as chmod 0 "$data"
	empty "$data"
	alike "$data" "$kept" ".$aside"
	whole "$data"
}
is_back || {
	[ -d "$kept" ] || { echo "$kept, with the data of before, is not there: nothing is put back" >&2; exit 1; }
	[ -n "$(ls -A "$data" 2>/dev/null)" ] || begun ||
		{ echo "$data, with what was written since, is empty or not there: mount what it lies on; if it is gone for good, put a file in its place" >&2; exit 1; }
	idle "$data"
	if mountpoint -q "$data"; then filled; else renamed; fi
}
[ ! -d "$kept" ] || mv -T "$kept" "$gone"
rm -rf --one-file-system -- "$gone"`

// upgrade runs mariadb-upgrade on a server that asks nobody who he is, and to which only its own user and root can come: over
// a socket in a directory of its own, in which that user could put links: root neither writes nor reads there. The lock waits for
// the server of a script that was killed. Clients since 11.4 want TLS of a server on a socket too, and one may be set to have none. Only
// now the data can be entered again, as what was kept of them can.
const upgrade = names + `data=$1 was=$2 kept=$3
shift 3
[ ! -e "$dir/` + mark + `" ] || exit 0
exec 9>"$dir/alone"
flock 9
rm -f -- "$dir"/*.back
run=$(mktemp -d /run/plumb-upgrade-XXXXXX)
chown "$uid:$gid" "$run"
trap 'rm -rf -- "$run"' EXIT
said=
fails() { as tail -n 30 "$run/log" >&2 2>/dev/null || :; printf '%s\n' "$said" | tail -n 30 >&2; exit 1; }
runs() { case $(sed -n 's/^State:[ \t]*\(.\).*/\1/p' "/proc/$server/status" 2>/dev/null) in ''|Z|X) return 1 ;; esac; }
as chmod "$(stat -c %a "$kept")" "$data"
sql() { as mariadb --no-defaults --skip-ssl --socket="$run/s" --user=root --batch --raw --skip-column-names --execute="$1"; }
(exec setpriv --reuid="$uid" --regid="$gid" --init-groups --inh-caps=-all --pdeathsig TERM -- /usr/sbin/mariadbd --datadir="$data" --socket="$run/s" --pid-file="$run/pid" \
	--log-error="$run/log" --skip-networking --skip-grant-tables --skip-slave-start --event-scheduler=DISABLED "$@") &
server=$!
until as mariadb-admin --no-defaults --skip-ssl --socket="$run/s" --user=root ping >/dev/null 2>&1; do
	runs || fails
	sleep 0.2
done
next=$(sql 'SHOW ENGINE INNODB STATUS' | sed -n 's/^Trx id counter \([0-9]*\).*/\1/p' | head -n 1)
gtid=$(sql 'SELECT @@GLOBAL.gtid_binlog_pos')
[ -n "$next" ] || { echo "the server does not say which transaction is next" >&2; exit 1; }
said=$(as mariadb-upgrade --no-defaults --skip-ssl --socket="$run/s" --user=root 2>&1) || fails
kill -TERM "$server"
wait "$server" || fails
as sync -f "$data"
printf 'from %s\nnext %s\ngtid %s\n' "$was" "$next" "$gtid" >"$dir/` + mark + `.new"
sync "$dir/` + mark + `.new"
mv -T "$dir/` + mark + `.new" "$dir/` + mark + `"`
