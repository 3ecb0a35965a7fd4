package layout

import (
	"strconv"

	"plumb/internal/change"
)

// kept ends a script that finds in what was made what others put there, and removes nothing.
var kept = `kept() { echo "$1 $2: it is kept" >&2; exit ` + strconv.Itoa(change.Kept) + `; }
`

// within finds what is in a directory, below the empty lost+found of an ext4 too. A directory that cannot be read to its end is no
// empty one: the command fails, and with it the script that asks.
const within = `within() { find "$1" -xdev -mindepth 1 ! -path "$1/lost+found" -printf '%P' -quit; }
`

// hidesNothing refuses a place in which something is by now: what is mounted there would hide it.
const hidesNothing = `hides_nothing() { [ -z "$(ls -A -- "$1")" ] || { echo "$1 is no longer empty: nothing is mounted there" >&2; exit 1; }; }
`

// busy ends a script that finds something mounted still that is unmounted here, and names a process that has it. One with mounts of its own, as
// a container that starts, takes a copy of ours along: while it lives the filesystem does, and what is mounted next is that one, or
// nothing. An undo tries again while somebody may be just leaving. What is looked for in the lists of mounts comes behind its name.
const busy = `busy() {
  of=$1
  shift
  holder=$(grep -lsF "$@" /proc/[0-9]*/mountinfo | head -n 1 | cut -d / -f 3)
  [ -z "$holder" ] || holder="process $holder $(cat "/proc/$holder/comm" 2>/dev/null || :) has it mounted"
  echo "$of is unmounted here, and busy: ${holder:-it is not seen who has it mounted}" >&2
  exit 1
}
`

// letGo refuses a filesystem that the kernel has in use, in whatever mounts: of ext4 and XFS it has a directory in /sys then, of btrfs a link to
// the device.
const letGo = busy + `let_go() {
  device=$(readlink -f -- "$1")
  for in_use in "/sys/fs/$2/${device##*/}" /sys/fs/btrfs/*/devices/"${device##*/}"; do
    [ ! -e "$in_use" ] || busy "$1" " - $2 $device "
  done
}
`

// isEmpty refuses a filesystem with anything in it, also one that somebody has unmounted by hand. It is mounted where only this command
// sees it, and no longer than it lives: a mount that is left would keep the disk busy. Of btrfs it looks at all subvolumes, whichever
// is mounted without a word.
func isEmpty(device, kind string) change.Op {
	options := "ro"
	if kind == "btrfs" {
		options += ",subvolid=5"
	}
	return change.Op{Argv: []string{"unshare", "--mount", "--propagation", "private", "sh", "-ec", within + kept + letGo + `let_go "$1" "$2"
mount -t "$2" -o "$3" "$1" /mnt || kept "$1" "cannot be looked into"
in=$(within /mnt) || in="what cannot be read"
umount /mnt
[ -z "$in" ] || kept "$1" "holds $in"`, "sh", device, kind, options}}
}

// released refuses a dataset that is unmounted here, and mounted elsewhere: zfs-fuse mounts it nowhere else, and no ZFS destroys it. Its
// name is no pattern: the dot in one would stand for what another has in that place.
const released = busy + `released() {
  ! grep -qsF -e " - zfs $1 " -e " - fuse.zfs $1 " /proc/[0-9]*/mountinfo || busy "$1" -e " - zfs $1 " -e " - fuse.zfs $1 "
}
`

// lookInto refuses a dataset with anything in it, also one that is not mounted: it is mounted in a directory that only root can enter,
// for it brings its own mode. No property tells that nothing is in it, as others may be allowed to set properties. zfs-fuse mounts
// elsewhere than in a namespace of ours, so a look that is killed can leave its mount: it is known by its place, and ended by the
// next one, which gives a dataset that is kept the properties that it was made with ($2 and $3). Each order of setting the two is such that
// zfs mounts it nowhere else: it mounts what is given a mountpoint while canmount is on, and removes the directory that was its mountpoint.
// One that is busy is not kept for that: an undo tries again.
var lookInto = within + kept + released + `mounted() { [ "$(zfs get -H -o value mounted "$1")" = yes ]; }
mounted_at() { [ "$(findmnt -n -o SOURCE -M "$2")" = "$1" ]; }
look_into() {
  [ "$(zfs list -H -r -t all -o name "$1")" = "$1" ] || kept "$1" "holds other datasets or snapshots"
  can=$(zfs get -H -o value canmount "$1")
  place=$(zfs get -H -o value mountpoint "$1")
  case "$place" in
  ` + change.Looking + `*/in)
    can=$2 place=$3 ;;
  *)
    if mounted "$1"; then
      mounted_at "$1" "$place" || kept "$1" "is mounted elsewhere than its mountpoint $place says"
      in=$(within "$place")
      [ -z "$in" ] || kept "$1" "holds $in"
    fi ;;
  esac
  ! mounted "$1" || zfs unmount "$1"
  released "$1"
  at=$(mktemp -d ` + change.Looking + `XXXXXXXXXX) why="cannot be looked into"
  mkdir "$at/in"
  zfs set "mountpoint=$at/in" "$1"
  zfs set canmount=noauto "$1"
  refusal=$(zfs mount "$1" 2>&1) || :
  if mounted_at "$1" "$at/in"; then
    why="cannot be read"
    ! in=$(within "$at/in") || why=${in:+holds $in}
    zfs unmount "$1"
  fi
  zfs set "mountpoint=$place" "$1"
  zfs set "canmount=$can" "$1"
  [ ! -d "$at/in" ] || rmdir "$at/in"
  rmdir "$at"
  case "$why:$refusal" in
  "cannot be looked into:"*"is busy"* | "cannot be looked into:"*"resource busy"*)
    echo "$refusal" >&2
    exit 1 ;;
  esac
  [ -z "$why" ] || kept "$1" "$why${refusal:+: $refusal}"
}
`

// destroyEmpty destroys a dataset that was looked into.
var destroyEmpty = lookInto + `look_into "$@"
released "$1"
zfs destroy "$1"`

// destroyPool destroys a pool with nothing in it, whoever asks, and however: its own dataset, which was made as one that cannot be
// mounted, is looked into too.
var destroyPool = lookInto + `look_into "$1" off none
released "$1"
zpool destroy "$1"`
