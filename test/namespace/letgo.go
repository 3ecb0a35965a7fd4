// Package namespace is for tests that run something with mounts of its own.
package namespace

import (
	"cmp"
	"fmt"
)

// LetGo gives the shell's words with which a process that has mounts of its own lets go of those of other tests: of disks, FUSE
// and ZFS in directories of tests. It has copies of them, which keep disks and pools busy while it lives, whoever unmounts them
// elsewhere. Those in dir, "" for none, and those that it works in itself stay.
func LetGo(dir string) string {
	return fmt.Sprintf(`tac /proc/self/mounts | while read -r of at kind _; do
	case $at in "%[1]s"/*) continue ;; */plumb-*|/tmp/*|/var/tmp/*|"${TMPDIR:-/tmp}"/*) ;; *) continue ;; esac
	case "%[1]s"/ in "$at"/*) continue ;; esac
	case "${TMPDIR:-/tmp}"/ in "$at"/*) continue ;; esac
	case $PWD/ in "$at"/*) continue ;; esac
	case $of:$kind in /dev/*|*:fuse*|*:zfs) umount -l "$at" 2>/dev/null ;; esac
done
`, cmp.Or(dir, "/none"))
}

// OwnZFS are the words with which it gets a zfs-fuse of its own, and the tests' lock of it: this program is found by the name of a
// socket, lets nobody else have its lock, and keeps the list of its pools in one place.
const OwnZFS = `for dir in /var/lock/zfs /var/run/zfs /var/lib/zfs; do mkdir -p $dir && mount -t tmpfs none $dir || exit 9; done
lock=/tmp/plumb-test-zfs-fuse.lock; [ -e $lock ] || (umask 0; : >>$lock)
: >/var/lock/zfs/tests && mount --bind /var/lock/zfs/tests $lock || exit 9
`

// EnvApart is in the environment of a test that has a zfs-fuse of its own, which nobody uses after it.
const EnvApart = "PLUMB_APART"
