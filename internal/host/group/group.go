// Package group makes control groups: how much memory and processor time a
// private server may take, page cache included, and how much of it it took. It knows
// versions 1 and 2 of the kernel's control groups.
package group

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/proc"
)

const root = "/sys/fs/cgroup"

// ErrNone says that this machine lends no control groups that can be made.
var ErrNone = errors.New("no control groups can be made here: the memory controller is not on, or /sys/fs/cgroup cannot be written")

// Tree is the control groups of a machine.
type Tree struct {
	version int
	memory  string // directory new groups are made in
	cpu     string // version 1: likewise, of cpuacct; "" for none
}

// Find finds them.
func Find(ctx context.Context, h host.Reader) (Tree, error) {
	if on, err := h.ReadFile(ctx, root+"/cgroup.subtree_control"); err == nil {
		if !strings.Contains(" "+strings.TrimSpace(string(on))+" ", " memory ") {
			return Tree{}, ErrNone
		}
		return Tree{version: 2, memory: root}, nil
	}
	if _, err := h.Stat(ctx, root+"/memory/memory.limit_in_bytes"); err != nil {
		return Tree{}, ErrNone
	}
	t := Tree{version: 1, memory: root + "/memory"}
	if _, err := h.Stat(ctx, root+"/cpuacct/cpuacct.usage"); err == nil {
		t.cpu = root + "/cpuacct"
	}
	return t, nil
}

// Group is a control group.
type Group struct {
	tree Tree
	name string
}

// Group names a group of the tree, which need not exist yet.
func (t Tree) Group(name string) Group { return Group{t, name} }

// Dirs are the directories of the group: one, or in version 1 one for each
// controller. Making them makes the group.
func (g Group) Dirs() []string {
	dirs := []string{path.Join(g.tree.memory, g.name)}
	if g.tree.cpu != "" {
		dirs = append(dirs, path.Join(g.tree.cpu, g.name))
	}
	return dirs
}

// LimitMemory limits the memory of all that is in the group, page cache
// included, in bytes. Swap is not used in its place where the kernel lets that
// be said.
func (g Group) LimitMemory(ctx context.Context, d host.Doer, bytes int64) error {
	file, swap, most := "memory.max", "memory.swap.max", "0"
	if g.tree.version == 1 {
		file, swap, most = "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", strconv.FormatInt(bytes, 10)
	}
	dir := g.Dirs()[0]
	if g.tree.version == 1 { // where memory with swap may never be less than memory
		if err := d.Write(ctx, path.Join(dir, swap), []byte("-1")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("lift the limit of swap: %w", err)
		}
	}
	if err := d.Write(ctx, path.Join(dir, file), []byte(strconv.FormatInt(bytes, 10))); err != nil {
		return fmt.Errorf("limit memory to %d bytes: %w", bytes, err)
	}
	if err := d.Write(ctx, path.Join(dir, swap), []byte(most)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("limit swap: %w", err)
	}
	return nil
}

// ErrNoCPU says that the processor time of a group cannot be limited.
var ErrNoCPU = errors.New("the controller for processor time (cpu) is not on, or in version 1 not mounted with cpuacct")

// cpuPeriod is the time in which a group may use its share of the processors, in microseconds: the kernel's default.
const cpuPeriod = 100_000

// LimitCPU limits the processor time of all that is in the group to that of a
// number of processors.
func (g Group) LimitCPU(ctx context.Context, d host.Doer, processors float64) error {
	dirs, quota := g.Dirs(), strconv.Itoa(int(processors*cpuPeriod))
	file, text := "cpu.max", quota+" "+strconv.Itoa(cpuPeriod)
	if g.tree.version == 1 {
		file, text = "cpu.cfs_quota_us", quota
	}
	file = path.Join(dirs[len(dirs)-1], file)
	if _, err := d.Stat(ctx, file); errors.Is(err, fs.ErrNotExist) {
		return ErrNoCPU
	}
	if err := d.Write(ctx, file, []byte(text)); err != nil {
		return fmt.Errorf("limit processor time to that of %g processors: %w", processors, err)
	}
	return nil
}

// Processes are those in the group, by number.
func (g Group) Processes(ctx context.Context, h host.Reader) (pids []int, err error) {
	file := path.Join(g.Dirs()[0], "cgroup.procs")
	text, err := h.ReadFile(ctx, file)
	if err != nil {
		return nil, err
	}
	for _, word := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(word)
		if err != nil || pid <= 1 {
			return nil, fmt.Errorf("read %s: %q is not the PID of one of our processes", file, word)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// CPU is the processor time of all that is or was in the group.
func (g Group) CPU(ctx context.Context, h host.Reader) (used time.Duration, known bool) {
	if g.tree.version == 2 {
		us, ok := keyed(ctx, h, path.Join(g.Dirs()[0], "cpu.stat"), "usage_usec")
		return time.Duration(us) * time.Microsecond, ok
	}
	if g.tree.cpu == "" {
		return 0, false
	}
	text, err := h.ReadFile(ctx, path.Join(g.tree.cpu, g.name, "cpuacct.usage"))
	if err != nil {
		return 0, false
	}
	ns, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return time.Duration(ns), err == nil
}

// Kills is how often the kernel killed something in the group for want of
// memory.
func (g Group) Kills(ctx context.Context, h host.Reader) (n int64, known bool) {
	file := "memory.events"
	if g.tree.version == 1 {
		file = "memory.oom_control"
	}
	return keyed(ctx, h, path.Join(g.Dirs()[0], file), "oom_kill")
}

// keyed reads one number of a file of "key number" lines.
func keyed(ctx context.Context, h host.Reader, file, key string) (n int64, known bool) {
	text, err := h.ReadFile(ctx, file)
	if err != nil {
		return 0, false
	}
	return proc.Keyed(text, key)
}
