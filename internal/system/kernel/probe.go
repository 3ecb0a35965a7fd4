package kernel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

const (
	asRoot      = "run as root: sudo plumb check"
	unsupported = "not supported by this kernel"
)

// Probe reads the machine and its kernel.
type Probe struct{ catalog *catalog.Catalog }

// New makes a probe that reads what the catalogue has of a host.
func New(c *catalog.Catalog) Probe { return Probe{c} }

// Name names the probe in gaps.
func (Probe) Name() string { return "kernel" }

// Cost implements observe.Probe. Files of sysctl.d are few, and each is two
// questions; the topology of the processors is asked for before Linux 4.19.
func (Probe) Cost() observe.Cost {
	return observe.Cost{Every: 10 * time.Second, Once: observe.Requests{Files: 200, Commands: 5}}
}

// Collect reads everything of the host that is no device, filesystem or server.
func (p Probe) Collect(ctx context.Context, h host.Reader, _ *stack.Stack) (stack.Observation, error) {
	l := &look{ctx: ctx, h: h, catalog: p.catalog}
	name := "localhost"
	if data, err := h.ReadFile(ctx, "/proc/sys/kernel/hostname"); err == nil && len(strings.TrimSpace(string(data))) > 0 {
		name = strings.TrimSpace(string(data))
	}
	l.t = l.obs.New("host", name)
	l.t.Set("hostname", stack.Text(name), "/proc/sys/kernel/hostname")
	for _, part := range []func(){
		l.release, l.files, l.cpu, l.memory, l.counters, l.swap, l.hugePages, l.numa,
		l.container, l.sysctls, l.pressure, l.clock, l.security, l.platform, l.logind,
	} {
		if err := ctx.Err(); err != nil {
			return l.obs, fmt.Errorf("read the kernel: %w", err)
		}
		part()
	}
	return l.obs, nil
}

// look is one run of the probe.
type look struct {
	ctx     context.Context
	h       host.Reader
	obs     stack.Observation
	t       *stack.Thing // the host
	catalog *catalog.Catalog
	image   bool // h shows an unpacked image, in which nothing runs
}

// read reads a file about facts of the host. A file that does not exist makes
// them absent; one that cannot be read leaves a gap.
func (l *look) read(name string, facts ...string) ([]byte, bool) {
	data, err := l.h.ReadFile(l.ctx, name)
	switch {
	case err == nil:
		return data, true
	case errors.Is(err, fs.ErrNotExist):
		for _, f := range facts {
			l.t.SetAbsent(f, name+": "+unsupported)
		}
	default:
		l.gap(err, facts...)
	}
	return nil, false
}

// word reads a file of one line, without its end; "" when it is not readable.
// It leaves neither facts nor gaps: for files that are one of several signs.
func (l *look) word(name string) string {
	data, err := l.h.ReadFile(l.ctx, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// exists tells whether a file is there.
func (l *look) exists(name string) bool {
	_, err := l.h.Stat(l.ctx, name)
	return err == nil
}

func (l *look) gap(err error, facts ...string) {
	hint := ""
	if errors.Is(err, fs.ErrPermission) {
		hint = asRoot
	}
	l.obs.Gap(l.t.Ref, err.Error(), hint, facts...)
}

// files reads what stands alone in a file: knobs of /sys, and some that can only
// be observed.
func (l *look) files() {
	for _, name := range []string{"cpu_driver", "clocksource", "zswap", "thp_size", "fs_aio_nr"} {
		f := l.catalog.Fact("host", name)
		l.file(f, f.From)
	}
	knobs := l.catalog.Knobs("host")
	for _, name := range slices.Sorted(maps.Keys(knobs)) {
		if f := knobs[name]; strings.HasPrefix(f.Shown, "/") {
			l.file(f, f.Shown)
		}
	}
	const offered = "/sys/devices/system/clocksource/clocksource0/available_clocksource"
	if data, ok := l.read(offered, "clocksources"); ok {
		l.t.Set("clocksources", stack.List(strings.Fields(string(data))), offered)
	}
}

// file sets a fact from a file that holds it alone.
func (l *look) file(f *catalog.Fact, name string) {
	data, ok := l.read(name, f.Name)
	if !ok {
		return
	}
	v, err := observe.ValueIn(f, data)
	if err != nil {
		l.obs.Gap(l.t.Ref, fmt.Sprintf("%s: %v", name, err), "", f.Name)
		return
	}
	l.t.Set(f.Name, v, name)
}
