package volume

import (
	"context"
	"errors"
	"math"
	"path"
	"strconv"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
)

const groups = "/sys/fs/cgroup"

var (
	errNoGroups = hint.With(errors.New("the kernel limits no devices here: there is no blkio controller (version 1 of control groups) nor io (version 2)"),
		"run as root where /sys/fs/cgroup is mounted and can be written")
	errNoIO = hint.With(errors.New("the io controller of control groups is not on"),
		"echo +io > /sys/fs/cgroup/cgroup.subtree_control")
)

// line is one limit as the kernel takes it.
type line struct {
	file, line, undo string
}

// gate is where the kernel takes limits of devices.
//
// In version 1 that is the root group: what the kernel writes later for
// somebody (buffered writes, commits of a journal, the threads of ZFS) is
// counted there too. In version 2 the root has no limits: those of our own
// group, which measures and drives loads of files, and of the server's are
// set. What the kernel writes for neither, as commits of a journal and the
// threads of ZFS, is not held up then; measuring tells.
type gate struct {
	dirs []string // version 2; none: version 1
}

// findGate finds it. The server's group of this lab run may be there or not.
func findGate(ctx context.Context, h host.Reader, run string) (gate, error) {
	if _, err := h.Stat(ctx, groups+"/blkio/blkio.throttle.read_iops_device"); err == nil {
		return gate{}, nil
	}
	on, err := h.ReadFile(ctx, groups+"/cgroup.subtree_control")
	if err != nil {
		return gate{}, errNoGroups
	}
	if !strings.Contains(" "+strings.TrimSpace(string(on))+" ", " io ") {
		return gate{}, errNoIO
	}
	own, err := h.ReadFile(ctx, "/proc/self/cgroup")
	if err != nil {
		return gate{}, err
	}
	var g gate
	for _, dir := range []string{limited(ctx, h, parseOwnGroup(own)), groups + "/plumb-lab-" + run} {
		if dir == "" {
			continue
		}
		if _, err := h.Stat(ctx, path.Join(dir, "io.max")); err == nil {
			g.dirs = append(g.dirs, dir)
		}
	}
	if len(g.dirs) == 0 {
		return gate{}, errNoGroups
	}
	return g, nil
}

// limited goes up from a group to the first that takes limits.
func limited(ctx context.Context, h host.Reader, name string) string {
	for name = path.Clean("/" + name); name != "/"; name = path.Dir(name) {
		if _, err := h.Stat(ctx, path.Join(groups, name, "io.max")); err == nil {
			return path.Join(groups, name)
		}
	}
	return ""
}

// parseOwnGroup finds the group of version 2 in /proc/self/cgroup.
func parseOwnGroup(data []byte) string {
	for l := range strings.Lines(string(data)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(l), "0::"); ok {
			return name
		}
	}
	return ""
}

// lines gives the lines that limit a device. A limit of 0 is not written in
// version 1, and max in version 2.
func (g gate) lines(device string, l paces) (all []line) {
	if len(g.dirs) > 0 {
		text := device
		for _, f := range []struct {
			name string
			most float64
		}{{"rbps", l.readBytes}, {"wbps", l.writeBytes}, {"riops", l.readIOPS}, {"wiops", l.writeIOPS}} {
			text += " " + f.name + "=" + whole(f.most, "max")
		}
		for _, dir := range g.dirs {
			all = append(all, line{path.Join(dir, "io.max"), text, device + " rbps=max wbps=max riops=max wiops=max"})
		}
		return all
	}
	for _, f := range []struct {
		name string
		most float64
	}{{"read_iops", l.readIOPS}, {"write_iops", l.writeIOPS}, {"read_bps", l.readBytes}, {"write_bps", l.writeBytes}} {
		if f.most > 0 {
			all = append(all, line{groups + "/blkio/blkio.throttle." + f.name + "_device", device + " " + whole(f.most, "0"), device + " 0"})
		}
	}
	return all
}

// whole prints a limit; none is what the kernel calls no limit.
func whole(v float64, none string) string {
	if v <= 0 {
		return none
	}
	return strconv.FormatFloat(math.Max(math.Round(v), 1), 'f', 0, 64)
}
