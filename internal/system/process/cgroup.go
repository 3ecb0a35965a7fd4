package process

import (
	"fmt"
	"path"
	"strings"

	"plumb/internal/stack"
)

// membership is where a process stands in the control group trees.
type membership struct {
	version int    // 1 or 2: which tree limits memory
	memory  string // path in the tree that limits memory
	cpu     string // path in the tree that limits CPU
	cpuV1   bool
}

// cgroupMounts says where the control group trees are mounted.
type cgroupMounts struct {
	v2     Mount
	memory Mount // v1
	cpu    Mount // v1
}

// Mount is a mounted tree: dir shows the group root and what is below it.
type Mount struct {
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
		l.obs.Gap(t.Ref, fmt.Sprintf("its control group %s lies outside the part of the tree that Plumb sees", m.memory),
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

// Unified is the name of version 2 among those of controllers.
const Unified = ""

// ParsePaths reads /proc/PID/cgroup: the group of a process by the controller of
// version 1 that governs it there, and that of version 2.
func ParsePaths(data []byte) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(string(data)) {
		f := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3)
		if len(f) != 3 || !strings.HasPrefix(f[2], "/") {
			continue
		}
		where := strings.TrimSuffix(f[2], " (deleted)")
		if f[0] == "0" && f[1] == "" {
			out[Unified] = where
			continue
		}
		for c := range strings.SplitSeq(f[1], ",") {
			if c != Unified {
				out[c] = where
			}
		}
	}
	return out
}

// parseMembership reads /proc/PID/cgroup. With both versions mounted, a
// controller is in the one whose line names it.
func parseMembership(data []byte) (m membership, ok bool) {
	paths := ParsePaths(data)
	unified := paths[Unified]
	if where, ok := paths["memory"]; ok {
		m.version, m.memory = 1, where
	} else if unified != "" {
		m.version, m.memory = 2, unified
	}
	if m.cpu, m.cpuV1 = paths["cpu"]; !m.cpuV1 {
		m.cpu = unified
	}
	if m.cpu == "" {
		m.cpu = m.memory
	}
	return m, m.version != 0
}

// ParseTrees finds the control group trees in mountinfo, by the controllers of
// version 1 and [Unified].
func ParseTrees(mountinfo []byte) map[string]Mount {
	out := map[string]Mount{}
	for line := range strings.Lines(string(mountinfo)) {
		head, tail, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(head), strings.Fields(tail)
		if !ok || len(f) < 5 || len(g) < 3 {
			continue
		}
		at := Mount{dir: unescape(f[4]), root: unescape(f[3])}
		if g[0] == "cgroup2" {
			out[Unified] = at
		}
		if g[0] != "cgroup" {
			continue
		}
		for o := range strings.SplitSeq(g[2], ",") {
			if o != Unified {
				out[o] = at
			}
		}
	}
	return out
}

func parseCgroupMounts(mountinfo []byte) cgroupMounts {
	t := ParseTrees(mountinfo)
	return cgroupMounts{v2: t[Unified], memory: t["memory"], cpu: t["cpu"]}
}

// unescape undoes mountinfo's octal escapes of blanks in paths.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// Levels gives the directories of a group and everything above it, leaf
// first, down to what the mount shows.
func (m Mount) Levels(group string) ([]string, error) {
	if m.dir == "" {
		return nil, fmt.Errorf("the control group tree of %s is not mounted", group)
	}
	if outside(group) {
		return nil, fmt.Errorf("control group %s lies outside the part of the tree that Plumb sees", group)
	}
	rel := path.Clean("/" + group)
	if m.root != "/" {
		rest, ok := strings.CutPrefix(rel, m.root)
		if !ok || rest != "" && !strings.HasPrefix(rest, "/") {
			return nil, fmt.Errorf("control group %s lies outside what is mounted at %s", group, m.dir)
		}
		rel = "/" + strings.TrimPrefix(rest, "/")
	}
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
