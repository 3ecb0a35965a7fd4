package rollback

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/protect"
	"plumb/internal/protect/service"
	"plumb/internal/zfs"
)

// acts lists what is done, in order. What a start of the machine in between may have undone
// is looked at again, as an act of its own: it costs nothing where all is well.
func (c *checking) acts() (all []change.Act, err error) {
	add := func(s change.Switch) { all = append(all, change.Act{Switch: &s}) }
	look, _, err := service.Listening(c.plan.Target.Network, c.plan.Target.Address)
	if err != nil {
		return nil, err
	}
	inward := slices.SortedFunc(slices.Values(c.plan.Volumes), func(a, b Volume) int { return strings.Compare(b.Mountpoint, a.Mountpoint) })
	outward := slices.Clone(inward)
	slices.Reverse(outward)

	sets, each := c.of(func(v Volume) bool { return v.top == "" }), func(volumes []Volume, act func(Volume) change.Switch) {
		for _, v := range volumes {
			add(act(v))
		}
	}
	roots := c.of(func(v Volume) bool { return v.root })
	inward, outward = slices.DeleteFunc(inward, Volume.inside), slices.DeleteFunc(outward, Volume.inside)
	mounted := func(again string) {
		each(inward, func(v Volume) change.Switch { return uncover(v, again) })
		each(outward, func(v Volume) change.Switch { return mount(v, again) })
	}

	first := c.stop(look, "")
	first.Do = append(first.Do, change.Commands(service.UntilEnded(c.plan.Server.PID))...) // it listens no more long before it has ended
	add(first)
	each(c.of(func(v Volume) bool { return v.top != "" }), c.copied)
	for _, v := range sets {
		all = append(all, safety(v), c.clone(v))
	}
	each(c.of(func(v Volume) bool { return v.from.Snapshot != "" && v.top == "" }), adopt)
	each(sets, c.promote)
	each(c.of(func(v Volume) bool { return v.root && v.inherits }), pin)
	add(c.stop(look, ", before it is unmounted"))
	each(inward, unmount)
	each(roots, c.aside)
	for _, v := range roots {
		add(c.takePlace(v))
		if v.top == "" {
			add(c.mountpoint(v))
		}
	}
	each(c.of(func(v Volume) bool { return !v.root && !v.inherits }), c.mountpoint)
	each(sets, c.mountable)
	mounted("")
	each(sets, notMountable)
	add(c.stop(look, ", before it is started"))
	mounted(", again")
	add(c.start(look, ""))
	add(c.start(look, ", again")) // going on may have stopped it once more
	return all, nil
}

// of gives some of the volumes.
func (c *checking) of(these func(Volume) bool) []Volume {
	return slices.DeleteFunc(slices.Clone(c.plan.Volumes), func(v Volume) bool { return !these(v) })
}

// stop stops the server.
func (c *checking) stop(look change.Inspection, when string) change.Switch {
	return change.Switch{On: c.plan.Server.Ref.String() + when, Inspect: look, After: change.None, Do: change.Commands(c.plan.Stop), Undo: change.Commands(c.plan.Start),
		Patience: c.o.within().Milliseconds(), Home: c.plan.Server.Dir("data"), Exact: c.plan.Stop[0] != "systemctl"}
}

// start starts the server on what took the place of its datasets. An undo stops it also when it does not listen: one that crashed
// is started again and again by its unit, and must not be while its datasets are swapped.
func (c *checking) start(look change.Inspection, again string) change.Switch {
	_, shows, _ := service.Listening(c.plan.Target.Network, c.plan.Target.Address)
	stop, _ := service.Surely(c.plan.Stop)
	s := change.Switch{On: c.plan.Server.Ref.String() + " after the swap" + again, Inspect: look, After: shows, Do: change.Commands(c.plan.Start),
		Undo: change.Commands(stop), Always: true, Patience: c.o.within().Milliseconds()}
	if again == "" { // once is enough for an undo to stop it
		s.Home = c.plan.Server.Dir("data")
	}
	return s
}

// safety keeps the state just before the rollback, whatever is done to the dataset later.
func safety(v Volume) change.Act {
	name := v.Name + "@plumb-before-" + v.tag[:strings.LastIndexByte(v.tag, '-')]
	return change.Act{Make: &change.Make{Thing: change.Thing{Dataset: name},
		Do: change.Commands(zfs.TakeSnapshots(map[string]string{"org.plumb:act": "{mark}"}, name)), Undo: change.Commands(zfs.Destroy(name))}}
}

