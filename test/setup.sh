#!/usr/bin/env bash
# Installs from the system's packages what the demo, the tests or the bench
# need and this machine does not have yet. Without root or sudo it installs
# nothing and says what will be skipped. It removes nothing, starts no
# service and is quick when everything is there.
set -uo pipefail

purpose=${1:-test}
declare -A package=( # program -> package that has it
  [mariadbd]=mariadb-server-core
  [my_print_defaults]=mariadb-client-core
  [initdb]=postgresql
  [mariadb-binlog]=mariadb-client
  [mariadb-backup]=mariadb-backup
  [pgbackrest]=pgbackrest
  [setpriv]=util-linux
  [xz]=xz-utils
)
[ "$(id -u)" -eq 0 ] && package+=([zfs-fuse]=zfs-fuse)
if [ "$purpose" != demo ]; then
  package+=([mkfs.xfs]=xfsprogs [mkfs.btrfs]=btrfs-progs [sfdisk]=fdisk [cryptsetup]=cryptsetup-bin [pvcreate]=lvm2 [strace]=strace [zfs-fuse]=zfs-fuse [shellcheck]=shellcheck [rpm]=rpm [gcc]=gcc [tmux]=tmux)
  # MariaDB's server-core only recommends its cluster's provider.
  [ -e /usr/lib/galera/libgalera_smm.so ] || package+=([libgalera_smm.so]=galera-4)
fi
# A machine of test/real/vm has servers of its own.
[ "$purpose" = vm ] && package=()
if [ "$purpose" = powercut ]; then
  package+=([mariadb-check]=mariadb-client-core [mariadb-admin]=mariadb-client [ip]=iproute2)
fi
if [ "$purpose" = vm ] || [ "$purpose" = test-real ] || [ "$purpose" = powercut ]; then
  package+=([qemu-system-x86_64]=qemu-system-x86 [qemu-storage-daemon]=qemu-system-common [debootstrap]=debootstrap [mke2fs]=e2fsprogs [unshare]=util-linux)
fi
[ "$purpose" = test-real ] && package+=([ansible-playbook]=ansible-core [chromium]=chromium [age]=age [zstd]=zstd [sshd]=openssh-server)
if [ "$purpose" = bench ]; then
  package+=([mysqltuner]=mysqltuner [pt-summary]=percona-toolkit)
fi
if [ "$purpose" = bench-load ]; then
  package+=([sysbench]=sysbench [pgbench]=postgresql-contrib [fio]=fio [git]=git)
fi

if [ "$purpose" = bench-backup ]; then
  package+=([age]=age [zstd]=zstd [aws]=awscli)
fi

have() {
  command -v "$1" >/dev/null 2>&1 && return
  local p
  for p in /usr/sbin/"$1" /sbin/"$1" /usr/lib/postgresql/*/bin/"$1"; do [ -x "$p" ] && return; done
  return 1
}

# zfs-fuse and OpenZFS exclude one another; a machine that has OpenZFS keeps it.
if [ -d /sys/module/zfs ] || { ! have zfs-fuse && have zpool; }; then unset 'package[zfs-fuse]'; fi

want=()
for program in "${!package[@]}"; do
  have "$program" || want+=("${package[$program]}")
done
[ ${#want[@]} -eq 0 ] && exit 0

say() { echo "setup: $*" >&2; }
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if sudo -n true 2>/dev/null; then as_root=(sudo -n); else
    say "no root and no sudo without a password: what needs ${want[*]} will be skipped"
    exit 0
  fi
fi
if ! command -v apt-get >/dev/null 2>&1; then
  say "no apt-get here: what needs ${want[*]} will be skipped"
  exit 0
fi

say "installing ${want[*]}"
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@" >/dev/null 2>&1; }
apt update
if [[ " ${want[*]} " == *" postgresql "* ]] && apt install -y --no-install-recommends --no-remove postgresql-common; then
  # The tests make their own servers: do not create and start one for the machine.
  "${as_root[@]}" sed -i 's/^#\?create_main_cluster.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf
fi
if [[ " ${want[*]} " == *" openssh-server "* ]]; then
  # The tests start an sshd of their own, and let nobody in from outside: a masked unit is started neither now nor with the machine.
  "${as_root[@]}" mkdir -p /etc/systemd/system
  for unit in ssh.service ssh.socket; do "${as_root[@]}" ln -s /dev/null "/etc/systemd/system/$unit" 2>/dev/null; done
  say "sshd is for the tests alone: systemctl unmask ssh.service lets it be the machine's"
fi
# At once, as every call of apt-get takes seconds; what cannot be installed must not keep out the others.
apt install -y --no-install-recommends --no-remove "${want[@]}" && exit 0
for p in "${want[@]}"; do
  apt install -y --no-install-recommends --no-remove "$p" || say "cannot install $p: what needs it will be skipped"
done
exit 0
