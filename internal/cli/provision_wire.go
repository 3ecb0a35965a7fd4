package cli

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/catalog"
	"plumb/internal/change"
	provisioncli "plumb/internal/cli/provision"
	"plumb/internal/cli/provision/rehearse"
	"plumb/internal/cli/shell"
	"plumb/internal/engine/dsn"
	mysqlhome "plumb/internal/engine/mysql/home"
	mysqlpoint "plumb/internal/engine/mysql/point"
	mysqlswap "plumb/internal/engine/mysql/swap"
	postgreshome "plumb/internal/engine/postgres/home"
	postgresswap "plumb/internal/engine/postgres/swap"
	"plumb/internal/host"
	"plumb/internal/product"
	"plumb/internal/provision"
	"plumb/internal/provision/move"
	"plumb/internal/provision/spec"
	"plumb/internal/storage/layout"
	"plumb/internal/system/guard"
	"plumb/internal/system/packages"
)

// provision makes the command that lays hosts out, with the adapters it knows.
func (a *app) provision() *cobra.Command {
	c := provisioncli.Command(&a.Shell, provisioncli.Adapters{Dialers: dialers, Phases: phases, Setters: setters, Engines: homes, Storage: layout.New(), System: ways{}, Mover: mover, Tape: a.openTape})
	c.AddCommand(provisioncli.Cache(&a.Shell, lending()), provisioncli.Swap(&a.Shell, lending(), provisioncli.Swapping{Engines: homes, Swappers: swappers, Rehearse: rehearsals}))
	return c
}

// homes lists the engines whose servers can be provisioned.
func homes(cat *catalog.Catalog, g dsn.Given) []provision.Engine {
	return []provision.Engine{mysqlhome.New(cat, g.Target(product.MySQL)), postgreshome.New(g.Target(product.Postgres))}
}

// swappers lists who brings a server's data under another version.
func swappers(cat *catalog.Catalog, g dsn.Given) []provision.Swapper {
	return []provision.Swapper{postgresswap.Swapper{Catalog: cat}, mysqlswap.Swapper{Catalog: cat, Point: mysqlpoint.New(cat, g.Target(product.MySQL))}}
}

// rehearsals tries swaps on copies of points.
func rehearsals(s *shell.Shell, by provision.Swapper) func(context.Context, shell.Source, string, provision.Swap) error {
	return rehearse.Rehearse{Shell: s, Points: keepers()}.Of(by)
}

// mover moves the data of servers that have points: their engines tell where a server stands.
func mover(cat *catalog.Catalog, g dsn.Given, journal string) provision.Mover {
	return move.Mover{Engines: pointEngines(cat, g), Dir: journal, Now: time.Now}
}

// ways are those of the host's system.
type ways struct{}

// Source implements provision.System.
func (ways) Source(ctx context.Context, h host.Reader, vendor, version string) (provision.Making, error) {
	r, err := packages.Source(ctx, h, product.VendorOf(vendor), version)
	return provision.Making{Acts: r.Acts, Notes: r.Notes}, err
}

// Packages implements provision.System.
func (ways) Packages(ctx context.Context, h host.Reader, flavor, version, vendor string, zfs bool) (m provision.Making, err error) {
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
func (ways) Pool(ctx context.Context, h host.Reader, pool spec.Pool) (m provision.Making, err error) {
	if !runsTimers(ctx, h) {
		return m, nil
	}
	disks := guard.Disks{
		Trims: slices.ContainsFunc(pool.Data, func(d spec.Disk) bool { return guard.Trims(ctx, h, d.Path) }),
		NVMe:  !slices.ContainsFunc(slices.Concat(pool.Data, pool.Special, pool.Log, pool.Cache), func(d spec.Disk) bool { return !guard.IsNVMe(ctx, h, d.Path) }),
	}
	m.Acts, m.Notes, err = guard.PoolTimers(ctx, h, pool.Name, disks)
	return m, err
}

// Filesystem implements provision.System.
func (ways) Filesystem(ctx context.Context, h host.Reader, f spec.Filesystem) (m provision.Making, err error) {
	if !runsTimers(ctx, h) || !guard.Trims(ctx, h, f.Device.Path) {
		return m, nil
	}
	m.Acts, m.Notes, err = guard.TrimTimer(ctx, h)
	return m, err
}

func runsTimers(ctx context.Context, h host.Reader) bool {
	_, err := h.Stat(ctx, "/run/systemd/system")
	return err == nil
}

// Places implements provision.System.
func (ways) Places(ctx context.Context, h host.Reader, home provision.Home, volumes []provision.Volume) (acts []change.Act, err error) {
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

// Labels implements provision.System.
func (ways) Labels(ctx context.Context, h host.Reader, home provision.Home, volumes []provision.Volume) ([]change.Act, error) {
	return guard.SELinux(ctx, h, guard.Label(home.Label), places(volumes))
}

// places lists where volumes are mounted.
func places(volumes []provision.Volume) (dirs []string) {
	for _, v := range volumes {
		dirs = append(dirs, v.At)
	}
	return dirs
}