// spareFrom is the place of the act from which on an undo no longer destroys what takes the place of a volume: the first of the
// server's volumes leaves its own. From then on a start of the machine can mount the others and start the server, which writes what
// nobody else has.
func (c *checking) spareFrom() string {
	return placeOf(c.of(func(v Volume) bool { return v.root })[0])
}

// placeOf is the place of the act that renames the server's volume.
func placeOf(v Volume) string { return "name of " + v.Name }

// ofSnapshot fails unless a dataset is a clone of the snapshot that has a GUID: whoever may rename and destroy snapshots can have put another in
// its place until it was cloned, and not since.
const ofSnapshot = `of=$(zfs get -Hp -o value origin "$1") && [ "$(zfs get -Hp -o value guid "$of")" = "$2" ] || { echo "$1 is not a clone of the snapshot that was taken" >&2; exit 1; }`

// origin is the snapshot that takes the place of the volume: the point's, or that of a copy that was brought forward.
func (v Volume) origin() protect.Member {
	if v.from.Snapshot != "" {
		return v.from
	}
	return v.Member
}

// clone makes the clone aside, mounted nowhere.
func (c *checking) clone(v Volume) change.Act {
	of := v.origin()
	options := append([]string{"canmount=noauto", "org.plumb:act={mark}"}, v.own...)
	if v.root || !v.inherits {
		options = append(options, "mountpoint=none")
	}
	return change.Act{Make: &change.Make{Thing: change.Thing{Dataset: v.next},
		Do: change.Commands(zfs.Clone(of.Snapshot, v.next, options...), []string{"sh", "-c", ofSnapshot, "sh", v.next, of.GUID}), Undo: change.Commands(zfs.Destroy(v.next)),
		Spare: change.Spare{Keep: change.Commands(zfs.Rename(v.next, v.Undone)), KeepFrom: c.spareFrom()}}}
}

// reads reads a property of the clone, whatever its name is by then.
func (c *checking) reads(v Volume, property string) *change.Inspection {
	return &change.Inspection{Of: &change.Property{Made: v.next, List: c.tools.GUIDs(above(v)), Name: property}}
}

// above gives a dataset that keeps its name, and holds all of the volume's.
func above(v Volume) string { return zfs.PoolOf(v.Name) }

// promote makes the dataset a clone of its clone: the snapshots up to the point go over.
func (c *checking) promote(v Volume) change.Switch {
	return change.Exactly("origin of "+v.next, *c.reads(v, "origin"), "-", zfs.Promote(v.next), zfs.Promote(v.Name))
}

// pin sets an inherited mount point on the dataset itself, so that it stays when the dataset
// is renamed.
func pin(v Volume) change.Switch {
	look := change.Inspection{Argv: zfs.Marks("mountpoint", above(v)), // the dataset is known under both of its names
		Match: `^(?:` + regexp.QuoteMeta(v.Name) + `|` + regexp.QuoteMeta(v.Before) + `)\t` + regexp.QuoteMeta(v.Mountpoint) + `\t(local)$`}
	return change.Exactly("mountpoint of "+v.Name, look, "local", zfs.Set("mountpoint", v.Mountpoint, v.Name), zfs.Inherit("mountpoint", v.Name))
}

// mounted reads which dataset is uppermost on the mount point, from the mount table.
func (v Volume) mounted() change.Inspection {
	at := edit.Octal(v.Mountpoint)
	if v.top != "" {
		return change.Inspection{File: "/proc/self/mountinfo", Match: `^\S+ \S+ \S+ (\S+) ` + regexp.QuoteMeta(at) + ` `}
	}
	return change.Inspection{File: "/proc/self/mountinfo", Match: `^\S+ \S+ \S+ / ` + regexp.QuoteMeta(at) + ` .* - \S+ (\S+) `}
}

