package lab

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"plumb/internal/host"
)

// machine tells in a few words what the trials run on. What cannot be read is
// left out.
func machine(ctx context.Context, h host.Reader) (says []string) {
	read := func(name string) string {
		text, err := h.ReadFile(ctx, name)
		if err != nil {
			return ""
		}
		return string(text)
	}
	if v, ok := field(read("/etc/os-release"), "PRETTY_NAME", "="); ok {
		says = append(says, strings.Trim(v, `"`))
	}
	if v := strings.TrimSpace(read("/proc/sys/kernel/osrelease")); v != "" {
		says = append(says, "Linux "+v)
	}
	cpus := read("/proc/cpuinfo")
	if n := strings.Count("\n"+cpus, "\nprocessor"); n > 0 {
		model, _ := field(cpus, "model name", ":")
		says = append(says, strings.TrimSpace(fmt.Sprintf("%d processors %s", n, model)))
	}
	if v, ok := field(read("/proc/meminfo"), "MemTotal", ":"); ok {
		if kb, err := strconv.ParseInt(strings.TrimSuffix(v, " kB"), 10, 64); err == nil {
			says = append(says, fmt.Sprintf("%.1f GB of memory", float64(kb)/(1<<20)))
		}
	}
	return says
}

// field finds a line that begins with a key.
func field(text, key, sign string) (value string, ok bool) {
	for line := range strings.Lines(text) {
		if k, v, cut := strings.Cut(line, sign); cut && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v), true
		}
	}
	return "", false
}
