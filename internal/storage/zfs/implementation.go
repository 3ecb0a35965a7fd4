package zfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/host/proc"
	"plumb/internal/host/processes"
)

// daemon is a running zfs-fuse; pid is 0 when OpenZFS runs instead.
type daemon struct {
	pid   int
	args  []string
	doubt error // why it is not known to be the one of our mounts; nil if it is
}

// implementation tells OpenZFS and zfs-fuse apart: the one is a module in the
// kernel, the other a process. found is false when neither runs.
func implementation(ctx context.Context, h host.Reader) (d daemon, found bool, err error) {
	if _, err := h.Stat(ctx, moduleDir); err == nil {
		return daemon{}, true, nil
	}
	installed, err := fuseInstalled(ctx, h)
	if err != nil || !installed {
		return daemon{}, false, err
	}
	d, err = findDaemon(ctx, h)
	return d, d.pid != 0, err
}

// Fuse tells whether a zfs-fuse runs that mounts where we look, as far as that can be seen.
func Fuse(ctx context.Context, h host.Reader) (bool, error) {
	d, err := findDaemon(ctx, h)
	return d.pid != 0, err
}

// fuseInstalled saves the walk through all processes on hosts without it. The
// programs are looked for before the figures, which hang when the daemon does;
// that they hang says that there is one.
func fuseInstalled(ctx context.Context, h host.Reader) (bool, error) {
	for _, pattern := range []string{"/usr/sbin/zfs-fuse", "/sbin/zfs-fuse", "/usr/bin/zfs-fuse", "/usr/local/sbin/zfs-fuse", fuseKstat} {
		found, err := h.Glob(ctx, pattern)
		if pattern == fuseKstat && errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("look for zfs-fuse: %w", err)
		}
		if len(found) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// findDaemon finds the zfs-fuse of our mounts: one that mounts elsewhere, as in a container, has pools that are none of ours. If it
// cannot be seen where one mounts, it is only taken when no other is known to be ours.
func findDaemon(ctx context.Context, h host.Reader) (doubtful daemon, err error) {
	comms, err := h.Glob(ctx, "/proc/[0-9]*/comm")
	if err != nil {
		return daemon{}, fmt.Errorf("look for the zfs-fuse daemon: %w", err)
	}
	for _, name := range comms {
		comm, err := h.ReadFile(ctx, name)
		if err != nil || string(bytes.TrimSpace(comm)) != zfsFuse || pretends(ctx, h, path.Dir(name)) {
			continue // a process that is gone, or not ours
		}
		pid, err := strconv.Atoi(path.Base(path.Dir(name)))
		if err != nil {
			continue
		}
		d := daemon{pid: pid}
		same, err := processes.SameMounts(ctx, h, path.Dir(name))
		switch d.doubt = err; {
		case err != nil && doubtful.pid == 0:
			doubtful = d
			continue
		case !same:
			continue
		}
		args, err := h.ReadFile(ctx, path.Join(path.Dir(name), "cmdline"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return d, fmt.Errorf("read the command line of zfs-fuse: %w", err)
		}
		d.args = strings.Split(strings.TrimRight(string(args), "\x00"), "\x00")
		return d, nil
	}
	return doubtful, nil
}

// pretends tells whether a process is known to be another user's than root's, as zfs-fuse never is: any user can call one so.
func pretends(ctx context.Context, h host.Reader, dir string) bool {
	status, err := h.ReadFile(ctx, path.Join(dir, "status"))
	uid, known := proc.Keyed(status, "Uid:")
	return err == nil && known && uid != 0
}

// maxARC finds the ARC limit on the daemon's command line, in bytes.
// (-m MB, --max-arc-size MB, --max-arc-size=MB)
func maxARC(args []string) (bytes int64, ok bool) {
	for i, arg := range args {
		value, inline := strings.CutPrefix(arg, "--max-arc-size=")
		if !inline {
			short, attached := strings.CutPrefix(arg, "-m")
			switch {
			case (arg == "-m" || arg == "--max-arc-size") && i+1 < len(args):
				value = args[i+1]
			case attached && short != "":
				value = short
			default:
				continue
			}
		}
		mb, err := strconv.ParseInt(value, 10, 32)
		if err == nil && mb > 0 {
			return mb << 20, true
		}
	}
	return 0, false
}
