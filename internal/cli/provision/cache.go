package provision

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/change"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/provision/cache"
	"plumb/internal/provision/spec"
	"plumb/internal/units"
	view "plumb/internal/view/provision"
)

// caching holds the flags of the commands below cache.
type caching struct {
	lending
	log  bool
	disk spec.Disk
	emit string
	// datasets are read into the cache at each start of the machine, by the unit that is emitted.
	datasets []string
	limit    time.Duration
	runs     int
	every    time.Duration
	save     string
	before   string
	fsync    string
	times    int
	dryRun   bool
	yes      bool
}

// Cache makes the commands about cache and log devices.
func Cache(s *shell.Shell, l Lending) *cobra.Command {
	c := &cobra.Command{
		Use:   "cache",
		Short: "manage and measure cache (L2ARC) and log (SLOG) devices of a pool",
		Long: `Cache adds a cache device or a separate log to a ZFS pool, reads files once
so that the cache holds them, measures what the device contributes, and removes it
again.`,
		Example: `  plumb provision cache add tank /dev/disk/by-id/nvme-instance-store
  plumb provision cache warm tank tank/mariadb/data
  plumb provision cache judge`,
		Args: s.NoSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	for _, make := range []func(*caching) *cobra.Command{(*caching).add, (*caching).remove, (*caching).warm, (*caching).judge, (*caching).compare} {
		v := &caching{lending: lending{Shell: s, Lending: l}}
		one := make(v)
		v.LiveFlags(one)
		c.AddCommand(one)
	}
	return c
}

const cacheExits = `Exit codes:
  0  done, or nothing to do
  2  the command line is wrong
  3  refused, or failed`

func (v *caching) changing(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&v.state, "state", "", "keep the journal in `DIR` instead of "+change.Directory)
	fl.BoolVar(&v.dryRun, "dry-run", false, "show what would be done, and do nothing")
	shell.YesFlag(c, &v.yes)
}

func (v *caching) add() *cobra.Command {
	c := &cobra.Command{
		Use:   "add POOL DEVICE",
		Short: "add a cache device to a pool, or with --log a separate log",
		Long: `Add adds a cache device to a pool, or with --log a separate log. The disk is proven
to be empty, and still the same one, immediately before it is added. A cache device
of the pool that no longer works, such as an instance store after a stop, is removed
and added again if Plumb had added it.

--emit systemd prints a unit that does this at each boot, and with --warm reads
datasets so that the cache holds them.

` + cacheExits,
		Example: `  plumb provision cache add tank /dev/disk/by-id/nvme-instance-store
  plumb provision cache add tank /dev/disk/by-id/nvme-1 --emit systemd --warm tank/db
  plumb provision cache add tank /dev/disk/by-id/nvme-optane --log --serial PHKE1234`,
		Args: shell.Args(2, 2, "a POOL and a DEVICE"),
		RunE: func(c *cobra.Command, args []string) error { return v.runAdd(c.Context(), args[0], args[1]) },
	}
	v.changing(c)
	fl := c.Flags()
	fl.BoolVar(&v.log, "log", false, "add it as a separate log (SLOG)")
	fl.StringVar(&v.disk.Serial, "serial", "", "require the disk to have this `SERIAL` number")
	fl.StringVar(&v.disk.Erase, "erase", "", "overwrite the disk with this `SERIAL` number, even if something is on it")
	fl.StringVar(&v.emit, "emit", "", "print a unit that does this at each boot, in this `FORM`: systemd")
	fl.StringSliceVar(&v.datasets, "warm", nil, "with --emit: warm the cache at each boot with the files of these `DATASETS`")
	return c
}

