package filesystem

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// Setter sets mount options: now by remounting, and in /etc/fstab.
type Setter struct{}

// Kinds implements change.Setter.
func (Setter) Kinds() []string { return []string{"filesystem"} }

// Recipe implements change.Setter.
func (Setter) Recipe(ctx context.Context, h host.Reader, s *stack.Stack, w change.Want) (change.Recipe, error) {
	point := w.Knob.Of.Name
	line, err := fstabLine(ctx, h, point)
	if err != nil {
		return change.Recipe{}, err
	}
	if w.Image {
		if line == nil {
			return change.Recipe{}, &change.Refusal{Why: "/etc/fstab of the image has no line for " + point}
		}
		return lasting(ctx, h, w, line)
	}
	t := s.Find(w.Knob.Of)
	if err := settable(s, t, w); err != nil {
		return change.Recipe{}, err
	}
	r := change.Recipe{Effect: catalog.Now}
	if line != nil {
		if r, err = lasting(ctx, h, w, line); err != nil {
			return r, err
		}
	}
	if newMount(t, w.Knob.Name) {
		if line == nil {
			return r, &change.Refusal{Why: "only a new mount changes it, but /etc/fstab has no line for " + point,
				What: "change it where the mount is made: systemctl status " + point + " names a mount unit of systemd"}
		}
		r.Effect, r.Waits = catalog.Remount, "an unmount and a new mount of "+point
		return r, nil
	}
	if !h.About().Root {
		r.Needs = []string{"root, to remount " + point}
	}
	live, err := remount(ctx, h, optionOf(w.Knob.Name, w.To), point)
	if err != nil {
		return r, err
	}
	r.Effect, r.Acts = catalog.Now, append([]change.Act{live}, r.Acts...)
	if line == nil {
		r.Notes = append(r.Notes, "the next mount forgets it: /etc/fstab has no line for "+point+"; systemctl status "+point+" names a mount unit of systemd")
	}
	return r, nil
}

// newMount tells whether a knob changes only when the filesystem is mounted
// anew: XFS takes discard at a remount and changes nothing, ext4 refuses
// another data=, and NFS keeps what its connection was made with.
func newMount(t *stack.Thing, knob string) bool {
	return knob == "data_mode" || knob == "nfs_timeout" || knob == "fstab_options" || knob == "discard" && t.Text("fstype") == "xfs"
}

// settable refuses what cannot be set on this filesystem.
func settable(s *stack.Stack, t *stack.Thing, w change.Want) error {
	point := w.Knob.Of.Name
	if inside, known := hostIn(s, "in_container"); known && inside {
		return &change.Refusal{Why: "the mount belongs to the host, and Plumb runs in a container", What: "run plumb fix on the host"}
	}
	if _, known := t.Get(w.Knob.Name); !known {
		return &change.Refusal{Why: fmt.Sprintf("%s on %s has no such option", t.Text("fstype"), point)}
	}
	if w.Knob.Name == "data_mode" && point == "/" {
		return &change.Refusal{Why: "the root filesystem is mounted before /etc/fstab is read", What: "rootflags=data=" + w.To.String() + " on the kernel's command line sets it, or tune2fs -o"}
	}
	if root := t.Text("mount_root"); root != "" && root != "/" && t.Text("fstype") != "btrfs" {
		return &change.Refusal{Why: point + " is a bind mount, which cannot be remounted with other options of its filesystem", What: "set it where the filesystem itself is mounted"}
	}
	return nil
}

func hostIn(s *stack.Stack, fact string) (value, known bool) {
	if t := s.Host(); t != nil {
		return t.Bool(fact)
	}
	return false, false
}

// lasting changes the options of the line in fstab.
func lasting(ctx context.Context, h host.Reader, w change.Want, line *Entry) (change.Recipe, error) {
	r := change.Recipe{Effect: catalog.Remount, Lasts: fstab}
	value := optionOf(w.Knob.Name, w.To).in(line.Options)
	if w.Knob.Name == "fstab_options" {
		options, err := without(line, w.To)
		if err != nil {
			return r, err
		}
		value = options
	}
	e := &change.Edit{File: fstab, Form: edit.Fstab, Key: w.Knob.Of.Name, Value: value}
	if !w.Image {
		var err error
		if e.Apply, err = change.ReloadUnits(ctx, h); err != nil { // systemd makes its mount units from fstab
			return r, err
		}
	}
	r.Acts = []change.Act{{Edit: e}}
	return r, nil
}

