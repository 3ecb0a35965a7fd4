// Package setup has the host's own system take its part in a provision: what is installed from where,
// which timers look after disks, and what a server needs beside its files to use its volumes. How each of
// them is done on this host, packages and guard know.
package setup

import (
	"context"
	"slices"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/product"
	"plumb/internal/provision"
	"plumb/internal/provision/spec"
	"plumb/internal/system/guard"
	"plumb/internal/system/packages"
)

// System is that of the host.
type System struct{}

var _ provision.System = System{}

// Source implements provision.System.
func (System) Source(ctx context.Context, h host.Reader, vendor, version string) (provision.Making, error) {
	r, err := packages.Source(ctx, h, product.VendorOf(vendor), version)
	return provision.Making{Acts: r.Acts, Notes: r.Notes}, err
}

// Packages implements provision.System.
func (System) Packages(ctx context.Context, h host.Reader, flavor, version, vendor string, zfs bool) (m provision.Making, err error) {
	var want packages.Want
	if flavor != "" {
		if want, err = packages.Server(flavor, version, vendor != ""); err != nil {
			return m, err
		}
	}
	if zfs {
		more, err := packages.ZFS(ctx, h)
		if err != nil {
			return m, err
		}
		want.Names = append(want.Names, more.Names...)
	}
	recipe, err := packages.Recipe(ctx, h, want)
	if err == nil && len(recipe.Acts) == 0 && zfs {
		recipe, err = packages.Module(ctx, h)
	}
	return provision.Making{Acts: recipe.Acts, Notes: recipe.Notes}, err
}

// Pool implements provision.System.
func (System) Pool(ctx context.Context, h host.Reader, pool spec.Pool) (m provision.Making, err error) {
	if runs, err := host.RunsSystemd(ctx, h); err != nil || !runs { // nobody runs the timers
		return m, err
	}
	disks := guard.Disks{
		Trims: slices.ContainsFunc(pool.Data, func(d spec.Disk) bool { return guard.Trims(ctx, h, d.Path) }),
		NVMe:  !slices.ContainsFunc(slices.Concat(pool.Data, pool.Special, pool.Log, pool.Cache), func(d spec.Disk) bool { return !guard.IsNVMe(ctx, h, d.Path) }),
	}
	m.Acts, m.Notes, err = guard.PoolTimers(ctx, h, pool.Name, disks)
	return m, err
}

// Filesystem implements provision.System.
func (System) Filesystem(ctx context.Context, h host.Reader, f spec.Filesystem) (m provision.Making, err error) {
	if runs, err := host.RunsSystemd(ctx, h); err != nil || !runs || !guard.Trims(ctx, h, f.Device.Path) {
		return m, err
	}
	m.Acts, m.Notes, err = guard.TrimTimer(ctx, h)
	return m, err
}

// Places implements provision.System.
func (System) Places(ctx context.Context, h host.Reader, home provision.Home, volumes []provision.Volume) (acts []change.Act, err error) {
	dirs := places(volumes)
	if home.Unit != "" {
		zfs := slices.ContainsFunc(volumes, func(v provision.Volume) bool { return v.Dataset != "" })
		if acts, err = guard.Mounts(ctx, h, home.Unit, dirs, zfs); err != nil {
			return nil, err
		}
	}
	if home.Program == "" {
		return acts, nil
	}
	profile, err := guard.AppArmor(ctx, h, home.Program, dirs)
	return append(acts, profile...), err
}

// Labels implements provision.System. A directory of a filesystem that was filled elsewhere stays mounted there, too.
func (System) Labels(ctx context.Context, h host.Reader, home provision.Home, volumes []provision.Volume) ([]change.Act, error) {
	dirs := places(volumes)
	for _, v := range volumes {
		if v.Dataset == "" && v.Aside != "" {
			dirs = append(dirs, v.Aside)
		}
	}
	return guard.SELinux(ctx, h, guard.Label(home.Label), dirs)
}

// places lists where volumes are mounted.
func places(volumes []provision.Volume) (dirs []string) {
	for _, v := range volumes {
		dirs = append(dirs, v.At)
	}
	return dirs
}
