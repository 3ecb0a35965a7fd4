package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"plumb/test/namespace"
)

// Cgroup makes a control group with a memory limit in bytes and gives the
// command that starts a server inside it. It uses version 1 or 2, whichever
// has the memory controller.
func (b *Box) Cgroup(limit int64) ([]string, error) {
	if err := needRoot("a control group"); err != nil {
		return nil, err
	}
	name := filepath.Base(b.Dir)
	dir, file := filepath.Join("/sys/fs/cgroup/memory", name), "memory.limit_in_bytes"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		dir, file = filepath.Join("/sys/fs/cgroup", name), "memory.max"
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, Missing{"cannot make a control group: " + err.Error(), "run where /sys/fs/cgroup can be written"}
	}
	b.OnClose(func() error { return os.Remove(dir) })
	if err := os.WriteFile(filepath.Join(dir, file), []byte(strconv.FormatInt(limit, 10)), 0); err != nil {
		return nil, Missing{"cannot limit memory: " + err.Error(), "run where the memory controller is on"}
	}
	script := fmt.Sprintf(`echo $$ > %s/cgroup.procs && exec %s"$@"`, dir, b.stepDown())
	return []string{"sh", "-c", script, "sh"}, nil
}

// Apart gives the command that starts a server in a network of its own, where
// all addresses are nobody else's.
func (b *Box) Apart() ([]string, error) {
	if err := needRoot("a network of its own"); err != nil {
		return nil, err
	}
	return []string{"unshare", "--net", "sh", "-c", "exec " + b.stepDown() + `"$@"`, "sh"}, nil
}

// Processes gives the command that starts a server with a limit of processes.
func (b *Box) Processes(limit int) []string {
	return []string{"sh", "-c", fmt.Sprintf(`exec prlimit --nproc=%d: %s"$@"`, limit, b.stepDown()), "sh"}
}

// Throttle holds the device below a directory to so many requests a second,
// reads and writes each, until the box is closed.
func (b *Box) Throttle(dir string, iops int) error {
	if err := needRoot("a limit of a device"); err != nil {
		return err
	}
	var at unix.Stat_t
	if err := unix.Stat(dir, &at); err != nil {
		return err
	}
	device := fmt.Sprintf("%d:%d", unix.Major(at.Dev), unix.Minor(at.Dev))
	for _, what := range []string{"read", "write"} {
		file := "/sys/fs/cgroup/blkio/blkio.throttle." + what + "_iops_device"
		if err := os.WriteFile(file, fmt.Appendf(nil, "%s %d", device, iops), 0); err != nil {
			return Missing{"cannot limit a device: " + err.Error(), "run where control groups of version 1 have blkio"}
		}
		b.OnClose(func() error { return os.WriteFile(file, []byte(device+" 0"), 0) })
	}
	return nil
}

// Limit gives the command that starts a server with another resource limit,
// in the words of the shell's ulimit, such as "-n 1024".
func (b *Box) Limit(ulimit string) []string {
	return []string{"sh", "-c", "ulimit " + ulimit + " && exec " + b.stepDown() + `"$@"`, "sh"}
}

// Namespace gives the command that starts a server in a mount namespace of
// its own, as a container has.
func (b *Box) Namespace() ([]string, error) {
	if err := needRoot("a mount namespace"); err != nil {
		return nil, err
	}
	if _, err := output(exec.Command("unshare", "--mount", "true")); err != nil { // in a chroot, for example
		return nil, Missing{"cannot make a mount namespace: " + err.Error(), "run where unshare --mount works"}
	}
	return []string{"unshare", "--mount", "sh", "-c", namespace.LetGo(b.Dir) + "exec " + b.stepDown() + `"$@"`, "sh"}, nil
}

// stepDown is what a wrapper that runs as root needs to become the servers' user.
func (b *Box) stepDown() string {
	if os.Getuid() != 0 {
		return ""
	}
	return fmt.Sprintf("setpriv --reuid=%d --regid=%d --clear-groups ", b.uid, b.gid)
}
