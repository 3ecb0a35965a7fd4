package process

import (
	"errors"
	"path"
)

// Trees says where the control group trees are mounted.
type Trees struct{ mounts cgroupMounts }

// ParseTrees finds them in /proc/self/mountinfo.
func ParseTrees(mountinfo []byte) Trees { return Trees{parseCgroupMounts(mountinfo)} }

// Groups are the directories of the control group of a process and of all
// groups above it that can be seen, the process's own first. What is not there
// is nil.
type Groups struct {
	CPU     []string // cpu.stat
	Account []string // version 1: cpuacct.usage
	Memory  []string // memory.current, or memory.usage_in_bytes in version 1
	IO      []string // io.stat and io.max, or blkio.throttle.* in version 1
	Unified []string // version 2: pressures

	MemoryV1, IOV1 bool
	Paths          []string // the groups of IO, as paths in their tree
}

var errOutside = errors.New("its control group lies outside the part of the tree that Plumb sees")

// GroupsOf finds the groups of a process from its /proc/PID/cgroup.
func (t Trees) GroupsOf(membership []byte) (Groups, error) {
	m, ok := parseMembership(membership)
	if !ok {
		return Groups{}, errors.New("it is in no control group that counts memory")
	}
	if outside(m.memory) || outside(m.cpu) || outside(m.io) || outside(m.unified) {
		return Groups{}, errOutside
	}
	g := Groups{MemoryV1: m.version == 1, IOV1: m.io != ""}
	v2 := func(group string) []string { return t.mounts.v2.directories(group) }
	g.Unified, g.IO = v2(m.unified), v2(m.unified)
	g.CPU, g.Memory = v2(m.cpu), v2(m.memory)
	if m.cpuV1 {
		g.CPU = t.mounts.cpu.directories(m.cpu)
	}
	if g.MemoryV1 {
		g.Memory = t.mounts.memory.directories(m.memory)
	}
	if m.account != "" {
		g.Account = t.mounts.account.directories(m.account)
	}
	at := m.unified
	if g.IOV1 {
		g.IO, at = t.mounts.io.directories(m.io), m.io
	}
	g.Paths = pathsAbove(at, len(g.IO))
	return g, nil
}

// directories gives the levels of a group; nil where the tree is not mounted.
func (m mount) directories(group string) []string {
	if group == "" {
		return nil
	}
	dirs, err := m.levels(group)
	if err != nil {
		return nil
	}
	return dirs
}

// pathsAbove gives a group's path and those of the groups above it.
func pathsAbove(group string, levels int) []string {
	var out []string
	for at := path.Clean("/" + group); len(out) < levels; at = path.Dir(at) {
		out = append(out, at)
	}
	return out
}
