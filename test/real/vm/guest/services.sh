# shellcheck shell=bash
# Services, drop-ins, timers and trials on a real systemd. What is seen goes to /out.
set -e
plumb() { /in/plumb "$@" </dev/null; }
knob() { echo "process:$(server)#nofile_soft"; }
server() { systemctl show --value --property=MainPID mariadb; }
limit() { [ "$(server)" != 0 ] && awk '/^Max open files/ {print $4}' "/proc/$(server)/limits"; }
io_capacity() { mariadb -Ne 'SELECT @@innodb_io_capacity'; }
# until_it COMMAND... waits for at most five minutes.
until_it() {
	for _ in $(seq 300); do
		! "$@" || return 0
		sleep 1
	done
	echo "after five minutes not: $*"
	systemctl list-timers --all --no-pager
	journalctl --no-pager -n 50
	return 1
}
has_server() { mariadb-admin --silent ping >/dev/null 2>&1; }
has_limit() { [ "$(limit)" = "$1" ] && has_server; }
# over: no trial is being waited for, and none is being taken back.
over() { [ -z "$(systemctl list-units --all --no-legend 'plumb-undo-*')" ]; }
dropin=/etc/systemd/system/mariadb.service.d/zz-plumb.conf

systemctl is-system-running --wait || systemctl --failed --no-legend
until_it has_server
first=$(limit)
echo "first: $first"

echo "== a drop-in, and a restart that takes it in"
pid=$(server)
began=$SECONDS
plumb fix --yes --restart --set "$(knob)=40000"
trial=$((2 * (SECONDS - began) + 15))s # which begins before the restart
echo "a restart takes $((SECONDS - began)) s here, a trial $trial"
grep '^LimitNOFILE' $dropin
echo "fixed: $(limit), pid: $(($(server) != pid))"
plumb undo --yes --restart
echo "undone: $(limit), drop-in: $(ls $dropin 2>/dev/null)"

echo "== a trial that nobody confirms"
pid=$(server)
plumb fix --yes --restart --try "$trial" --set "$(knob)=41000"
echo "tried: $(limit), timer: $(systemctl list-timers --all --no-legend 'plumb-undo-*' | grep -c plumb-undo)"
until_it has_limit "$first"
until_it over
echo "back: $(limit), drop-in: $(ls $dropin 2>/dev/null)"

echo "== a trial that is confirmed, of a setting of the running server"
port=$(mariadb -Ne 'SELECT @@port')
plumb fix --yes --try 30s --set "mysql:$port#innodb_io_capacity=321"
plumb confirm
until_it over
echo "confirmed: $(io_capacity)"
systemctl restart mariadb
until_it has_server
echo "restarted: $(io_capacity)"
plumb undo --yes
echo "undone: $(io_capacity), in the files: $(grep -rc innodb_io_capacity /etc/mysql/mariadb.conf.d | grep -v ':0' || true)"

echo "== a trial whose server does not start"
plumb fix --yes --restart --try "$trial" --set "mysql:$port#innodb_temp_data_file_path=none" || echo "fix ended with $?"
echo "down: $(systemctl is-active mariadb)"
until_it has_server
until_it over
echo "came back: $(systemctl is-active mariadb), in the files: $(grep -rl innodb_temp_data_file_path /etc/mysql/mariadb.conf.d || true)"
plumb history
