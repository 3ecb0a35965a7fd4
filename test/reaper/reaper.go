// Package reaper takes away what a test leaves when its process is killed, as by the timeout of go test, after which no cleanup runs.
package reaper

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
)

// reaps reads the names of directories until the process that writes them has ended. Of those that are there still it takes away, the
// newest first, what runs in them, is mounted below them and is behind a loop device, their control groups, and themselves. A pool of
// zfs-fuse is taken away by the next test that wants one.
const reaps = `IFS='
'
all=
while read -r dir; do all="$dir$IFS$all"; done
for dir in $all; do
	[ -d "$dir" ] || continue
	for p in /proc/[0-9]*; do
		case $(readlink "$p/cwd") in "$dir"|"$dir"/*) kill -9 "${p#/proc/}" ;; esac
	done
	awk -v d="$dir/" 'index($5, d) == 1 {print $5}' /proc/self/mountinfo | sort -r | xargs -r -n 1 umount -l
	losetup --list --noheadings --output NAME,BACK-FILE | while IFS=' ' read -r loop file; do
		case $file in "$dir"/*) losetup --detach "$loop" ;; esac
	done
	rmdir "/sys/fs/cgroup/memory/${dir##*/}" "/sys/fs/cgroup/${dir##*/}"
	chattr -R -f -i "$dir"
	rm -rf --one-file-system -- "$dir"
done 2>/dev/null`

var reaper struct {
	sync.Mutex
	names io.Writer // to it; it ends once nobody can write any more
}

// Mind has a directory taken away once this process has ended, unless it is gone by then. Its name must be nobody else's later on, as those
// of os.MkdirTemp are.
func Mind(dir string) error {
	dir, err := filepath.EvalSymlinks(dir) // the kernel lists what is mounted and where processes are without links
	if err != nil {
		return err
	}
	reaper.Lock()
	defer reaper.Unlock()
	if reaper.names == nil {
		names, err := start()
		if err != nil {
			return fmt.Errorf("start what takes away %s if this process is killed: %w", dir, err)
		}
		reaper.names = names
	}
	_, err = io.WriteString(reaper.names, dir+"\n")
	return err
}

// start starts the process, in a session of its own: what kills a group of processes does not kill it.
func start() (io.Writer, error) {
	in, names, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	c := exec.Command("sh", "-c", reaps)
	c.Dir, c.Stdin = "/", in
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		names.Close()
		return nil, err
	}
	return names, c.Process.Release() // it outlives us
}
