#!/bin/sh
# Makes the image of a test machine with SELinux out of that without:
#
#   BASE=DIR build_selinux.sh DIR RELEASE MIRROR SIZE PACKAGE...
#
# It leaves what build.sh leaves, is given what that is given, and has namespaces of
# its own too. The disk is changed in place: its files are labelled.
set -eu

dir=$1 release=$2
shift 4
root=$dir/root
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

say() { echo "vm: $release with SELinux: $*"; }
in_root() { chroot "$root" "$@"; }

say "copying the image without it (1 of 3)"
cp --sparse=always "$BASE/disk" "$dir/disk"
cp "$BASE/kernel" "$BASE/initrd" "$dir/"
mkdir "$root"
mount -o loop "$dir/disk" "$root"
mount -t proc proc "$root/proc"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"

say "installing Debian's policy (2 of 3)"
in_root apt-get -qq update
in_root apt-get -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confold install "$@"
in_root apt-get clean
rm -rf "$root"/var/lib/apt/lists/* "$root/usr/sbin/policy-rc.d" "$root/etc/resolv.conf"
# It is loaded, and warns only: a policy that keeps the machine from booting would leave nobody to say so.
mkdir -p "$root/etc/selinux"
printf 'SELINUX=permissive\nSELINUXTYPE=default\n' >"$root/etc/selinux/config"
umount "$root/proc"

say "labelling the files (3 of 3)"
in_root setfiles -F /etc/selinux/default/contexts/files/file_contexts /
rm -f "$root/.autorelabel"
{
	cat "$BASE/about"
	# shellcheck disable=SC2016 # dpkg-query fills these in
	in_root dpkg-query -W -f='${Package} ${Version}\n' selinux-policy-default
} >"$dir/about"
umount "$root"
rmdir "$root"
