#!/bin/sh
# Runs the line of this run or a shell in a machine that is up, and powers it off.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root LC_ALL=C.UTF-8
udevadm settle --timeout=60
modprobe -q zfs || true # a machine with Ceph has none

for block in /sys/block/vd*; do
	name=$(cat "$block/serial")
	export "DISK_$name=/dev/${block##*/}"
done
out=${DISK_out-}
[ -z "$out" ] || mount -t ext4 "$out" /out

# end closes the disk that goes back before it says that it did: from then on
# the host may take the power away.
end() {
	cd /
	# Not for ever: a pool that lost its disks never ends it.
	sync &
	for _ in $(seq 60); do
		kill -0 $! 2>/dev/null || break
		sleep 1
	done
	[ -z "$out" ] || umount /out 2>/dev/null || sync -f /out
	[ -z "${1-}" ] || printf '\036plumb-vm exit %s\n' "$1" >&4
	echo o >/proc/sysrq-trigger
	sleep 10
	echo b >/proc/sysrq-trigger
	sleep 60
}

if [ -f /in/.vm/line ]; then
	exec 4<>/dev/ttyS1
	stty -F /dev/ttyS1 115200 raw -echo clocal
	printf '\036plumb-vm up\n' >&4
	cd /root || cd /
	# Of a line that does not end the console tells what it did last.
	while sleep 240; do
		echo "processes after $(cut -d' ' -f1 /proc/uptime) s:"
		ps --ppid 2 -p 2 --deselect -o pid,ppid,etimes,cputimes,stat,wchan:20,args
	done </dev/null >/dev/ttyS0 2>&1 4>&- &
	bash /in/.vm/line </dev/null >&4 2>&1 4>&-
	end "$?"
fi
stty -F /dev/ttyS0 sane
echo
echo "Linux $(uname -r), OpenZFS $(cat /sys/module/zfs/version 2>/dev/null || echo none). Files that came along are in /in."
[ -z "$out" ] || echo 'What is put into /out comes back.'
echo 'The disk is /dev/disk/by-id/virtio-data. exit ends the machine; Ctrl-A X ends it at once.'
cd /root || cd /
setsid -c -w bash -l </dev/ttyS0 >/dev/ttyS0 2>&1
end
