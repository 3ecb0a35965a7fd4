package filesystem

import (
	"context"
	"fmt"
	"path"
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

// option is how a knob is written as mount options.
type option struct {
	words []string // all options that say something of it
	want  string   // the option to be given
	show  string   // as mountinfo shows it then; change.None for nothing
	none  string   // the option for when mountinfo shows nothing
	file  string   // as it stands in fstab; "" for nothing
}

func optionOf(w change.Want) option {
	on, _ := w.To.Bool()
	switch w.Knob.Name {
	case "atime":
		o := option{words: []string{"relatime", "noatime", "strictatime", "norelatime", "atime"}, want: w.To.String(), show: w.To.String(), none: "strictatime", file: w.To.String()}
		if o.want == "strictatime" {
			o.show = change.None
		}
		if o.want == "relatime" {
			o.file = "" // what the kernel does unasked
		}
		return o
	case "discard":
		if on {
			return option{words: []string{"discard", "nodiscard"}, want: "discard", show: "discard", none: "nodiscard", file: "discard"}
		}
		return option{words: []string{"discard", "nodiscard"}, want: "nodiscard", show: change.None, none: "nodiscard"}
	}
	words := []string{"nobarrier", "barrier=0", "barrier", "barrier=1"}
	if on {
		return option{words: words, want: "barrier=1", show: change.None, none: "barrier=1"}
	}
	return option{words: words, want: "nobarrier", show: "nobarrier", none: "barrier=1", file: "nobarrier"}
}

// Recipe implements change.Setter.
func (Setter) Recipe(ctx context.Context, h host.Reader, s *stack.Stack, w change.Want) (change.Recipe, error) {
	o, point := optionOf(w), w.Knob.Of.Name
	r := change.Recipe{Effect: catalog.Now}
	if !w.Image {
		if _, known := s.Find(w.Knob.Of).Get(w.Knob.Name); !known {
			return r, &change.Refusal{Why: fmt.Sprintf("%s on %s has no such option", s.Find(w.Knob.Of).Text("fstype"), point)}
		}
		if !h.About().Root {
			r.Needs = []string{"root, to remount " + point}
		}
		if s.Find(w.Knob.Of).Text("fstype") == "xfs" && w.Knob.Name == "discard" { // a remount takes it and changes nothing
			r.Effect, r.Waits = catalog.Restart, "an unmount and a new mount of "+point
		} else {
			live, err := remount(ctx, h, o, point)
			if err != nil {
				return r, err
			}
			r.Acts = append(r.Acts, live)
		}
	}
	line, err := fstabLine(ctx, h, point)
	if err != nil {
		return r, err
	}
	if line == nil && len(r.Acts) == 0 && !w.Image {
		return r, &change.Refusal{Why: "XFS changes discard only when it is mounted anew, and /etc/fstab has no line for " + point, What: "change it where the mount is made"}
	}
	if line == nil && w.Image {
		return r, &change.Refusal{Why: "/etc/fstab of the image has no line for " + point}
	}
	if line == nil {
		r.Notes = append(r.Notes, "the next mount forgets it: "+point+" has no line in /etc/fstab; look for a mount unit of systemd, or what else mounts it")
		return r, nil
	}
	r.Lasts = fstab
	r.Acts = append(r.Acts, change.Act{Edit: &change.Edit{File: fstab, Form: edit.Fstab, Key: point, Value: o.in(line.Options)}})
	return r, nil
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
		return change.Act{}, &change.Refusal{Why: point + " is not mounted any more"}
	}
	m := mounts[i]
	if m.Root != "/" && m.Type != "btrfs" {
		return change.Act{}, &change.Refusal{Why: point + " is a bind mount, which cannot be remounted with other options of its filesystem", What: "set it where the filesystem itself is mounted"}
	}
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
		Look: change.Look{File: "/proc/self/mountinfo", Match: o.match(point)},
		Do:   with(o.want), Undo: with("{before}"), UndoNone: with(o.none)}}, nil
}

// match finds in mountinfo which of its words is in force at a mount point.
// None is ever the first: that is rw or ro.
func (o option) match(point string) string {
	var words []string
	for _, w := range o.words {
		words = append(words, regexp.QuoteMeta(w))
	}
	escaped := strings.NewReplacer(`\`, `\134`, " ", `\040`, "\t", `\011`, "\n", `\012`).Replace(point)
	return "^[0-9]+ [0-9]+ [^ ]+ [^ ]+ " + regexp.QuoteMeta(escaped) + " .*[ ,](" + strings.Join(words, "|") + ")([ ,].*)?$"
}

// fstabLine gives the line that the next mount uses; nil when there is none.
func fstabLine(ctx context.Context, h host.Reader, point string) (*Entry, error) {
	var sight stack.Sight
	entries := readFstab(ctx, h, &sight)
	if len(sight.Gaps) > 0 {
		return nil, &change.Refusal{Why: sight.Gaps[0].Why, What: "run as root"}
	}
	for _, e := range slices.Backward(entries) {
		if path.Clean(e.Point) == point {
			return &e, nil
		}
	}
	return nil, nil
}

// in gives a list of options as fstab shall have it.
func (o option) in(options []string) string {
	out := slices.DeleteFunc(slices.Clone(options), func(w string) bool { return slices.Contains(o.words, w) })
	if o.file != "" {
		out = append(out, o.file)
	}
	if len(out) == 0 {
		return "defaults"
	}
	return strings.Join(out, ",")
}
