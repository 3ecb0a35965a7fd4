package block

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/stack"
)

// Thin is the state of a thin pool of the device mapper, as LVM makes them.
type Thin struct {
	Name                 string // of the device-mapper device
	Data, Metadata       int64  // blocks in use
	DataAll, MetadataAll int64  // blocks there are
	Mode                 string // rw, ro, out_of_data_space, fail
	NeedsCheck           bool
}

// ThinPools asks for the state of all thin pools, by the name of the device.
// --noflush leaves them as they are: without it the kernel first commits
// the pool's metadata.
func ThinPools(ctx context.Context, h host.Reader) (map[string]Thin, error) {
	out, err := h.Output(ctx, "dmsetup", "status", "--noflush", "--target", "thin-pool")
	if err != nil {
		return nil, err
	}
	return parseThin(out), nil
}

// readThin is ThinPools for a probe; nil where they cannot be asked for.
func readThin(ctx context.Context, h host.Reader, names []string, obs *stack.Observation) map[string]Thin {
	if !h.About().Root || !hasMapper(names) {
		return nil
	}
	all, err := ThinPools(ctx, h)
	if err != nil && !errors.Is(err, host.ErrNoCommand) {
		obs.Gap(stack.Ref{}, err.Error(), "")
	}
	return all
}

func hasMapper(names []string) bool {
	for _, n := range names {
		if isNumbered(n, "dm-") {
			return true
		}
	}
	return false
}

// parseThin reads `dmsetup status --target thin-pool`, the form of which is in
// the kernel's Documentation/admin-guide/device-mapper/thin-provisioning.rst:
//
//	vg-pool-tpool: 0 204800 thin-pool 1 141/1024 700/1600 - rw discard_passdown queue_if_no_space - 1024
func parseThin(out []byte) map[string]Thin {
	found := map[string]Thin{}
	for line := range strings.Lines(string(out)) {
		name, rest, ok := strings.Cut(strings.TrimSpace(line), ": ")
		f := strings.Fields(rest)
		if !ok || name == "" || len(f) < 4 || f[2] != "thin-pool" {
			continue
		}
		t := Thin{Name: name}
		if f[3] == "Fail" {
			t.Mode = "fail"
			found[name] = t
			continue
		}
		if len(f) < 8 || !share(f[4], &t.Metadata, &t.MetadataAll) || !share(f[5], &t.Data, &t.DataAll) {
			continue
		}
		t.Mode = f[7]
		for _, w := range f[8:] {
			t.NeedsCheck = t.NeedsCheck || w == "needs_check"
		}
		found[name] = t
	}
	return found
}

// share reads "700/1600".
func share(text string, used, all *int64) bool {
	a, b, ok := strings.Cut(text, "/")
	n, err1 := strconv.ParseInt(a, 10, 64)
	m, err2 := strconv.ParseInt(b, 10, 64)
	*used, *all = n, m
	return ok && err1 == nil && err2 == nil && n >= 0 && m > 0
}

// thin records the state of the pool a device is, or that it is none.
func (d *device) thin(layer string, pools map[string]Thin) {
	if layer != "lvm" && layer != "dm" {
		d.notThin("layer")
		return
	}
	const from = "dmsetup status"
	p, ok := pools[d.thing.Text("dm_name")]
	if !ok {
		if pools == nil {
			d.obs.Gap(d.thing.Ref, "whether it is a thin pool was not asked", "run as root, with dmsetup installed", "thin_*")
			return
		}
		d.notThin(from)
		return
	}
	d.thing.Set("thin_mode", stack.Text(p.Mode), from)
	d.thing.Set("thin_needs_check", stack.Bool(p.NeedsCheck), from)
	if p.DataAll > 0 && p.MetadataAll > 0 {
		d.thing.Set("thin_data_used", stack.Float(100*float64(p.Data)/float64(p.DataAll)), from)
		d.thing.Set("thin_metadata_used", stack.Float(100*float64(p.Metadata)/float64(p.MetadataAll)), from)
	}
}

func (d *device) notThin(from string) {
	d.thing.Absent(from, "thin_data_used", "thin_metadata_used", "thin_mode", "thin_needs_check")
}
