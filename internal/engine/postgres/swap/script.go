package swap

import (
	"strconv"

	"plumb/internal/protect/service"
)

// words are the arguments of both scripts: those of initdb come last.
func (c cluster) words(old cluster) []string {
	return append([]string{old.version, c.version, c.name, old.data, c.data, c.port, strconv.Itoa(c.uid), strconv.Itoa(c.gid), old.conf, c.conf}, c.init...)
}

// names are what the scripts call their arguments. as runs a command as the server's user, with no rights of root's: the
// directories are that user's, who could put a link in the way. by runs one that changes a name as whoever owns the directory in which it is.
const names = `was=$1 new=$2 name=$3 from=$4 to=$5 port=$6 uid=$7 gid=$8 oldconf=$9 conf=${10}
shift 10
export LC_ALL=C PGCLIENTENCODING=UTF8
unset PGHOST PGPORT PGUSER PGDATABASE PGOPTIONS PGPASSFILE PGSERVICE PGDATA || :
old=/usr/lib/postgresql/$was/bin bin=/usr/lib/postgresql/$new/bin
as() { setpriv --reuid="$uid" --regid="$gid" --init-groups --inh-caps=-all -- "$@"; }
by() { if [ "$(stat -c %u "${1%/*}")" = 0 ]; then shift; "$@"; else shift; as "$@"; fi; }
fails() { printf '%s\n' "$said" | tail -n 40 >&2; exit 1; }
user=$(getent passwd "$uid" | cut -d : -f 1)
at=$(as mktemp -d /tmp/plumb-upgrade-XXXXXX)
trap 'cd /; as rm -rf "$at"' EXIT
cd "$at"
`

// alone waits for a script of a Plumb that was killed, which goes on without it.
const alone = `exec 9</etc/postgresql
flock 9
`

// rehearse has pg_upgrade look at the running server and at a cluster as the new one will be, and changes neither.
const rehearse = names + `said=$(as "$bin/initdb" -D "$at/new" -U "$user" --auth=peer "$@" 2>&1) || fails
said=$(as "$bin/pg_upgrade" --check -b "$old" -B "$bin" -d "$from" -D "$at/new" -p "$port" -U "$user" -s "$at" -o "-c config_file=$oldconf/postgresql.conf" 2>&1) ||
{ said=$said$(as find "$at/new" -name '*.txt' -path '*pg_upgrade_output*' -exec cat {} +); fails; }`

// fill makes the cluster with the settings of the old one, and has pg_upgrade copy the data.
const fill = names + alone + `[ ! -e "$conf/upgraded-by-plumb" ] || exit 0
ours="$conf/begun-by-plumb"
if [ ! -e "$ours" ]; then
	[ -z "$(ls -A "$conf" 2>/dev/null)" ] && [ ! -e "$to" ] || { echo "$conf or $to is there already" >&2; exit 1; }
	[ -d "${conf%/*}" ] || install -d -o "$uid" -g "$gid" "${conf%/*}"
	by "$conf" install -d "$conf"
	[ "$(stat -c %u "$conf")" = "$uid" ] || chown -h "$uid:$gid" "$conf"
	as touch "$ours"
fi
[ ! -e "$to" ] || by "$to" rm -rf "$to"
as find "$conf" -mindepth 1 ! -path "$ours" -delete
said=$(pg_createcluster --user="$user" --datadir="$to" --port="$port" --start-conf=manual "$new" "$name" -- "$@" 2>&1) || fails
for f in postgresql.conf pg_hba.conf pg_ident.conf environment pg_ctl.conf conf.d; do
	[ ! -e "$oldconf/$f" ] || { as rm -rf "$conf/$f"; as cp -a "$oldconf/$f" "$conf/$f"; }
done
set_() { as pg_conftool "$new" "$name" set "$1" "$2"; }
set_ data_directory "$to"
set_ hba_file "$conf/pg_hba.conf"
set_ ident_file "$conf/pg_ident.conf"
set_ external_pid_file "/var/run/postgresql/$new-$name.pid"
set_ cluster_name "$new/$name"
as pg_conftool "$new" "$name" remove stats_temp_directory
[ ! -e "$from/postgresql.auto.conf" ] || as cp -a "$from/postgresql.auto.conf" "$to/postgresql.auto.conf"
said=$(as "$bin/pg_upgrade" -b "$old" -B "$bin" -d "$from" -D "$to" -U "$user" -s "$at" \
	-o "-c config_file=$oldconf/postgresql.conf" -O "-c config_file=$conf/postgresql.conf" 2>&1) ||
{ said=$said$(as find "$to" -name '*.log' -path '*pg_upgrade_output*' -exec tail -n 5 {} +); fails; }
next=$("$bin/pg_controldata" "$to" | sed -n 's/^Latest checkpoint.s NextXID: *//p')
as sync -f "$to"
as sed -i 's/^manual[ \t]*$/auto/' "$conf/start.conf"
as sh -c 'printf "from %s/%s\nnext %s\n" "$1" "$2" "$3" >"$4"' sh "$was" "$name" "$(( ${next%%:*} * 4294967296 + ${next##*:} ))" "$conf/upgraded"
as sync "$conf/upgraded"
as mv "$conf/upgraded" "$conf/upgraded-by-plumb"
as rm "$ours"`

// putAside keeps a cluster that was made whole, with all that was written to it, under another name, where it takes room until
// somebody removes it. Of one that was not, nothing is worth keeping. Killed once the cluster has its other name, it goes on; where the
// cluster is not there for another reason, such as a disk that is not mounted, its configuration stays.
const putAside = names + alone + service.Idle + `idle "$to"
if [ -e "$conf/upgraded-by-plumb" ]; then
	if [ -e "$to" ]; then
		as rm -rf "$to/configuration"
		as cp -a "$conf" "$to/configuration"
		as touch "$conf/put-aside-by-plumb"
		by "$to" mv -T "$to" "$to.taken-back-$(date -u +%Y%m%dT%H%M%SZ)"
	elif [ ! -e "$conf/put-aside-by-plumb" ]; then
		echo "$to, with what was written since, is not there: mount what it lies on; if it is gone for good, make an empty directory of that name" >&2
		exit 1
	fi
elif [ -e "$conf" ] && [ ! -e "$conf/begun-by-plumb" ] && [ -n "$(ls -A "$conf")" ]; then
	echo "$conf is not what was made" >&2
	exit 1
elif [ -e "$conf/begun-by-plumb" ]; then
	by "$to" rm -rf "$to"
fi
by "$conf" rm -rf "$conf"
rmdir "${conf%/*}" "${to%/*}" 2>/dev/null || :`
