package protect

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	"plumb/internal/cli/value"
	"plumb/internal/engine/dsn"
	"plumb/internal/hint"
	"plumb/internal/protect"
	"plumb/internal/protect/clone"
	"plumb/internal/protect/instance"
	view "plumb/internal/view/protect"
)

// cloneFlags are the flags of clone.
type cloneFlags struct {
	machine.Place
	name        string
	port, count int
	memory      value.Size
	masks       []string
	replica     bool
	browse      bool
	source      string
	slot        string
}

func (v *verbs) clone() *cobra.Command {
	var f cloneFlags
	c := &cobra.Command{
		Use:   "clone POINT",
		Short: "start a server on a copy of a point",
		Long: `Clone turns a point into a running server: it clones the snapshots, removes
identity and outward connections, and starts a server that keeps running when plumb
ends. It listens on a socket of its own, and with --port on 127.0.0.1. With
--replica it replicates from the server of the point, from the position of the
point on.

--mask runs SQL before the clone listens, with nobody else logged in. On PostgreSQL
it starts in the database postgres, and a line \connect NAME changes to another;
all other commands of psql are refused. What a mask overwrites can remain in free
pages and logs of the copy's files: give people access to the clone, not to its
files.

POINT can also be DATASET@NAME, snapshots that others took (sanoid, zrepl, by hand)
of everything a running server keeps data on: the copy recovers as after a power
cut, and is not proven. Others cannot destroy a snapshot that has a clone.

--browse starts nothing: all files of the point are mounted read-only, where root
can look at them and copy from them.

The source keeps its identity, slots and logs; the copy's process does not see the
directories of the source. clone list shows the clones, clone drop removes one.

` + exits,
		Example: `  plumb clone 20261123T2105 --name dev --port 3307
  plumb clone 20261123T2105 --name dev --mask "UPDATE shop.users SET mail = ''" --mask @mask.sql
  plumb clone tank/db@autosnap_2026-11-23_21:00:00_hourly --name yesterday
  plumb clone 20261123T2105 --browse --name look
  plumb clone 20261123T2105 --name r --count 5 --port 3310 --replica --source @replica.dsn`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && !protect.LikeID(args[0]) && !protect.IsForeign(args[0]) {
				if shell.LikeCommand(c, args[0]) != "" {
					return v.NoSuchCommand(c, args)
				}
				return hint.Usage(fmt.Sprintf("%q is neither a point nor a command of plumb clone", args[0]), "plumb protect list shows the points; plumb clone --help the commands")
			}
			return shell.OneArg("point")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			return v.On(f.Place, func(m *machine.Machine) error { return v.runClone(c.Context(), m, f, args[0]) })
		},
	}
	f.Place.Flags(c)
	f.memory = instance.UsualMemory
	fl := c.Flags()
	fl.StringVar(&f.name, "name", "", "`NAME` of the clone; default: made from the server and the point")
	fl.IntVar(&f.port, "port", 0, "listen on 127.0.0.1 at `PORT`; with --count, at this and the following ports")
	fl.IntVar(&f.count, "count", 1, "make `N` clones: NAME-1, NAME-2, ...")
	fl.Var(&f.memory, "memory", "limit the clone's server to this `SIZE` of memory")
	fl.StringArrayVar(&f.masks, "mask", nil, "run `SQL` before it listens; @FILE for statements that each end with ; and a newline")
	fl.BoolVar(&f.browse, "browse", false, "start no server: only mount the files read-only, to look at them and copy from them")
	fl.BoolVar(&f.replica, "replica", false, "replicate from the server of the point; --source says how to reach it")
	shell.SecretVar(c, &f.source, "source", "", "the server that a replica follows, and the user it logs in as: a `URL` such as mysql://replica@db1:3306/")
	fl.StringVar(&f.slot, "slot", "", "PostgreSQL: the replica uses the physical replication slot `NAME` of its source")
	shell.OnlyWith(c, "source", "replica")
	shell.OnlyWith(c, "slot", "replica")
	for _, name := range []string{"replica", "port", "count", "mask", "memory"} { // which are about a server
		c.MarkFlagsMutuallyExclusive("browse", name)
	}
	c.AddCommand(v.cloneList(), v.cloneDrop(), v.cloneRefresh())
	return c
}