func (v *caching) runAdd(ctx context.Context, pool, device string) error {
	if err := v.Validate(); err != nil {
		return err
	}
	if v.emit != "" {
		return v.printUnit(pool, device)
	}
	if len(v.datasets) > 0 {
		return hint.Usage("--warm says what the unit of --emit systemd reads", "plumb provision cache warm "+pool+" "+v.datasets[0]+" reads it now")
	}
	class := cache.Reads
	if v.log {
		class = cache.Log
	}
	v.disk.Path = device
	o, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer o.close()
	a, err := cache.Add(ctx, o.doer, o.Stack, pool, class, v.disk)
	if err == nil && a.Dead && !v.dryRun {
		if err = v.Ask(fmt.Sprintf("%s does not work. Remove it and add it again?", cache.Place(class, pool, device)), v.yes); err == nil {
			err = v.withdraw(ctx, o, pool, device)
		}
		if err == nil {
			a, err = cache.Add(ctx, o.doer, o.Stack, pool, class, v.disk)
		}
	}
	switch {
	case err != nil:
		return err
	case len(a.Acts) == 0 && a.Dead:
		return v.Print(fmt.Sprintf("%s does not work: it would be removed, and added again if it is there.\n", cache.Place(class, pool, device)))
	case len(a.Acts) == 0:
		return v.Print(fmt.Sprintf("Nothing to do: %s is there.\n", cache.Place(class, pool, device)))
	}
	if err := v.Print(view.CacheAddition(a, shell.Screen(v.Out))); err != nil || v.dryRun {
		return err
	}
	if err := o.Executor.Trusted(); err != nil {
		return fmt.Errorf("keep the journal: %w", err)
	}
	if err := v.Ask("Add it?", v.yes); err != nil {
		return err
	}
	out, err := o.Executor.Apply(ctx, change.Draft{Steps: []change.Prepared{a.Step()}}, change.ApplyOptions{Begin: change.Begin{User: o.User}})
	if err != nil {
		return err
	}
	return v.Print(fmt.Sprintf("Added: change %d. plumb provision cache remove %s %s removes it.\n", out.Number, pool, device))
}

// printUnit prints the unit of an ephemeral cache. If no dataset is named the unit does not warm the cache.
func (v *caching) printUnit(pool, device string) error {
	if v.emit != "systemd" {
		return hint.Usage(fmt.Sprintf("--emit %s is not known", v.emit), "use systemd")
	}
	if v.log {
		return hint.Usage("a log device that comes back empty after a boot has lost its data", "only a cache device may: leave --log out")
	}
	for _, d := range v.datasets {
		if !strings.HasPrefix(d+"/", pool+"/") {
			return hint.Usage(fmt.Sprintf("--warm %s is not a dataset of the pool %s", d, pool), "zfs list -r "+pool+" shows them")
		}
	}
	add, err := shell.Itself(v.state, "provision", "cache", "add", pool, device, "--yes")
	if err != nil {
		return err
	}
	var warm []string
	if len(v.datasets) > 0 {
		if warm, err = shell.Itself(v.state, slices.Concat([]string{"provision", "cache", "warm", pool}, v.datasets, []string{"--yes"})...); err != nil {
			return err
		}
	}
	text, err := view.CacheUnit(pool, device, add, warm)
	if err != nil {
		return hint.Usage(err.Error(), "name the device by /dev/disk/by-id")
	}
	return v.Print(text)
}

func (v *caching) remove() *cobra.Command {
	c := &cobra.Command{
		Use:   "remove POOL DEVICE",
		Short: "remove a cache or log device that Plumb added",
		Long: `Remove takes a cache or log device out of its pool, if the journal says that Plumb
added it and the disk is still the same. Devices that others added are removed with
zpool remove.

` + cacheExits,
		Example: "  plumb provision cache remove tank /dev/disk/by-id/nvme-optane --dry-run",
		Args:    shell.Args(2, 2, "a POOL and a DEVICE"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := v.Validate(); err != nil {
				return err
			}
			o, err := v.open(c.Context())
			if err != nil {
				return err
			}
			defer o.close()
			if !v.dryRun {
				if err := v.Ask(fmt.Sprintf("Remove %s from pool %s?", args[1], args[0]), v.yes); err != nil {
					return err
				}
			}
			if err := v.withdraw(c.Context(), o, args[0], args[1]); err != nil {
				return err
			}
			if v.dryRun {
				return v.Print(fmt.Sprintf("%s would be removed from pool %s.\n", args[1], args[0]))
			}
			return v.Print(fmt.Sprintf("%s is no longer part of pool %s, and is empty again.\n", args[1], args[0]))
		},
	}
	v.changing(c)
	return c
}