// mountOf and unmountOf give what mounts and unmounts a volume, under a name.
//
// A volume can be mounted in a directory of the server's, where a process of its user could put a link in the place of the mount
// point. ZFS cannot be kept from following it: zfs mount gives the path to mount(2), mount.zfs resolves it first (realpath), neither
// takes a directory that was opened, and mount -i would leave out what properties say of the mount. So it is seen afterwards, in the
// mount table: the act fails, and taking back its mount point unmounts the clone, wherever it is. An undo fails, and leaves it to a person.
func (v Volume) mountOf(name string) []string {
	if v.top == "" {
		return zfs.Mount(name)
	}
	return []string{"sh", "-c", mountHere, "sh", v.Mountpoint, v.options + ",subvol=" + name, v.source}
}

// mountHere enters the mount point and mounts there: what is put in its place meanwhile leads nowhere.
const mountHere = `cd -P -- "$1" || exit
[ "$(pwd -P)" = "$1" ] || { echo "$1 leads to $(pwd -P)" >&2; exit 1; }
exec mount --no-canonicalize -t btrfs -o "$2" -- "$3" .`

func (v Volume) unmountOf() []string {
	if v.top == "" {
		return zfs.Unmount(v.Mountpoint)
	}
	return []string{"umount", "--", v.Mountpoint}
}

func unmount(v Volume) change.Switch {
	return change.Exactly("mount of "+v.Mountpoint, v.mounted(), change.None, v.unmountOf(), v.mountOf(v.Name))
}

// mount mounts the dataset that has the name by then.
func mount(v Volume, again string) change.Switch {
	return change.Exactly("mount of "+v.Mountpoint+" after the swap"+again, v.mounted(), v.shown(), v.mountOf(v.Name), v.unmountOf())
}

// uncover takes the dataset of before away from where a start of the machine mounted it over
// the other.
func uncover(v Volume, again string) change.Switch {
	before := "{before}"
	if v.top != "" {
		before = v.Before
	}
	s := change.Exactly("mount of "+v.Before+again, v.mounted(), v.shown(), v.unmountOf(), v.mountOf(before))
	s.Beyond = []string{change.None}
	return s
}

// aside renames the dataset, with all below it.
func (c *checking) aside(v Volume) change.Switch {
	if v.top != "" {
		return v.renamed()
	}
	look := change.Inspection{Argv: c.tools.GUIDs(path.Dir(v.Name)), Match: `^([^@\t]+)\t` + v.guid + `$`}
	return change.Exactly(placeOf(v), look, v.Before, zfs.Rename(v.Name, v.Before), zfs.Rename(v.Before, v.Name))
}

// takePlace gives the clone the name.
func (c *checking) takePlace(v Volume) change.Switch {
	if v.top != "" {
		return v.inPlace()
	}
	return change.Exactly("name of "+v.next, *c.reads(v, "name"), v.Name, zfs.Rename(v.next, v.Name), zfs.Rename(v.Name, v.next))
}

// mountpoint gives the clone the mount point, in the way in which the dataset has it.
func (c *checking) mountpoint(v Volume) change.Switch {
	do := zfs.Set("mountpoint", v.Mountpoint, v.Name)
	if v.inherits {
		do = zfs.Inherit("mountpoint", v.Name)
	}
	return change.Exactly("mountpoint of what is now "+v.Name, *c.reads(v, "mountpoint"), v.Mountpoint, do, zfs.Set("mountpoint", "none", v.Name))
}

// mountable lets a start of the machine mount the clone, as it mounts the dataset.
func (c *checking) mountable(v Volume) change.Switch {
	return change.Exactly("canmount of what is now "+v.Name, *c.reads(v, "canmount"), "on", v.canmount(v.Name), zfs.Set("canmount", "noauto", v.Name))
}

// notMountable keeps the dataset of before from being mounted by a start of the machine.
func notMountable(v Volume) change.Switch {
	look := change.Inspection{Argv: zfs.Columns("name,canmount", above(v)), Match: `^` + regexp.QuoteMeta(v.Before) + `\t(.*)$`}
	return change.Exactly("canmount of "+v.Before, look, "noauto", zfs.Set("canmount", "noauto", v.Before), v.canmount(v.Before))
}

// canmount lets a dataset be mounted in the way in which the server's is: because it was said, or because
// nothing was. The property is not inherited, and -S alone takes it off.
func (v Volume) canmount(name string) []string {
	if v.said {
		return zfs.Set("canmount", "on", name)
	}
	return zfs.InheritReceived("canmount", name)
}
