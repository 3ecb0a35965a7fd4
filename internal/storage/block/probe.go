package block

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/host"
	"plumb/internal/host/proc"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// deviceLimit is the most devices that are read. Hosts with thousands of
// zvols or iSCSI volumes exist.
const deviceLimit = 4096

// Probe reads the block devices.
type Probe struct{ catalog *catalog.Catalog }

// NewProbe makes a probe that reads the attributes of the catalogue.
func NewProbe(c *catalog.Catalog) Probe { return Probe{c} }

// Name implements observe.Probe.
func (Probe) Name() string { return "block" }

// Cost implements observe.Probe. The commands ask a drive for its health.
func (Probe) Cost() observe.Cost {
	return observe.Cost{Every: time.Minute, Waits: true, Once: observe.Requests{Files: 20, Commands: 1},
		Each: map[string]observe.Requests{"block": {Files: 45, Commands: 2}}}
}

// Collect implements observe.Probe.
func (p Probe) Collect(ctx context.Context, h host.Reader, _ *stack.Stack) (stack.Observation, error) {
	var obs stack.Observation
	dirs, err := h.Glob(ctx, "/sys/class/block/*")
	if err != nil {
		obs.Gap(stack.Ref{}, fmt.Sprintf("list block devices: %v", err), "", "block")
		return obs, nil
	}
	names := interesting(dirs)
	if len(names) > deviceLimit {
		obs.Gap(stack.Ref{}, fmt.Sprintf("%d block devices; only the first %d were read, up to %s",
			len(names), deviceLimit, names[deviceLimit-1]), "")
		names = names[:deviceLimit]
	}
	stats := readStats(ctx, h, &obs)
	all := shared{stats: stats, zvols: readZvols(ctx, h, names), thin: readThin(ctx, h, names, &obs)}
	each := observe.EachOf("reading the device", names, func(name string) stack.Observation {
		d := device{h: h, catalog: p.catalog, name: name, dir: "/sys/class/block/" + name}
		d.collect(ctx, all)
		return d.obs
	})
	obs.Things, obs.Gaps = each.Things, append(obs.Gaps, each.Gaps...)
	return obs, nil
}

// interesting drops devices that no database lies on: floppies and optical
// drives. On RAM disks there are logs of pools.
func interesting(dirs []string) []string {
	var names []string
	for _, d := range dirs {
		name := path.Base(d)
		if isNumbered(name, "fd") || isNumbered(name, "sr") {
			continue
		}
		names = append(names, name)
	}
	return names
}

func isNumbered(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	return ok && rest != "" && strings.Trim(rest, "0123456789") == ""
}

// shared is what was read once for all devices, by their names.
type shared struct {
	stats map[string]proc.Disk
	zvols map[string]string
	thin  map[string]Thin // nil when nobody could ask
}

// device is one block device while it is read.
type device struct {
	h       host.Reader
	catalog *catalog.Catalog
	name    string
	dir     string // in sysfs
	real    string // where dir leads: ../../devices/…, "" when not readable
	thing   *stack.Thing
	obs     stack.Observation
}

func (d *device) collect(ctx context.Context, all shared) {
	if isNumbered(d.name, "loop") && !d.attached(ctx) { // first: a host may have hundreds
		return
	}
	dev, ok := d.text(ctx, "dev")
	if !ok || dev == "" { // a hidden path of an NVMe multipath device
		return
	}
	d.real, _ = d.h.Readlink(ctx, d.dir)
	layer := d.layer(ctx)
	d.thing = d.obs.New("block", d.name)
	d.thing.Set("name", stack.Text(d.name), d.dir)
	d.thing.Set("dev", stack.Text(dev), d.dir+"/dev")
	d.thing.Set("layer", stack.Text(layer), d.dir)
	d.who(ctx, layer)
	d.geometry(ctx, layer)
	d.chain(ctx, layer, all.zvols)
	d.thin(layer, all.thin)
	d.queue(ctx, layer)
	d.kind(ctx, layer)
	if c, ok := all.stats[d.name]; ok {
		setCounters(d.thing, c)
	}
	if layer == "disk" {
		d.health(ctx)
		d.smart(ctx)
	}
}

// text reads one attribute. What is missing is not there in this kernel or for
// this device; what is there but not readable leaves a gap.
func (d *device) text(ctx context.Context, attribute string) (string, bool) {
	return d.textAt(ctx, d.dir+"/"+attribute, attribute)
}

func (d *device) textAt(ctx context.Context, name, fact string) (string, bool) {
	data, err := d.h.ReadFile(ctx, name)
	if err == nil {
		return strings.TrimSpace(string(data)), true
	}
	if d.thing != nil && !errors.Is(err, fs.ErrNotExist) {
		d.obs.Gap(d.thing.Ref, err.Error(), "", path.Base(fact))
	}
	return "", false
}
