#!/bin/sh
# Makes the disk, the kernel and the initial RAM disk of a test machine:
#
#   build.sh DIR RELEASE MIRROR SIZE PACKAGE...
#
# It leaves DIR/disk, DIR/kernel, DIR/initrd and DIR/about. The caller gives it
# mount and process namespaces of its own, so that nothing it mounts or starts
# outlives it. Lines that begin with "vm: " are for people, the rest is the log.
set -eu

dir=$1 release=$2 mirror=$3 size=$4
shift 4
root=$dir/root
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

say() { echo "vm: $release: $*"; }
in_root() { chroot "$root" "$@"; }
install_packages() {
	in_root apt-get -qq -y --no-install-recommends \
		-o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confold install "$@"
}

say "fetching and unpacking Debian (1 of 4)"
debootstrap --variant=minbase --components=main,contrib "$release" "$root" "$mirror"

# Nothing is started while packages are installed, no cluster of PostgreSQL is
# made that nobody asked for, and a power cut now costs no more than a new build.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
mkdir -p "$root/etc/postgresql-common"
echo 'create_main_cluster = false' >"$root/etc/postgresql-common/createcluster.conf"
echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/plumb-vm"
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
# The kernel that runs here is not the one the module is for.
in_root debconf-set-selections <<-'END'
	zfs-dkms zfs-dkms/stop-build-for-unknown-kernel boolean false
	zfs-dkms zfs-dkms/note-incompatible-licenses note true
END

say "installing the kernel and the servers (2 of 4)"
in_root apt-get -qq update
install_packages "$@"

kernel=$(basename "$root"/boot/vmlinuz-*)
kernel=${kernel#vmlinuz-}
has_zfs() { in_root modinfo -k "$kernel" zfs >/dev/null 2>&1; }
build_zfs() {
	say "building OpenZFS for that kernel, which takes longest (3 of 4)"
	install_packages zfs-dkms || true
	has_zfs || in_root dkms autoinstall -k "$kernel" || true
	has_zfs && return
	tail -n 30 "$root"/var/lib/dkms/zfs/*/build/make.log || true
	say "the module of OpenZFS does not build for Linux $kernel"
	exit 1
}
case " $* " in *" zfsutils-linux "*) build_zfs ;; esac

say "writing the disk (4 of 4)"
install -m 755 "$dir/stub.sh" "$root/sbin/plumb-init"
mkdir -p "$root/in" "$root/out"
echo plumb-vm >"$root/etc/hostname"
echo '127.0.0.1 localhost plumb-vm' >"$root/etc/hosts"
in_root apt-get clean
rm -rf "$root"/var/lib/apt/lists/* "$root/usr/sbin/policy-rc.d" "$root/etc/resolv.conf"
{
	echo "linux $kernel"
	! has_zfs || echo "openzfs $(in_root modinfo -k "$kernel" -F version zfs)"
	# shellcheck disable=SC2016 # dpkg-query fills these in
	in_root dpkg-query -W -f='${Package} ${Version}\n' mariadb-server 'postgresql-[0-9]*' zfsutils-linux ceph-osd 2>/dev/null || true
} >"$dir/about"
cp "$root/boot/vmlinuz-$kernel" "$dir/kernel"
cp "$root/boot/initrd.img-$kernel" "$dir/initrd"
# What is mounted here would be taken for files.
for place in proc sys dev/pts dev/shm; do
	while mountpoint -q "$root/$place"; do umount "$root/$place"; done
done
# Initialised now, because a machine would do it in the background of each run.
mke2fs -q -F -t ext4 -L plumb-root -E lazy_itable_init=0,lazy_journal_init=0 -d "$root" "$dir/disk" "$size"
rm -rf "$root"
