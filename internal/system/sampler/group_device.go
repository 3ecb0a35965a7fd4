package sampler

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// perDevice are numbers of devices, by major:minor and by the names of readings.
type perDevice map[string]map[string]float64

func (p perDevice) set(dev, name string, n float64) {
	if p[dev] == nil {
		p[dev] = map[string]float64{}
	}
	p[dev][name] = n
}

// level is a group, or one above it, that may be limited in what it asks of devices.
type level struct {
	name string // of the group
	dir  string
	own  bool // the group itself
	root bool
}

// levels gives the groups whose limits hold for the server. In version 1 a limit
// holds for the tasks of a group alone, not for those of groups below it.
func (g *group) levels() ([]level, int, error) {
	p, err := g.at("blkio")
	if err != nil || p.version == 1 {
		if err != nil {
			return nil, 0, err
		}
		return []level{{g.of.Name, p.dirs[0], true, p.isRoot()}}, 1, nil
	}
	p, err = g.at("io")
	if err != nil {
		return nil, 0, err
	}
	var out []level
	name := p.path
	for i, dir := range p.dirs {
		if name == "/" {
			break // the root has no limits
		}
		of := name
		if i == 0 {
			of = g.of.Name
		}
		out = append(out, level{of, dir, i == 0, false})
		name = path.Dir(name)
	}
	return out, 2, nil
}

// counts reads what the group, and those above it that have a limit, asked of devices.
func (g *group) counts(ctx context.Context, h host.Reader, b *series.Batch) {
	levels, version, err := g.levels()
	if err != nil {
		return // processors and memory say so already
	}
	for _, l := range levels {
		limits, err := limitsOf(ctx, h, l.dir, version)
		if err != nil || len(limits) == 0 && (!l.own || l.root) {
			continue
		}
		counted, err := countsOf(ctx, h, l.dir, version)
		if err != nil {
			b.Gap(g.of, err.Error(), "", "devices")
			continue
		}
		for dev, values := range counted {
			if limits[dev] != nil || l.own && !l.root {
				g.put(b, l, dev, values)
			}
		}
	}
}

// deviceLimits reads the limits of the group and of those above it.
func (g *group) deviceLimits(ctx context.Context, h host.Reader, b *series.Batch) {
	levels, version, err := g.levels()
	if err != nil {
		b.Gap(g.of, err.Error(), "", "devices")
		return
	}
	for _, l := range levels {
		limits, err := limitsOf(ctx, h, l.dir, version)
		if err != nil {
			b.Gap(g.of, err.Error(), "", "devices")
			continue
		}
		for dev, values := range limits {
			g.put(b, l, dev, values)
		}
	}
}

// put records numbers of a device. One that is not in the picture of the host
// has no name yet.
func (g *group) put(b *series.Batch, l level, dev string, values map[string]float64) {
	device, ok := g.devices[dev]
	if !ok {
		return
	}
	for name, n := range values {
		b.Set(stack.Ref{Kind: "cgroup_device", Name: l.name + "@" + device}, name, n)
	}
}

// files of version 1, each with the reading it gives.
var limitFiles = map[string]string{
	"blkio.throttle.read_iops_device": "read_iops_limit", "blkio.throttle.write_iops_device": "write_iops_limit",
	"blkio.throttle.read_bps_device": "read_bytes_limit", "blkio.throttle.write_bps_device": "write_bytes_limit",
}

func limitsOf(ctx context.Context, h host.Reader, dir string, version int) (perDevice, error) {
	out := perDevice{}
	if version == 2 {
		data, err := h.ReadFile(ctx, path.Join(dir, "io.max"))
		if errors.Is(err, fs.ErrNotExist) {
			return out, nil // the controller is not enabled at this level
		}
		parseNested(data, map[string]string{"riops": "read_iops_limit", "wiops": "write_iops_limit", "rbps": "read_bytes_limit", "wbps": "write_bytes_limit"}, out)
		return out, err
	}
	for name, fact := range limitFiles {
		data, err := h.ReadFile(ctx, path.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return out, err
		}
		parseThrottle(data, map[string]string{"": fact}, out)
	}
	return out, nil
}

func countsOf(ctx context.Context, h host.Reader, dir string, version int) (perDevice, error) {
	out := perDevice{}
	if version == 2 {
		data, err := h.ReadFile(ctx, path.Join(dir, "io.stat"))
		if errors.Is(err, fs.ErrNotExist) {
			return out, nil
		}
		parseNested(data, map[string]string{"rios": "reads", "wios": "writes", "rbytes": "read_bytes", "wbytes": "written_bytes"}, out)
		return out, err
	}
	for name, facts := range map[string][2]string{
		"blkio.throttle.io_serviced": {"reads", "writes"}, "blkio.throttle.io_service_bytes": {"read_bytes", "written_bytes"},
	} {
		data, err := h.ReadFile(ctx, path.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return out, err
		}
		parseThrottle(data, map[string]string{"Read": facts[0], "Write": facts[1]}, out)
	}
	return out, nil
}

// parseNested reads lines as "8:16 rbps=2097152 wbps=max" of version 2. "max" is
// no limit, and a number that is not understood is none.
func parseNested(data []byte, facts map[string]string, out perDevice) {
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 2 || !isNumbers(f[0]) {
			continue
		}
		for _, pair := range f[1:] {
			key, value, _ := strings.Cut(pair, "=")
			if n, ok := count(value); ok && facts[key] != "" {
				out.set(f[0], facts[key], n)
			}
		}
	}
}

// parseThrottle reads lines as "8:16 Read 123", or "8:16 123", of version 1.
func parseThrottle(data []byte, facts map[string]string, out perDevice) {
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 2 || len(f) > 3 || !isNumbers(f[0]) {
			continue
		}
		word := ""
		if len(f) == 3 {
			word = f[1]
		}
		if n, ok := count(f[len(f)-1]); ok && facts[word] != "" {
			out.set(f[0], facts[word], n)
		}
	}
}

// count reads a number; the largest one stands for no limit in version 1.
func count(s string) (float64, bool) {
	n, err := strconv.ParseUint(s, 10, 64)
	return float64(n), err == nil && n < math.MaxInt64
}

func isNumbers(dev string) bool {
	major, minor, ok := strings.Cut(dev, ":")
	_, err1 := strconv.ParseUint(major, 10, 32)
	_, err2 := strconv.ParseUint(minor, 10, 32)
	return ok && err1 == nil && err2 == nil
}
