package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"plumb/test/namespace"
)

// daemon is the qemu-storage-daemon that keeps a disk whose power will be cut.
// The disk is a file of FUSE; each write and flush of it goes through QEMU.
type daemon struct {
	*child
	door string // the file
	errs bytes.Buffer
}

// daemonArguments has QEMU serve an image as the file door, and log its writes
// if there is a log.
//
//   - QEMU's files are in the page cache, and are not flushed: of both, only
//     the death of this whole host would lose something. A flush is in the log all the same.
//   - blkdebug answers "discard" and "write zeroes" with ENOSYS, so that the
//     kernel writes zeros instead. QEMU 7.2 takes FUSE's "punch a hole" for a
//     discard, which it ignores, and says that all went well: the filesystem
//     would find its old content where it wants zeros. Besides, see the package
//     writelog for what QEMU before 9.0 makes of zeroes in a log.
//   - One write at a time: QEMU reads the next request of FUSE into the buffer
//     of a write that is under way, until its developers mended that in 2025
//     ("fuse: Copy write buffer content before polling"). A loop device without direct I/O
//     has one worker for one control group of the controller blkio, and sends
//     the next write or flush when the last one is complete.
func daemonArguments(image, log, door string) []string {
	file := func(node, name string) string {
		return "driver=file,node-name=" + node + ",filename=" + comma(name) + ",cache.direct=off,cache.no-flush=on"
	}
	args, under := []string{"--blockdev", file("image", image)}, "image"
	if log != "" {
		args = append(args, "--blockdev", file("log", log),
			"--blockdev", "driver=blklogwrites,node-name=logged,file=image,log=log,log-sector-size=512")
		under = "logged"
	}
	plain := "driver=blkdebug,node-name=plain,discard=unmap,image=" + under
	for i, what := range []string{"discard", "write-zeroes"} {
		rule := ",inject-error." + strconv.Itoa(i)
		plain += rule + ".event=none" + rule + ".iotype=" + what + rule + ".errno=" + strconv.Itoa(int(unix.ENOSYS)) + rule + ".once=off"
	}
	return append(args, "--blockdev", plain, "--export", "type=fuse,id=disk,node-name=plain,writable=on,mountpoint="+comma(door))
}

// comma lets a path of QEMU's options have commas.
func comma(path string) string { return strings.ReplaceAll(path, ",", ",,") }

// fuseMagic is what statfs says of FUSE (linux/magic.h).
const fuseMagic = 0x65735546

// daemonComes is how long the daemon may take to serve.
const daemonComes = 20 * time.Second

// startDaemon serves a disk. The mount of FUSE is in a namespace of the
// daemon's, and goes when it goes.
func startDaemon(ctx context.Context, dir string, d disk) (*daemon, error) {
	image, err := filepath.Abs(d.file)
	if err != nil {
		return nil, err
	}
	log := ""
	if d.log != "" {
		if log, err = filepath.Abs(d.log); err == nil {
			err = os.WriteFile(log, nil, 0o600)
		}
	}
	k := &daemon{door: filepath.Join(dir, "door")}
	if err := errors.Join(err, os.WriteFile(k.door, nil, 0o600)); err != nil {
		return nil, err
	}
	script := namespace.LetGo(filepath.Dir(image)) + `exec qemu-storage-daemon "$@"`
	cmd := exec.Command("sh", append([]string{"-c", script, "sh"}, daemonArguments(image, log, k.door)...)...)
	cmd.Stderr = &k.errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if k.child, err = start(cmd); err != nil {
		return nil, fmt.Errorf("start qemu-storage-daemon: %w", err)
	}
	if err := k.serves(ctx); err != nil {
		k.kill()
		return nil, fmt.Errorf("wait for qemu-storage-daemon: %w: %s", err, strings.TrimSpace(k.errs.String()))
	}
	return k, nil
}

// serves waits for the file of FUSE.
func (k *daemon) serves(ctx context.Context) error {
	k.door = fmt.Sprintf("/proc/%d/root%s", k.cmd.Process.Pid, k.door)
	for until := time.Now().Add(daemonComes); ; {
		var st unix.Statfs_t
		if unix.Statfs(k.door, &st) == nil && st.Type == fuseMagic {
			return nil
		}
		select {
		case <-k.gone:
			return errors.Join(errors.New("it ended"), k.err)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(until) {
			return errors.New("it does not serve")
		}
	}
}

// disk attaches the daemon's file to a loop device, when it is sure that no
// discard is swallowed.
func (k *daemon) disk() (*loop, error) {
	f, err := os.OpenFile(k.door, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for _, mode := range []uint32{unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE, unix.FALLOC_FL_ZERO_RANGE} {
		if err := unix.Fallocate(int(f.Fd()), mode, 0, 4096); !errors.Is(err, unix.EOPNOTSUPP) {
			return nil, fmt.Errorf("the disk of qemu-storage-daemon takes fallocate of mode %d, and should not: %w", mode, err)
		}
	}
	return attach(f)
}
