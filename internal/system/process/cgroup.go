package process

import (
	"fmt"
	"path"
	"strings"

	"plumb/internal/host/mounts"
	"plumb/internal/host/paths"
	"plumb/internal/stack"
)

// membership is where a process stands in the control group trees.
type membership struct {
	version int    // 1 or 2: which tree limits memory
	memory  string // path in the tree that limits memory
	cpu     string // path in the tree that limits CPU
	cpuV1   bool
	// What only the sampler reads: version 1's own trees, and version 2's path.
	account string // of the tree that counts CPU time
	io      string // of the tree that limits devices
	unified string
}

// cgroupMounts says where the control group trees are mounted.
type cgroupMounts struct {
	v2      mount
	memory  mount // v1
	cpu     mount // v1
	account mount // v1
	io      mount // v1
}

// mount is a mounted tree: dir shows the group root and what is below it.
type mount struct {
	dir  string
	root string
}

// cgroup links the server to its control group and reads the group once.
func (l *look) cgroup(t *stack.Thing, s server) {
	src := file(s.pid, "cgroup")
	data, ok := l.read(t, src, "cgroup")
	if !ok {
		t.Link("cgroup") // a kernel without control groups
		return
	}
	m, ok := parseMembership(data)
	if !ok {
		t.Link("cgroup")
		return
	}
	if outside(m.memory) || outside(m.cpu) {
		l.obs.Gap(t.Ref, fmt.Sprintf("its control group %s is outside the part of the tree that Plumb can see", m.memory),
			"run Plumb on the host, not in a container", "cgroup")
		return
	}
	name := m.memory
	if cpu, have := l.seen[name]; have && cpu != m.cpu {
		name += " cpu:" + m.cpu // the same group in one tree, another in the other
	}
	ref := stack.Ref{Kind: "cgroup", Name: name}
	t.Link("cgroup", ref)
	if _, have := l.seen[name]; have {
		return
	}
	l.seen[name] = m.cpu
	l.group(l.obs.New(ref.Kind, ref.Name), m)
}

// outside tells whether a path climbs out of our cgroup namespace.
func outside(p string) bool { return p == "/.." || strings.HasPrefix(p, "/../") }

// parseMembership reads /proc/PID/cgroup. With both versions mounted, a
// controller is in the one whose line names it.
func parseMembership(data []byte) (m membership, ok bool) {
	unified := ""
	for line := range strings.Lines(string(data)) {
		f := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3)
		if len(f) != 3 || !strings.HasPrefix(f[2], "/") {
			continue
		}
		where := strings.TrimSuffix(f[2], " (deleted)")
		if f[0] == "0" && f[1] == "" {
			unified = where
			continue
		}
		for c := range strings.SplitSeq(f[1], ",") {
			switch c {
			case "memory":
				m.version, m.memory = 1, where
			case "cpu":
				m.cpuV1, m.cpu = true, where
			case "cpuacct":
				m.account = where
			case "blkio":
				m.io = where
			}
		}
	}
	m.unified = unified
	if m.version == 0 && unified != "" {
		m.version, m.memory = 2, unified
	}
	if !m.cpuV1 {
		m.cpu = unified
	}
	if m.cpu == "" {
		m.cpu = m.memory
	}
	return m, m.version != 0
}

// parseCgroupMounts finds the control group trees in mountinfo.
func parseCgroupMounts(table []byte) (m cgroupMounts) {
	for i, err := range mounts.Parse(table) {
		if err != nil {
			break
		}
		at := mount{dir: i.Mountpoint, root: i.Root}
		if i.FSType == "cgroup2" {
			m.v2 = at
		}
		if i.FSType != "cgroup" {
			continue
		}
		for o := range strings.SplitSeq(i.VFSOptions, ",") {
			switch o {
			case "memory":
				m.memory = at
			case "cpu":
				m.cpu = at
			case "cpuacct":
				m.account = at
			case "blkio":
				m.io = at
			}
		}
	}
	return m
}

// levels gives the directories of a group and everything above it, leaf
// first, down to what the mount shows.
func (m mount) levels(group string) ([]string, error) {
	if m.dir == "" {
		return nil, fmt.Errorf("the control group tree of %s is not mounted", group)
	}
	rel := path.Clean("/" + group)
	rest, within := paths.Cut(rel, m.root)
	if !within {
		return nil, fmt.Errorf("control group %s lies outside what is mounted at %s", group, m.dir)
	}
	rel = "/" + rest
	const deepest = 64
	var out []string
	for range deepest {
		out = append(out, path.Join(m.dir, rel))
		if rel == "/" {
			return out, nil
		}
		rel = path.Dir(rel)
	}
	return nil, fmt.Errorf("control group %s is nested deeper than %d", group, deepest)
}
