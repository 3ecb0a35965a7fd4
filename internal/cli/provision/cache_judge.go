package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/change"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/provision/cache"
	"plumb/internal/units"
	view "plumb/internal/view/provision"
)

func (v *caching) judge() *cobra.Command {
	c := &cobra.Command{
		Use:   "judge",
		Short: "measure what share of reads the cache devices serve, with intervals",
		Long: `Judge reads the counters of the ARC several times, and reports which share of the
reads that missed the ARC was served by the cache devices, with 95 % intervals.
--save FILE keeps the result; --before FILE reports what has changed since, if the
interval excludes zero. It changes nothing.

The counters are of all pools of this host together. They say nothing about a
separate log. For that, --fsync DIR also times durable writes of 4 KiB, one after
the other, in a file there that is removed again. Two measurements at
different times can differ for other reasons; compare alternates to avoid that.

` + shell.ReadExits,
		Example: `  plumb provision cache judge --save before.json     without the cache device
  plumb provision cache judge --before before.json   with it, once it is warm
  plumb provision cache judge --fsync /tank/db       durable writes there, too`,
		Args: shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return v.runJudge(c.Context()) },
	}
	fl := c.Flags()
	fl.StringVar(&v.fsync, "fsync", "", "also time durable writes in the directory `DIR`")
	fl.IntVar(&v.runs, "windows", 10, "number of windows, 4 to 1000")
	fl.DurationVar(&v.every, "every", 6*time.Second, "length of each window")
	fl.StringVar(&v.save, "save", "", "save the result in a new `FILE`")
	fl.StringVar(&v.before, "before", "", "compare with what an earlier run saved in `FILE`")
	return c
}

func (v *caching) runJudge(ctx context.Context) error {
	if v.runs < 4 || v.runs > 1000 || v.every < 100*time.Millisecond || v.every > time.Hour {
		return hint.Usage(fmt.Sprintf("--windows %d --every %s is too little to judge by", v.runs, units.Short(v.every)), "give something like --windows 10 --every 6s")
	}
	var before []cache.Window
	if v.before != "" {
		text, err := shell.ReadFile(v.before, nil, shell.MostFile)
		if err == nil {
			err = json.Unmarshal(text, &before)
		}
		if err != nil {
			return hint.With(fmt.Errorf("read the result in %s: %w", v.before, err), "plumb provision cache judge --save FILE writes one")
		}
	}
	h := host.NewLive(host.LiveOptions{Plumb: shell.Version()})
	defer h.Close()
	seen, err := cache.Look(ctx, h, v.runs, v.every, v.fsync)
	if err != nil {
		return err
	}
	if v.save != "" {
		text, err := json.MarshalIndent(seen, "", "  ")
		if err == nil {
			err = shell.WriteWhole(v.save, false, append(text, '\n'))
		}
		if err != nil {
			return fmt.Errorf("write the result to %s: %w", v.save, hint.Cause(err))
		}
	}
	return v.Print(view.CacheJudgement(cache.Measure(seen), before, shell.Screen(v.Out)))
}

func (v *caching) compare() *cobra.Command {
	c := &cobra.Command{
		Use:   "compare POOL DEVICE DIR",
		Short: "measure the effect of a log device: with it, without, without, with",
		Long: `Compare removes a separate log that Plumb added from its pool and adds it again, in
the order with, without, without, with, and times durable writes of 4 KiB in DIR, a
directory in the pool, in each turn. A steady drift cancels out of the difference,
which is reported with its 95 % interval. Each removal and addition is a change in
the journal. If Plumb is killed, the device may be out: cache add adds it again.

A cache device comes back empty each time, so it is not compared like this: its own
counters show what it serves (judge).

` + cacheExits,
		Example: "  plumb provision cache compare tank /dev/disk/by-id/nvme-optane /tank/db",
		Args:    shell.Args(3, 3, "a POOL, a DEVICE and a DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			return v.runCompare(c.Context(), args[0], args[1], args[2])
		},
	}
	v.changing(c)
	fl := c.Flags()
	fl.IntVar(&v.times, "times", 2, "repeat the order this many times, 1 to 50; two pairs each")
	fl.DurationVar(&v.every, "every", 6*time.Second, "length of each turn")
	return c
}

func (v *caching) runCompare(ctx context.Context, pool, device, dir string) (err error) {
	if v.times < 1 || v.times > 50 || v.every < time.Second || v.every > time.Hour {
		return hint.Usage(fmt.Sprintf("--times %d --every %s is too little to judge by", v.times, units.Short(v.every)), "give something like --times 2 --every 6s")
	}
	if err := v.Validate(); err != nil {
		return err
	}
	o, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer o.close()
	class, state, err := cache.Find(ctx, o.doer, cache.Fuse(o.Stack), pool, device)
	if err == nil {
		err = cache.Uses(ctx, o.doer, o.Stack, pool, dir)
	}
	switch {
	case err != nil:
		return err
	case class != cache.Log || state != "ONLINE":
		return hint.With(fmt.Errorf("%s is not a working log device of pool %s", device, pool), "plumb provision cache add "+pool+" "+device+" --log")
	}
	all, err := o.Executor.Changes(ctx)
	if err != nil {
		return err
	}
	if cache.Added(all, pool, device) == 0 {
		return hint.With(fmt.Errorf("the journal does not say that Plumb added %s to the pool %s, so it is not removed", device, pool), "use zpool remove, then plumb provision cache add: it is then one that Plumb added")
	}
	order := cache.Order(v.times)
	if err := v.Print(view.CacheTurns(pool, device, order, v.every, shell.Screen(v.Out))); err != nil || v.dryRun {
		return err
	}
	if err := v.Ask("Remove it and add it again?", v.yes); err != nil {
		return err
	}
	turns, err := v.turns(ctx, o, pool, device, dir, order)
	if err != nil {
		return err
	}
	return v.Print(view.CacheCompared(turns, cache.Compare(turns), shell.Screen(v.Out)))
}

// turns measures with the device and without it, in turns. In the end the device is in its pool.
func (v *caching) turns(ctx context.Context, o opened, pool, device, dir string, order []bool) (all []cache.Turn, err error) {
	in := true
	put := func(ctx context.Context, with bool) (err error) {
		switch {
		case with == in:
			return nil
		case with:
			err = v.putIn(ctx, o, pool, device)
		default:
			err = v.withdraw(ctx, o, pool, device)
		}
		if err == nil {
			in = with
		}
		return err
	}
	defer func() {
		if left := put(context.WithoutCancel(ctx), true); left != nil {
			err = hint.With(errors.Join(err, fmt.Errorf("add %s again: %w", device, left)), "plumb provision cache add "+pool+" "+device+" --log adds it again")
		}
	}()
	for _, with := range order {
		if err := put(ctx, with); err != nil {
			return nil, err
		}
		is, err := cache.Write(ctx, dir, v.every)
		if err != nil {
			return nil, err
		}
		all = append(all, cache.Turn{With: with, Durable: *is})
	}
	return all, nil
}

// putIn adds the log device again that was just removed.
func (v *caching) putIn(ctx context.Context, o opened, pool, device string) error {
	v.disk.Path = device
	a, err := cache.Add(ctx, o.doer, o.Stack, pool, cache.Log, v.disk)
	if err != nil || len(a.Acts) == 0 {
		return err
	}
	_, err = o.Executor.Apply(ctx, change.Draft{Steps: []change.Prepared{a.Step()}}, change.ApplyOptions{Begin: change.Begin{User: o.User}})
	return err
}
