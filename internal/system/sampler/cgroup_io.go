package sampler

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/stack"
	"plumb/internal/system/process"
)

// maxDevices bounds the devices of one control group that are told of.
const maxDevices = 64

// Version 2 limits a group together with all below it, and a request counts at
// every level. Version 1 limits each group by itself, whatever lies above it
// (throtl_pd_init in block/blk-throttle.c): there only the process's own counts.

// level is one control group that has a limit or is counted.
type level struct{ name, dir string }

// levels are those whose limits hold for the server. The first goes by the name
// that it has in the stack, which is that of the tree that limits memory.
func (g *group) levels(dirs process.Groups) []level {
	var out []level
	for i, dir := range dirs.IO {
		switch {
		case i == 0:
			out = append(out, level{g.of.Name, dir})
		case !dirs.IOV1:
			out = append(out, level{dirs.Paths[i], dir})
		}
	}
	return out
}

// perDevice are the values of one group by the number of the device, each by
// the name of its reading.
type perDevice map[string]map[string]int64

func (p perDevice) put(device, name string, n int64) {
	if p[device] == nil {
		if len(p) >= 4096 || !isDevice(device) {
			return
		}
		p[device] = map[string]int64{}
	}
	p[device][name] = n
}

// isDevice tells a device number such as 7:0 from other words.
func isDevice(text string) bool {
	major, minor, ok := strings.Cut(text, ":")
	_, err1 := strconv.ParseUint(major, 10, 32)
	_, err2 := strconv.ParseUint(minor, 10, 32)
	return ok && err1 == nil && err2 == nil
}

// counters reads what was asked of devices: by the group itself, and by those
// above it that have a limit.
func (g *group) counters(r reading, dirs process.Groups) {
	for i, l := range g.levels(dirs) {
		if i > 0 && len(g.limitsOf(r, l, false)) == 0 {
			continue
		}
		g.set(r, l, g.countersOf(r, l, dirs.IOV1))
	}
}

func (g *group) countersOf(r reading, l level, v1 bool) perDevice {
	if !v1 {
		data, err := r.h.ReadFile(r.ctx, path.Join(l.dir, "io.stat"))
		if err != nil && !gone(err) { // where it is not there, the controller is not on
			r.b.Gap(g.of, err.Error(), hintFor(err), "devices")
		}
		return parseIOStat(data)
	}
	all := perDevice{}
	for file, names := range map[string][2]string{"io_serviced": {"reads", "writes"}, "io_service_bytes": {"read_bytes", "written_bytes"}} {
		src := path.Join(l.dir, "blkio.throttle."+file)
		data, err := r.h.ReadFile(r.ctx, src)
		if err != nil && !gone(err) {
			r.b.Gap(g.of, err.Error(), hintFor(err), "devices")
		}
		parseServiced(data, names[0], names[1], all)
	}
	return all
}

// limits reads the limits of the group and of those above it.
func (g *group) limits(r reading, dirs process.Groups) {
	for _, l := range g.levels(dirs) {
		g.set(r, l, g.limitsOf(r, l, dirs.IOV1))
	}
}

var limitsV1 = map[string]string{
	"read_iops_device": "read_iops_limit", "write_iops_device": "write_iops_limit",
	"read_bps_device": "read_bytes_limit", "write_bps_device": "write_bytes_limit",
}

func (g *group) limitsOf(r reading, l level, v1 bool) perDevice {
	all := perDevice{}
	if !v1 {
		data, err := r.h.ReadFile(r.ctx, path.Join(l.dir, "io.max"))
		if err != nil && !gone(err) { // the root has none
			r.b.Gap(g.of, err.Error(), hintFor(err), "devices")
		}
		return parseIOMax(data)
	}
	for file, name := range limitsV1 {
		data, err := r.h.ReadFile(r.ctx, path.Join(l.dir, "blkio.throttle."+file))
		if err != nil && !gone(err) {
			r.b.Gap(g.of, err.Error(), hintFor(err), "devices")
		}
		parseDeviceLimits(data, name, all)
	}
	return all
}

// set records the values of one group for the devices below servers. What is
// asked of others holds no server back.
func (g *group) set(r reading, l level, all perDevice) {
	told := 0
	for _, number := range slices.Sorted(maps.Keys(all)) {
		device := g.devices[number]
		if device == "" {
			continue
		}
		if told++; told > maxDevices {
			r.b.Gap(g.of, fmt.Sprintf("more than %d devices are counted for it; the first were read", maxDevices), "", "devices")
			return
		}
		of := stack.Ref{Kind: "cgroup_device", Name: l.name + "@" + device}
		for _, name := range slices.Sorted(maps.Keys(all[number])) {
			r.b.Set(of, name, float64(all[number][name]))
		}
	}
}

var ioStatNames = map[string]string{"rbytes": "read_bytes", "wbytes": "written_bytes", "rios": "reads", "wios": "writes"}

// parseIOStat reads io.stat: "7:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0".
// A device that nothing was asked of may stand there alone.
func parseIOStat(data []byte) perDevice {
	return parsePairs(data, ioStatNames)
}

var ioMaxNames = map[string]string{"rbps": "read_bytes_limit", "wbps": "write_bytes_limit", "riops": "read_iops_limit", "wiops": "write_iops_limit"}

// parseIOMax reads io.max: "7:0 rbps=max wbps=max riops=500 wiops=max".
func parseIOMax(data []byte) perDevice { return parsePairs(data, ioMaxNames) }

// parsePairs reads lines of a device and "key=number"; "max" is no number.
func parsePairs(data []byte, names map[string]string) perDevice {
	all := perDevice{}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		for _, kv := range f[1:] {
			key, value, _ := strings.Cut(kv, "=")
			name, wanted := names[key]
			if n, ok := number([]byte(value)); ok && wanted {
				all.put(f[0], name, n)
			}
		}
	}
	return all
}

// parseServiced reads blkio.throttle.io_serviced and io_service_bytes of
// version 1: "7:0 Read 10".
func parseServiced(data []byte, read, written string, into perDevice) {
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		name := map[string]string{"Read": read, "Write": written}[f[1]]
		if n, ok := number([]byte(f[2])); ok && name != "" {
			into.put(f[0], name, n)
		}
	}
}

// parseDeviceLimits reads a limit of version 1: "7:0 500". No limit is no line.
func parseDeviceLimits(data []byte, name string, into perDevice) {
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) != 2 {
			continue
		}
		if n, ok := number([]byte(f[1])); ok && n > 0 {
			into.put(f[0], name, n)
		}
	}
}
