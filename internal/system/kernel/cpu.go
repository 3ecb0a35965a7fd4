package kernel

import (
	"strconv"

	"plumb/internal/stack"
)

// cpu reads the processors and how their clock is governed.
func (l *look) cpu() {
	const online = "/sys/devices/system/cpu/online"
	if data, ok := l.read(online, "cpus"); ok {
		if list, ok := parseList(data); ok && len(list) > 0 {
			l.t.Set("cpus", stack.Int(int64(len(list))), online)
		}
	}
	const info = "/proc/cpuinfo"
	if data, ok := l.read(info, "cpu_model", "cpu_mhz", "cpu_rated_mhz"); ok {
		c := parseCPUInfo(data)
		if c["model name"] != "" {
			l.t.Set("cpu_model", stack.Text(c["model name"]), info)
		}
		if mhz, err := strconv.ParseFloat(c["cpu MHz"], 64); err == nil && mhz > 0 {
			l.t.Set("cpu_mhz", stack.Float(mhz), info)
		}
		if mhz, ok := parseRated(c["model name"]); ok {
			l.t.Set("cpu_rated_mhz", stack.Float(mhz), info)
		}
	}
	const dir = "/sys/devices/system/cpu/cpu0/cpufreq/"
	for _, f := range [][2]string{
		{"cpu_driver", "scaling_driver"},
		{"cpu_governor", "scaling_governor"},
		{"cpu_energy_preference", "energy_performance_preference"},
	} {
		fact, file := f[0], f[1]
		if data, ok := l.read(dir+file, fact); ok {
			l.t.Set(fact, stack.Text(trim(data)), dir+file)
		}
	}
	const smt = "/sys/devices/system/cpu/smt/active"
	if data, ok := l.read(smt, "cpu_threads_shared"); ok {
		l.t.Set("cpu_threads_shared", stack.Bool(trim(data) == "1"), smt)
	}
}

// numa reads the memory of each node.
func (l *look) numa() {
	const has = "/sys/devices/system/node/has_memory"
	data, ok := l.read(has, "numa_nodes", "numa_smallest_node")
	if !ok {
		if f, known := l.t.Facts["numa_nodes"]; known && f.Value.IsAbsent() {
			l.t.Set("numa_nodes", stack.Int(1), "the kernel has no NUMA support") // one memory for all
		}
		return
	}
	nodes, ok := parseList(data)
	if !ok || len(nodes) == 0 {
		return
	}
	l.t.Set("numa_nodes", stack.Int(int64(len(nodes))), has)
	smallest := int64(-1)
	for _, n := range nodes {
		name := "/sys/devices/system/node/node" + strconv.Itoa(n) + "/meminfo"
		data, err := l.h.ReadFile(l.ctx, name)
		if err != nil {
			l.gap(err, "numa_smallest_node")
			return
		}
		total, ok := parseNodeMeminfo(data)["MemTotal"]
		if !ok {
			return
		}
		if smallest < 0 || total < smallest {
			smallest = total
		}
	}
	l.t.Set("numa_smallest_node", stack.Int(smallest), "/sys/devices/system/node/node*/meminfo")
}
