# shellcheck shell=bash
# shellcheck disable=SC2154 # the scripts say which unit it is, and what its files are labelled
# What the scripts about SELinux begin with. The line of a run is a service, and a DBA is somebody who has logged in: this
# goes on as the shell of root who has. A service may not become that, so it does before the policy is enforced.
login=unconfined_u:unconfined_r:unconfined_t:s0-s0:c0.c1023
[ "${LOGGED_IN-}" ] || exec env LOGGED_IN=yes runcon "$login" bash "$0"
set -eE
cd /root
trap 'echo "it ended in line $LINENO"; denied "$began"; systemctl --failed --no-legend; journalctl -u "$unit" --no-pager -n 30 || true' ERR
install -m 0755 /in/plumb /usr/bin/plumb
restorecon /usr/bin/plumb

now() { date '+%F %T'; }
began=$(now)
# denied SINCE shows what was denied since: who, what, of which file or process.
denied() {
	journalctl --sync
	journalctl -b --no-pager -o cat --since "$1" |
		sed -nE 's/.*avc: +denied +(\{[^}]*\}).* comm=("[^"]*"|[0-9A-F]*).* scontext=[^:]*:[^:]*:([^: ]*).* tcontext=[^:]*:[^:]*:([^: ]*).* tclass=([a-z0-9_]*) permissive=0.*/denied: \3 \1 \4:\5 (\2)/p' |
		sort | uniq -c
}
# enforce has the policy enforced from here on.
enforce() {
	systemctl is-system-running --wait || systemctl --failed --no-legend
	setenforce 1
	began=$(now)
	echo "mode: $(getenforce), shell: $(id -Z)"
}
# typed CODES ARG... types a command that is to end with one of these, and keeps what it says in $said.
typed() {
	local want=$1 got=0
	shift
	echo "\$ plumb $*"
	said=$(timeout --signal=QUIT --kill-after=30 900 plumb "$@" </dev/null 2>&1) || got=$?
	printf '%s\n' "$said"
	echo "= $got, $SECONDS s"
	case " $want " in
	*" $got "*) ;;
	*)
		echo "it ended with $got, not $want"
		return 1
		;;
	esac
}
# until_it COMMAND... waits for at most five minutes.
until_it() {
	for _ in $(seq 300); do
		! "$@" >/dev/null 2>&1 || return 0
		sleep 1
	done
	echo "after five minutes not: $*"
	return 1
}
domain() { tr -d '\0' <"/proc/$(systemctl show --value --property=MainPID "$1")/attr/current" | cut -d: -f3; }
# list shows which labels were set here, beside those of the policy. What semanage may write to is a pipe.
list() { semanage fcontext -l -C -n | awk 'NF {print $1, $NF}'; }
# state WHEN DATA DIR... says how the server runs, and whether all that is below its directories is labelled as its own, also after
# a relabelling.
state() {
	local when=$1 data=$2
	shift
	until_it has_server
	echo "$when: $(domain "$unit") on $(findmnt -nro SOURCE -T "$data"), rows $(rows), others $(find "$@" ! -context "*:$label:*" | wc -l), would change $(restorecon -R -n -v "$@" | wc -l)"
	find "$@" ! -context "*:$label:*" -printf 'other: %p %Z\n' | head -n 5
}
