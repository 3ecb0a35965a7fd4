# shellcheck shell=bash
# The recorder as a service of a real systemd, from the unit that it prints itself.
set -e
install -m 0755 /in/plumb /usr/bin/plumb
systemctl is-system-running --wait || systemctl --failed --no-legend
plumb watch record --emit systemd >/tmp/unit
mkdir -p /etc/sysusers.d # which Debian leaves to whoever needs it
awk '/^# \// {file = $2; next} file {print > file}' /tmp/unit
systemd-sysusers
systemd-analyze verify --man=no /etc/systemd/system/plumb-watch.service && echo "unit: sound"
systemctl daemon-reload
touch /run/before
systemctl start plumb-watch
pid() { systemctl show --value --property=MainPID plumb-watch; }
records() { [ -s /var/lib/plumb-watch/recording.sqlite ] && plumb watch replay 2>/dev/null | grep -q .; }
# has_blocks: it has written what it saw. An emulated machine beside others takes its time.
has_blocks() { [ "$(stat -c %s /var/lib/plumb-watch/recording.sqlite-wal 2>/dev/null || echo 0)" -gt 100000 ] || [ "$(stat -c %s /var/lib/plumb-watch/recording.sqlite 2>/dev/null || echo 0)" -gt 100000 ]; }
wait_for_blocks() {
	for _ in $(seq 300); do
		! has_blocks || return 0
		sleep 1
	done
	echo "after five minutes nothing is recorded"
	ls -l /var/lib/plumb-watch
	journalctl -u plumb-watch --no-pager -n 20
	return 1
}
first=$(pid)
wait_for_blocks
echo "state: $(systemctl is-active plumb-watch), same process: $(($(pid) == first))"
echo "user: $(ps -o user:20= -p "$first" | tr -d ' ')"
grep -E '^(CapEff|CapBnd|NoNewPrivs)' "/proc/$first/status"
stat -c 'mode: %a %U %n' /var/lib/plumb-watch /var/lib/plumb-watch/recording.sqlite
echo "elsewhere: $(find / -xdev \( -path /proc -o -path /sys -o -path /run -o -path /dev -o -path /var/lib/plumb-watch \) -prune -o -user plumb-watch -newer /run/before -print | tr '\n' ' ')"

echo "== it is killed, and comes back"
kill -9 "$first"
for _ in $(seq 120); do
	sleep 1
	[ "$(pid)" = 0 ] || [ "$(pid)" = "$first" ] || break
done
sleep 40
echo "came back: $(systemctl is-active plumb-watch), another: $(($(pid) != first))"

echo "== it is stopped"
systemctl stop plumb-watch
echo "stopped: $(systemctl show --value --property=Result plumb-watch) in $(systemctl show --value --property=ExecMainStatus plumb-watch)"
records && echo "replay: reads it"
plumb watch export --from "$(date -u -d '-3 minutes' +'%F %T UTC')" --to "$(date -u +'%F %T UTC')" --format jsonl >/tmp/part || true
echo "batches: $(grep -c '"source"' /tmp/part)"
echo "of the server: $(grep -c 'mysql:3306 status\|mysql:.*status' /tmp/part)"
journalctl -u plumb-watch --no-pager -n 20
