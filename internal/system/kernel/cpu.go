package kernel

import (
	"errors"
	"io/fs"

	"plumb/internal/observe"
	"plumb/internal/stack"
)

// cpu reads the processors and how their clock is governed.
func (l *look) cpu() {
	const online = "/sys/devices/system/cpu/online"
	if data, ok := l.read(online, "cpus"); ok {
		if list, ok := observe.ParseNumbers(data); ok && len(list) > 0 {
			l.t.Set("cpus", stack.Int(int64(len(list))), online)
		}
	}
	const info = "/proc/cpuinfo"
	x86 := false
	if data, ok := l.read(info, "cpu_model", "cpu_mhz", "cpu_rated_mhz"); ok {
		c := parseCPUInfo(data)
		x86 = len(c.Flags) > 0
		if c.Model != "" {
			l.t.Set("cpu_model", stack.Text(c.Model), info)
		}
		if c.MHz > 0 {
			l.t.Set("cpu_mhz", stack.Float(c.MHz), info)
		}
		if mhz, ok := parseRated(c.Model); ok {
			l.t.Set("cpu_rated_mhz", stack.Float(mhz), info)
		}
	}
	l.threads(x86)
}

// threads tells whether logical CPUs share cores. The kernel says so since
// 4.19; other architectures than x86 came to it later and say 0 until then, so
// that there only a 1 is taken for an answer.
func (l *look) threads(x86 bool) {
	const smt, fact = "/sys/devices/system/cpu/smt/active", "cpu_threads_shared"
	if active := l.word(smt); active == "1" || active == "0" && x86 {
		l.t.Set(fact, stack.Bool(active == "1"), smt)
		return
	}
	const siblings = "/sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list"
	names, err := l.h.Glob(l.ctx, siblings)
	if err != nil {
		l.gap(err, fact)
		return
	}
	for _, name := range names[:min(len(names), maxProcessors)] {
		list, ok := observe.ParseNumbers([]byte(l.word(name)))
		if !ok || len(list) == 0 {
			l.obs.Gap(l.t.Ref, name+" could not be read", "", fact)
			return
		}
		if len(list) > 1 {
			l.t.Set(fact, stack.Bool(true), name)
			return
		}
	}
	if len(names) > 0 {
		l.t.Set(fact, stack.Bool(false), siblings)
		return
	}
	l.obs.Gap(l.t.Ref, "neither "+smt+" nor the topology of the CPUs is shown", "", fact)
}

// numa reads the memory of each node.
func (l *look) numa() {
	nodes, source, err := observe.MemoryNodes(l.ctx, l.h)
	if err != nil {
		l.gap(err, "numa_nodes", "numa_smallest_node")
		return
	}
	l.t.Set("numa_nodes", stack.Int(int64(len(nodes))), source)
	smallest := int64(-1)
	for _, n := range nodes {
		total, err := observe.NodeMemory(l.ctx, l.h, n)
		if errors.Is(err, fs.ErrNotExist) && len(nodes) == 1 {
			l.t.SetAbsent("numa_smallest_node", source) // one memory for all
			return
		}
		if err != nil {
			l.gap(err, "numa_smallest_node")
			return
		}
		if smallest < 0 || total < smallest {
			smallest = total
		}
	}
	l.t.Set("numa_smallest_node", stack.Int(smallest), "/sys/devices/system/node/node*/meminfo")
}