// cloneName matches the names a clone may have, which become part of paths and of names of control groups.
var cloneName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_-]{0,40}$`)

func (f cloneFlags) validate() error {
	switch {
	case f.name != "" && !cloneName.MatchString(f.name):
		return hint.Usage(fmt.Sprintf("--name %q cannot be the name of a clone", f.name), "use letters, digits, - and _, 41 at most")
	case f.count < 1 || f.count > 100:
		return hint.Usage(fmt.Sprintf("--count %d is out of range", f.count), "use 1 to 100")
	case f.port < 0 || f.port > 0 && f.port+f.count-1 > 65535:
		return hint.Usage(fmt.Sprintf("--port %d is not a port", f.port), "use 1 to 65535")
	case f.replica && f.source == "":
		return hint.Usage("--replica needs to know which server it follows", "--source URL names it")
	case f.replica && len(f.masks) > 0:
		return hint.Usage("a replica must equal its source, but --mask changes it", "give one of them")
	}
	return nil
}

// sourceOf parses the server that a replica follows.
func sourceOf(url, slot string) (*protect.Source, error) {
	if url == "" {
		return nil, nil
	}
	at, err := dsn.AddressOf(url)
	if err != nil {
		return nil, err
	}
	return &protect.Source{Network: at.Network, Address: at.Address, User: at.User, Password: at.Password, Slot: slot}, nil
}

// readMasks reads masks: SQL, or files of it.
func readMasks(given []string) (all []clone.Mask, err error) {
	for _, text := range given {
		file, isFile := strings.CutPrefix(text, "@")
		if !isFile {
			all = append(all, clone.Mask{Text: text})
			continue
		}
		text, err := shell.ReadFile(file, nil, shell.MostFile)
		if err != nil {
			return nil, hint.With(fmt.Errorf("read the mask %s: %w", file, err), "after @ comes the name of a file; --mask also takes SQL itself")
		}
		all = append(all, clone.Mask{File: file, Text: string(text)})
	}
	return all, nil
}

func (v *verbs) runClone(ctx context.Context, m *machine.Machine, f cloneFlags, id string) error {
	if err := f.validate(); err != nil {
		return err
	}
	o := clone.Options{Name: f.name, Purpose: protect.ForUse, Port: f.port, Memory: int64(f.memory)}
	masks, err := readMasks(f.masks)
	if err != nil {
		return err
	}
	if o.Source, err = sourceOf(f.source, f.slot); err != nil {
		return err
	}
	switch {
	case f.replica:
		o.Purpose = protect.ForReplica
	case f.browse:
		o.Purpose = protect.ForBrowse
	}
	if f.replica && protect.IsForeign(id) {
		return hint.Usage("the server's position in a snapshot taken by others is not known, so no replica can start from it", "plumb snapshot takes a point that has one")
	}
	point, err := m.Point(ctx, id)
	if err != nil {
		return err
	}
	if o.Masks, err = m.Clones.Statements(point.Server, masks); err != nil {
		return err
	}
	if o.Name == "" {
		o.Name = point.Server.Ref.Kind + "-" + point.Tag()[len(point.Tag())-4:]
	}
	var made []clone.Clone
	for i := range f.count {
		one := o
		if f.count > 1 {
			one.Name = fmt.Sprintf("%s-%d", o.Name, i+1)
		}
		if one.Port > 0 {
			one.Port += i
		}
		c, failed := m.Clones.Make(ctx, point, one)
		if c.Name != "" {
			made = append(made, c)
		}
		if err = failed; err != nil {
			break
		}
	}
	v.Done()
	if len(made) > 0 {
		err = errors.Join(v.Answer(f.JSON, view.ClonesDocument(made, nil), view.Clones(made, shell.Screen(v.Out))), err)
	}
	if err == nil && slices.ContainsFunc(made, func(c clone.Clone) bool { return c.Astray }) {
		err = shell.ErrMarked
	}
	return err
}

func (v *verbs) cloneList() *cobra.Command {
	var p machine.Place
	c := &cobra.Command{
		Use:     "list",
		Short:   "list the clones of this host",
		Long:    "List shows each clone, how to reach it, and the point it was made from. It\nchanges nothing.\n\n" + exits,
		Example: "  plumb clone list",
		Args:    shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return v.On(p, func(m *machine.Machine) error {
				all, unread := m.Clones.List(c.Context(), m.Doer)
				all = clone.Now(c.Context(), m.Doer, all)
				text := view.Clones(all, shell.Screen(v.Out))
				if unread != nil && len(all) == 0 {
					text = "" // there may be clones that could not be read
				}
				return errors.Join(v.Answer(p.JSON, view.ClonesDocument(all, unread), text), unread)
			})
		},
	}
	p.Flags(c)
	return c
}

func (v *verbs) cloneDrop() *cobra.Command {
	var p machine.Place
	var yes bool
	c := &cobra.Command{
		Use:   "drop NAME",
		Short: "stop a clone, and remove it",
		Long: `Drop stops the server of a clone and removes everything that was made for it. What
