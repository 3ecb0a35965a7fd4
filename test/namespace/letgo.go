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