// withdraw undoes the change that added a device.
func (v *caching) withdraw(ctx context.Context, o opened, pool, device string) error {
	all, err := o.Executor.Changes(ctx)
	if err != nil {
		return err
	}
	n := cache.Added(all, pool, device)
	switch {
	case n == 0:
		return hint.With(fmt.Errorf("the journal does not say that Plumb added %s to the pool %s", device, pool), "zpool remove "+pool+" "+device+" removes a device that others added")
	case v.dryRun:
		return nil
	}
	// A device that is gone cannot be read any more. That its path does not lead to another disk is checked when it is removed.
	_, state, err := cache.Find(ctx, o.doer, cache.Fuse(o.Stack), pool, device)
	if err != nil {
		return err
	}
	return o.Executor.Undo(ctx, []int{n}, change.UndoOptions{Force: state != "ONLINE"})
}

func (v *caching) warm() *cobra.Command {
	c := &cobra.Command{
		Use:   "warm POOL DATASET…",
		Short: "read the files of datasets once, so that the cache holds them",
		Long: `Warm reads every file of the datasets once, while the cache device is fed faster
than usual: l2arc_noprefetch=0, and higher l2arc_write_max, l2arc_write_boost and
l2arc_headroom. The parameters are restored when everything is read, when the time
is over, and when Plumb is killed, like those of plumb boost. A dataset with
primarycache=metadata is refused: a cache device is fed only from the ARC, so none
of its data would reach it.

` + cacheExits,
		Example: "  plumb provision cache warm tank tank/mariadb/data --max-time 2h",
		Args:    shell.Args(2, 1000, "a POOL and the DATASETS to read"),
		RunE:    func(c *cobra.Command, args []string) error { return v.runWarm(c.Context(), args[0], args[1:]) },
	}
	v.changing(c)
	c.Flags().DurationVar(&v.limit, "max-time", time.Hour, "stop after this time, even if not everything was read")
	return c
}

func (v *caching) runWarm(ctx context.Context, pool string, datasets []string) error {
	if v.limit < leastBoost || v.limit > mostBoost {
		return hint.Usage(fmt.Sprintf("--max-time %s leaves no time to read files", units.Short(v.limit)), "give something like --max-time 1h")
	}
	if err := v.Validate(); err != nil {
		return err
	}
	o, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer o.close()
	w, err := cache.Warm(o.Stack, pool, datasets, v.limit)
	if err != nil {
		return err
	}
	draft, err := o.Prepare(ctx, w.Plan)
	if err != nil {
		return err
	}
	if err := v.Print(view.CacheWarming(w, draft, shell.Screen(v.Out))); err != nil || v.dryRun {
		return err
	}
	if len(draft.Missing) > 0 {
		return hint.With(errors.New(strings.Join(draft.Missing, "; ")), "run as root")
	}
	if err := v.Ask("Read them?", v.yes); err != nil {
		return err
	}
	return v.read(ctx, o, w, draft)
}

// read reads the files with the raised rates, and prints the result.
func (v *caching) read(ctx context.Context, o opened, w cache.Warming, draft change.Draft) error {
	within, cancel := context.WithTimeout(ctx, v.limit)
	defer cancel()
	o.Command = func(context.Context) (int, error) {
		for _, dir := range w.Dirs {
			if flow, err := o.doer.Pipe(within, cache.Reading(dir)); err != nil {
				return flow.Code, fmt.Errorf("read %s: %w", dir, err)
			}
		}
		return 0, nil
	}
	was, err := cache.Size(ctx, o.doer)
	if err != nil {
		return err
	}
	began := time.Now()
	if len(draft.Steps) == 0 { // the rates are as high already
		_, err = o.Command(ctx)
	} else {
		_, err = o.Lend(ctx, w.Plan, draft)
	}
	now, sizeErr := cache.Size(ctx, o.doer)
	if err := errors.Join(err, sizeErr); err != nil {
		return err
	}
	return v.Print(fmt.Sprintf("Read in %s. The cache devices hold %s, and held %s before (l2_asize); they are fed for as long as the ARC evicts.\n",
		units.Span(time.Since(began)), units.Bytes(now), units.Bytes(was)))
}