was written in it is lost. The point stays.

` + exits,
		Example: "  plumb clone drop dev",
		Args:    shell.OneArg("clone"),
		RunE: func(c *cobra.Command, args []string) error {
			return v.On(p, func(m *machine.Machine) error {
				one, err := m.Clones.Get(c.Context(), m.Doer, args[0])
				if err != nil {
					return err
				}
				if err := v.Ask(fmt.Sprintf("Drop the clone %s, and what was written in it?", one.Name), yes); err != nil {
					return err
				}
				if err := m.Clones.Drop(c.Context(), one.Name); err != nil {
					return err
				}
				all, unread := m.Clones.List(c.Context(), m.Doer)
				all = clone.Now(c.Context(), m.Doer, all)
				return errors.Join(v.Answer(p.JSON, view.ClonesDocument(all, unread), "Dropped "+shell.OneLine(one.Name)+".\n"), unread)
			})
		},
	}
	p.Flags(c)
	shell.YesFlag(c, &yes)
	return c
}

func (v *verbs) cloneRefresh() *cobra.Command {
	var p machine.Place
	var yes bool
	source, slot := "", ""
	c := &cobra.Command{
		Use:   "refresh NAME POINT",
		Short: "rebuild a clone from another point",
		Long: `Refresh drops a clone and rebuilds it from another point, with the same name, port
and mask. What was written in it is lost.

` + exits,
		Example: "  plumb clone refresh dev 20261124T0300",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return hint.Usage(c.CommandPath()+" needs a NAME and a POINT", "plumb clone list and plumb protect list show them")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return v.On(p, func(m *machine.Machine) error {
				from, err := sourceOf(source, slot)
				if err != nil {
					return err
				}
				point, err := m.Point(c.Context(), args[1])
				if err != nil {
					return err
				}
				one, err := m.Clones.Get(c.Context(), m.Doer, args[0])
				if err != nil {
					return err
				}
				if err := v.Ask(fmt.Sprintf("Drop the clone %s, and rebuild it from point %s?", one.Name, point.ID), yes); err != nil {
					return err
				}
				one, err = m.Clones.Refresh(c.Context(), one.Name, point, from)
				v.Done()
				if err != nil {
					return err
				}
				all := []clone.Clone{one}
				if err := v.Answer(p.JSON, view.ClonesDocument(all, nil), view.Clones(all, shell.Screen(v.Out))); err != nil || !one.Astray {
					return err
				}
				return shell.ErrMarked
			})
		},
	}
	p.Flags(c)
	shell.YesFlag(c, &yes)
	shell.SecretVar(c, &source, "source", "", "the server that a replica follows, and the user it logs in as: a `URL` such as mysql://replica@db1:3306/")
	c.Flags().StringVar(&slot, "slot", "", "PostgreSQL: the replica uses the physical replication slot `NAME` of its source")
	shell.OnlyWith(c, "slot", "source")
	return c
}
