# shellcheck shell=bash
# Makes a place on this host that looks like a guest of the power-cut trials:
# directories for temporary files and for the mounts, a /proc and a network of
# its own. It runs as the first process of new namespaces, where all of this
# ends with it. DIR has in and out, PLACE is the control group, $1 the guest's script.
set -eu
echo 0 >"$PLACE/cgroup.procs"
mount -t tmpfs -o mode=755 tmpfs /srv
mkdir /srv/in /srv/out
mount --bind "$DIR/in" /srv/in
mount --bind "$DIR/out" /srv/out
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t proc proc /proc
ip link set lo up
unset DIR PLACE
cd /
exec bash -c "$1"
