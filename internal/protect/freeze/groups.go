package freeze

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/await"
	"plumb/internal/host"
	"plumb/internal/inventory"
)

// Where control groups are mounted.
var groupRoots = struct{ two, hybrid, one string }{"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/freezer"}

// groupOf gives the directory of a process's control group in a hierarchy: "" for version 2.
func groupOf(ctx context.Context, h host.Reader, pid int, controller string) (string, error) {
	text, err := h.ReadFile(ctx, fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(strings.TrimSpace(string(text))) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) == 3 && (f[1] == controller || controller != "" && slices.Contains(strings.Split(f[1], ","), controller)) {
			return f[2], nil
		}
	}
	return "", nil
}

// ownGroup freezes the server's own control group of version 2, when all in it and below it is
// the server.
func (f *frozen) ownGroup(ctx context.Context) (bool, error) {
	group, err := groupOf(ctx, f.d, f.pid, "")
	if err != nil || group == "" || group == "/" {
		return false, err
	}
	dir := path.Join(groupRoots.two, group)
	if _, err := f.d.Stat(ctx, path.Join(dir, "cgroup.freeze")); err != nil {
		dir = path.Join(groupRoots.hybrid, group)
		if _, err := f.d.Stat(ctx, path.Join(dir, "cgroup.freeze")); err != nil {
			return false, nil // a kernel before 5.2, or groups in a namespace of their own
		}
	}
	if alone, err := f.alone(ctx, dir); err != nil || !alone {
		return false, err
	}
	f.still = f.says(path.Join(dir, "cgroup.events"), "frozen 1")
	file := path.Join(dir, "cgroup.freeze")
	return true, f.will(step{write, "0", file}, func() error { return f.d.Write(ctx, file, []byte("1")) })
}

// alone tells whether a control group holds the server and nobody else.
func (f *frozen) alone(ctx context.Context, dir string) (bool, error) {
	pids, err := family(ctx, f.d, f.pid)
	if err != nil {
		return false, err
	}
	if below, err := f.d.Glob(ctx, dir+"/*/cgroup.procs"); err != nil || len(below) > 0 {
		return false, err
	}
	text, err := f.d.ReadFile(ctx, path.Join(dir, "cgroup.procs"))
	in := strings.Fields(string(text))
	for _, pid := range in {
		n, err := strconv.Atoi(pid)
		if err != nil || !slices.Contains(pids, n) {
			return false, nil
		}
	}
	return len(in) == len(pids), err
}

// groupTime is for a control group to be made.
const groupTime = 5 * time.Second

// newGroup freezes the server in a group of version 1 below its own, made for this.
func (f *frozen) newGroup(ctx context.Context) (bool, error) {
	group, err := groupOf(ctx, f.d, f.pid, "freezer")
	if err != nil || group == "" {
		return false, err
	}
	was := path.Join(groupRoots.one, group)
	if _, err := f.d.Stat(ctx, path.Join(was, "cgroup.procs")); err != nil {
		return false, nil
	}
	dir := path.Join(was, fmt.Sprintf("plumb-freeze-%d", f.pid))
	if !inventory.Missing(ctx, f.d, dir) { // another freezes it, or its switch was killed too
		return false, nil
	}
	f.still = f.says(path.Join(dir, "freezer.state"), "FROZEN")
	err = f.will(step{verb: dropGroup, what: dir}, func() error {
		if err := f.tell("make", dir); err != nil {
			return err
		}
		return await.Until(ctx, groupTime, func() (bool, error) {
			if inventory.Missing(ctx, f.d, dir) {
				return false, fmt.Errorf("control group %s could not be made", dir)
			}
			return true, nil
		})
	})
	if err == nil {
		err = f.will(step{moveOut, dir, was}, func() error { return f.enter(ctx, dir) })
	}
	if err == nil {
		state := path.Join(dir, "freezer.state")
		err = f.will(step{write, "THAWED", state}, func() error { return f.d.Write(ctx, state, []byte("FROZEN")) })
	}
	return true, err
}

// enter puts the server's processes into a group, until there are no new ones.
func (f *frozen) enter(ctx context.Context, dir string) error {
	return f.each(ctx, func(pid int) error {
		err := f.d.Write(ctx, path.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)))
		if err != nil && !inventory.Missing(ctx, f.d, fmt.Sprintf("/proc/%d/exe", pid)) {
			return err
		}
		return nil
	})
}

// says tells whether a file of the kernel says something.
func (f *frozen) says(file, word string) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		text, err := f.d.ReadFile(ctx, file)
		return err == nil && slices.Contains(strings.Split(strings.TrimSpace(string(text)), "\n"), word), err
	}
}