// dead are options that XFS takes no more, or will not: all that Plumb drops
// from a line by name. What else a line holds is set by knobs of its own, whose
// durability is known.
var dead = []string{"barrier", "nobarrier", "delaylog", "nodelaylog", "attr2", "noattr2", "ikeep", "noikeep"}

// without drops dead options from a line of XFS, and changes nothing else.
func without(line *Entry, to stack.Value) (string, error) {
	left, _ := to.List()
	if line.Type != "xfs" {
		return "", &change.Refusal{Why: "only options that XFS dropped are removed as such", What: "set the option by its own name, or edit /etc/fstab"}
	}
	if len(left) == 0 {
		left = []string{"defaults"}
	}
	keep := slices.DeleteFunc(slices.Clone(line.Options), func(o string) bool { return slices.Contains(dead, o) && !slices.Contains(left, o) })
	if len(keep) == 0 {
		keep = []string{"defaults"}
	}
	if !slices.Equal(keep, left) {
		return "", &change.Refusal{Why: "more would change than options that XFS dropped: " + strings.Join(line.Options, ",") + " to " + strings.Join(left, ","), What: "edit /etc/fstab"}
	}
	return strings.Join(keep, ","), nil
}

// flags are the options of a mount, not of its filesystem: what mount(2) takes
// as bits, all of them at every remount.
var flags = []string{"ro", "nosuid", "nodev", "noexec", "nodiratime", "noatime", "relatime", "nosymfollow", "sync", "dirsync", "mand", "lazytime"}

// remount changes the one option and repeats the other flags of the mount:
// with the device given, mount(8) takes nothing from fstab, and a flag that is
// not repeated would be taken away.
func remount(ctx context.Context, h host.Reader, o option, point string) (change.Act, error) {
	mounts, err := observe.MountTable(ctx, h, "self")
	if err != nil {
		return change.Act{}, fmt.Errorf("read what is mounted: %w", err)
	}
	i := -1
	for j, m := range mounts {
		if m.Point == point {
			i = j
		}
	}
	if i < 0 {
		return change.Act{}, &change.Refusal{Why: point + " is no longer mounted"}
	}
	m := mounts[i]
	keep := []string{"remount"}
	for _, flag := range flags {
		if slices.Contains(m.Options, flag) && !slices.Contains(o.words, flag) {
			keep = append(keep, flag)
		}
	}
	if atime := []string{"noatime", "relatime"}; !slices.Contains(o.words, "noatime") && !slices.ContainsFunc(atime, func(f string) bool { return slices.Contains(m.Options, f) }) {
		keep = append(keep, "strictatime")
	}
	with := func(word string) []change.Op {
		return []change.Op{{Argv: []string{"mount", "-o", strings.Join(append(slices.Clone(keep), word), ","), m.Source, point}}}
	}
	return change.Act{Switch: &change.Switch{On: "mount " + point + " " + o.words[0], After: o.show,
		Inspect: change.Inspection{File: "/proc/self/mountinfo", Match: o.match(point)},
		Do:      with(o.want), Undo: with("{before}"), UndoNone: with(o.none)}}, nil
}

// match finds in mountinfo which of its words is in force at a mount point.
// None is ever the first: that is rw or ro.
func (o option) match(point string) string {
	var words []string
	for _, w := range o.words {
		words = append(words, regexp.QuoteMeta(w))
	}
	return "^[0-9]+ [0-9]+ [^ ]+ [^ ]+ " + regexp.QuoteMeta(edit.Octal(point)) + " .*[ ,](" + strings.Join(words, "|") + ")([ ,].*)?$"
}

// fstabLine gives the line that the next mount uses; nil when there is none.
func fstabLine(ctx context.Context, h host.Reader, point string) (*Entry, error) {
	var obs stack.Observation
	entries := readFstab(ctx, h, &obs)
	if len(obs.Gaps) > 0 {
		return nil, &change.Refusal{Why: obs.Gaps[0].Why, What: "run as root"}
	}
	return lineFor(entries, point), nil
}
