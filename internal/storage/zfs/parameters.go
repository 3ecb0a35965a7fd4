package zfs

import (
	"context"
	"math"
	"path"
	"slices"
	"strings"

	"plumb/internal/stack"
	"plumb/internal/zfs"
)

// parameters reads every parameter of the module and compares it with what
// the next load will set.
func (l *look) parameters(ctx context.Context) {
	m := l.module
	files, err := l.h.Glob(ctx, path.Join(moduleDir, "parameters", "*"))
	if err != nil {
		l.gap(m.Ref, err, "zfs_*", "l2arc_*", "zil_*", "modprobe_unknown")
		return
	}
	boot, knobs := l.bootSettings(ctx), l.catalog.Knobs("zfs")
	seen := map[string]bool{}
	for _, name := range files {
		p := path.Base(name)
		seen[p] = true
		text, err := l.h.ReadFile(ctx, name)
		if err != nil {
			if _, known := knobs[p]; known {
				l.gap(m.Ref, err, p)
			}
			continue
		}
		setParameter(m, p, strings.TrimSpace(string(text)), name, boot)
	}
	if len(seen) == 0 {
		l.obs.Gap(m.Ref, "there is nothing in "+moduleDir+"/parameters", "in a container, mount the host's /sys", "zfs_*", "l2arc_*", "zil_*", "modprobe_unknown")
		return
	}
	for p := range knobs {
		if !seen[p] {
			m.SetAbsent(p, moduleDir+"/parameters")
		}
	}
	var unknown []string
	for p := range boot {
		if !seen[p] {
			unknown = append(unknown, p)
		}
	}
	slices.Sort(unknown)
	m.Set("modprobe_unknown", stack.List(unknown), "modprobe.d and "+moduleDir+"/parameters")
}

// setParameter records one parameter. Where the running value comes from is
// only said when it shows: it equals what a file sets, or it is the 0 that
// means "the module decides".
func setParameter(m *stack.Thing, name, value, source string, boot map[string]stack.Next) {
	v := parameterValue(value)
	next, set := boot[name]
	if !set && slices.Contains(zeroIsDefault, name) {
		next, set = stack.Next{Value: stack.Int(0), Origin: stack.Origin{From: stack.FromDefault}}, true
	}
	if set {
		m.SettingUntil(name, v, source, next)
		return
	}
	m.Set(name, v, source)
}

// zeroIsDefault are parameters that are 0 in every version until somebody
// sets them.
var zeroIsDefault = []string{"zfs_arc_max", "zfs_arc_min", "zfs_nocacheflush", "zil_nocacheflush", "zfs_prefetch_disable"}

// noLimit is how the largest unsigned long reads, the default of
// zfs_async_block_max_blocks and others. It has no place in an int64; the
// largest of those says the same.
const noLimit = "18446744073709551615"

// parameterValue makes a number of what looks like one. modprobe takes
// numbers in hexadecimal too, and Y and N for booleans.
func parameterValue(s string) stack.Value {
	if s == noLimit {
		return stack.Int(math.MaxInt64)
	}
	if n, ok := zfs.ParseCount(s); ok {
		return stack.Int(n)
	}
	if hex, ok := strings.CutPrefix(strings.ToLower(s), "0x"); ok {
		if n, ok := parseHex(hex); ok {
			return stack.Int(n)
		}
	}
	return stack.Text(s)
}
