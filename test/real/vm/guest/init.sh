#!/bin/sh
# The first process of a test machine without systemd, from the disk "in": makes
# it look like a booted Debian, and hands over to what runs the line.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
cd /

# on TYPE PLACE OPTIONS mounts what the initial RAM disk has not mounted.
on() {
	mkdir -p "$2"
	mountpoint -q "$2" || mount -t "$1" -o "$3" "$1" "$2"
}
on devpts /dev/pts gid=5,mode=620
on tmpfs /dev/shm mode=1777
on tmpfs /run mode=755
on tmpfs /tmp mode=1777
on cgroup2 /sys/fs/cgroup nosuid
echo plumb-vm >/proc/sys/kernel/hostname
ip link set lo up
install -d -o mysql -g mysql /run/mysqld
install -d -o postgres -g postgres -m 2775 /run/postgresql

# zpool create waits for the links that udev makes of the partitions it makes.
/usr/lib/systemd/systemd-udevd --daemon
udevadm trigger --action=add --type=subsystems
udevadm trigger --action=add --type=devices
exec /bin/sh /in/.vm/run
