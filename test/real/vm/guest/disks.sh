# shellcheck shell=bash
# Disks that must not be used, each by a real program, and disks that may.
id() { echo "/dev/disk/by-id/virtio-$1"; }
disk() { readlink -f "$(id "$1")"; }

# trap NAME WANT [ARG...]: the disk is refused, says WANT, and is not written to.
trap_of() {
	local name=$1 want=$2 was
	shift 2
	udevadm settle
	was=$(sha256sum <"$(disk "$name")")
	if said=$(/in/disks look "$(id "$name")" "$@"); then echo "TAKEN $name: $said"; return; fi
	case $said in *"$want"*) ;; *) echo "SAYS $name: $said, not $want" ;; esac
	[ "$(sha256sum <"$(disk "$name")")" = "$was" ] || echo "WRITTEN $name"
	echo "trap: $name: $said" | head -n 1
}

/in/disks look "$(id empty)" serial=empty size=41943040
trap_of empty "has the serial number empty, but the spec names other" serial=other
trap_of empty "but the spec says 128M" size=134217728

modprobe -a md-mod raid1 raid0 dm-mod
for v in 0.90 1.0 1.1 1.2; do
	mdadm --create /dev/md9 --quiet --run --assume-clean --metadata=$v --level=1 --raid-devices=2 "$(disk ma)" "$(disk mb)"
	trap_of ma "is part of md9"
	mdadm --stop --quiet /dev/md9
	trap_of ma "md RAID $v"
	for m in ma mb; do dd if=/dev/zero of="$(disk $m)" bs=1M conv=fsync status=none 2>/dev/null || true; done
done
lvm() { command lvm "$@" --config 'activation/monitoring=0' >>/out/lvm.log 2>&1; }
lvm vgcreate vg "$(disk lvm)"
trap_of lvm "LVM"
lvm lvcreate -y -L 16M -n lv vg
trap_of lvm "is part of dm-"
trap_of lvm "is part of dm-" erase=lvm
/in/disks look /dev/vg/lv | sed 's/LVM-[A-Za-z0-9]*/LVM-X/'
lvm vgchange -an vg
trap_of luks "LUKS"
trap_of gpt "1 partition: "
mkfs.ext4 -q "$(disk gpt)1"
mount "$(disk gpt)1" /mnt
trap_of gpt "1 is mounted at /mnt"
trap_of gpt "1 is mounted at /mnt" erase=gpt
umount /mnt
zpool create plumbold "$(id zfs)"
trap_of zfs "is part of the pool plumbold" erase=zfs
zpool export plumbold
trap_of zfs "GPT"
zpool import -d /dev/disk/by-id plumbold
zpool destroy plumbold
dd if=/dev/zero of="$(disk zfs)" bs=1M count=16 conv=fsync status=none
dd if=/dev/zero of="$(disk zfs)" bs=512 seek=$((100 * 2048 - 40)) count=40 conv=fsync status=none # the second GPT
blockdev --rereadpt "$(disk zfs)" 2>/dev/null || true
trap_of zfs "is not zero"
mkswap "$(disk swap)" >/dev/null
swapon "$(disk swap)"
trap_of swap "is swap" erase=swap
swapoff "$(disk swap)"

# A pool out of disks, of which one may be erased.
mkfs.ext4 -q "$(disk b)"
trap_of b "is not empty: ext2, ext3 or ext4"
(umask 077; head -c 32 /dev/urandom >/root/key)
cat >/root/pool.yaml <<-END
	pool:
	  name: tank
	  layout: mirror
	  disks: [$(id a), {path: $(id b), erase: b}]
	  special: [$(id sa), $(id sb)]
	  log: [$(id la), $(id lb)]
	  cache: [$(id c)]
	  key: /root/key
	server: {product: mariadb}
END
ends() { for d in a b sa sb la lb c; do (head -c 16M "$(disk $d)"; tail -c 16M "$(disk $d)") | cmp -s -n 33554432 - /dev/zero && echo -n "$d "; done; echo; }
udevadm settle
/in/disks make /root/pool.yaml /srv/db
zpool status -P tank
zpool get -H -o property,value ashift,compatibility,autotrim tank
zfs get -H -o property,value compression,encryption,keyformat,recordsize,mounted tank/db/data
grep load-key /etc/systemd/system/zfs-mount.service.d/plumb-key-tank.conf
zfs unmount tank/db/data; zfs unload-key tank; sh -c "$(sed -n 's/^ExecStartPre=-//p' /etc/systemd/system/zfs-mount.service.d/plumb-key-tank.conf)"; zfs mount tank/db/data
echo "owner: $(stat -c '%U:%G %a' /srv/db)"
echo "again: $(/in/disks make /root/pool.yaml /srv/db | grep acts)"
touch /srv/db/theirs
/in/disks undo 1 | head -n 3 || true
[ -e /srv/db/theirs ] && rm /srv/db/theirs
echo "undo: $(/in/disks undo 1 && echo well)"
udevadm settle
echo "zero: $(ends)"
echo "left: $(zpool list -H -o name; ls -d /srv/db /etc/systemd/system/zfs-mount.service.d/plumb-key-tank.conf 2>/dev/null)"
/in/disks make /root/pool.yaml /srv/db | grep "^change"
# Nobody sees what is in a dataset without its key. What a look that was killed has left is looked into again.
kept() { echo "kept: $(/in/disks force 2 2>&1 | grep -c "tank/db/data $1.*: it is kept") $(zfs get -H -o value canmount,mountpoint,mounted tank/db/data | xargs)"; }
zfs unmount tank/db/data; zfs unload-key tank
kept "cannot be looked into"
zfs load-key -L file:///root/key tank
mkdir -m 700 /run/plumb-look.0123456789
zfs set mountpoint=/run/plumb-look.0123456789/in tank/db/data; zfs set canmount=noauto tank/db/data; zfs mount tank/db/data
touch /run/plumb-look.0123456789/in/theirs
kept "holds theirs"
zfs mount tank/db/data; rm /srv/db/theirs
/in/disks force 2 && rmdir /srv/db && echo "gone: $(zpool list -H -o name)" # zfs mount has made the directory
udevadm settle

# ext4 and XFS on an array that tells of its chunks.
mdadm --create /dev/md8 --quiet --run --level=0 --chunk=64 --metadata=1.2 --raid-devices=2 "$(disk a)" "$(disk sa)"
udevadm settle
array=$(find /dev/disk/by-id -name 'md-uuid-*' | head -n 1)
printf 'filesystem: {type: ext4, device: %s}\nserver: {product: mariadb}\n' "$array" >/root/ext4.yaml
/in/disks make /root/ext4.yaml /srv/ext
dumpe2fs -h /dev/md8 2>/dev/null | grep RAID
lsattr -d /srv/ext
tail -n 1 /etc/fstab
umount /srv/ext; lsattr -d /srv/ext; su -s /bin/sh mysql -c 'touch /srv/ext/x' 2>&1 || true; mount /srv/ext
/in/disks undo 3 && echo "undone: $(ls -d /srv/ext 2>/dev/null)"
echo end
