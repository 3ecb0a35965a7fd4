package filesystem

import (
	"path"
	"slices"
	"strings"

	"plumb/internal/change"
	"plumb/internal/stack"
)

// option is one value of a knob, written as mount options.
type option struct {
	words []string // all options that say something of the knob, without their "=value"
	want  string   // what mount is given
	show  string   // how mountinfo shows it then; change.None for nothing
	none  string   // what mount is given to get where mountinfo shows nothing
	file  string   // as it stands in fstab; "" for nothing, which is the kernel's default
}

// optionOf writes a value of a knob as mount options.
func optionOf(knob string, to stack.Value) option {
	on, _ := to.Bool()
	word := to.String()
	pick := func(yes, no string) string {
		if on {
			return yes
		}
		return no
	}
	switch knob {
	case "atime":
		o := option{words: []string{"relatime", "noatime", "strictatime", "norelatime", "atime"}, want: word, show: word, none: "strictatime", file: word}
		if word == "strictatime" {
			o.show = change.None
		}
		if word == "relatime" {
			o.file = "" // what the kernel does unasked
		}
		return o
	case "lazytime":
		return option{words: []string{"lazytime", "nolazytime"}, want: pick("lazytime", "nolazytime"), show: pick("lazytime", change.None), none: "nolazytime", file: pick("lazytime", "")}
	case "discard":
		return option{words: []string{"discard", "nodiscard"}, want: pick("discard", "nodiscard"), show: pick("discard", change.None), none: "nodiscard", file: pick("discard", "")}
	case "data_mode":
		return option{words: []string{"data"}, file: "data=" + word}
	case "nfs_timeout":
		return option{words: []string{"hard", "soft", "softerr"}, file: word}
	}
	return option{words: []string{"nobarrier", "barrier"}, want: pick("barrier=1", "nobarrier"), show: pick(change.None, "nobarrier"), none: "barrier=1", file: pick("", "nobarrier")}
}

// says tells whether a mount option is one of the words.
func (o option) says(word string) bool {
	name, _, _ := strings.Cut(word, "=")
	return slices.Contains(o.words, name)
}

// in gives a list of options as fstab shall have it.
func (o option) in(options []string) string {
	out := slices.DeleteFunc(slices.Clone(options), o.says)
	if o.file != "" {
		out = append(out, o.file)
	}
	if len(out) == 0 {
		return "defaults"
	}
	return strings.Join(out, ",")
}

// valueOf reads a knob from a list of mount options, of which the last one
// counts. said is false when none speaks of it.
func valueOf(knob string, options []string) (v stack.Value, said bool) {
	o := optionOf(knob, stack.Value{})
	for _, w := range slices.Backward(options) {
		if !o.says(w) {
			continue
		}
		name, value, _ := strings.Cut(w, "=")
		switch knob {
		case "atime":
			if name == "norelatime" || name == "atime" { // which leave it to the kernel
				name = "relatime"
			}
			return stack.Text(name), true
		case "nfs_timeout":
			return stack.Text(name), true
		case "data_mode":
			return stack.Text(value), true
		}
		return stack.Bool(!strings.HasPrefix(name, "no") && value != "0"), true
	}
	return stack.Value{}, false
}

// remountable records the knobs that mountinfo tells.
func (v *volume) remountable() {
	const from = "mountinfo"
	on := func(knob string, types ...string) {
		if !slices.Contains(types, v.mount.Type) {
			v.thing.SetAbsent(knob, from)
			return
		}
		now, said := valueOf(knob, v.mount.Options)
		switch {
		case said:
		case knob == "atime":
			now = stack.Text("strictatime")
		case knob == "nfs_timeout":
			now = stack.Text("hard")
		default:
			now = stack.Bool(false)
		}
		v.setOption(knob, now, from)
	}
	on("atime", "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs")
	on("lazytime", "ext4", "xfs", "btrfs", "f2fs")
	on("discard", "ext4", "xfs")
	on("nfs_timeout", "nfs", "nfs4")
}

// unasked are values that the kernel takes for certain when no option speaks
// of the knob. The superblock of ext4 can hold other defaults for the rest.
var unasked = map[string]stack.Value{"atime": stack.Text("relatime"), "lazytime": stack.Bool(false), "nfs_timeout": stack.Text("hard")}

// setOption records a knob with where it is from, as far as fstab tells, and
// what the next mount brings.
func (v *volume) setOption(knob string, now stack.Value, from string) {
	line := v.line()
	if line == nil {
		v.thing.Set(knob, now, from)
		return
	}
	next, said := valueOf(knob, line.Options)
	origin := stack.Origin{From: stack.FromFile, File: fstab, Line: line.Line}
	if !said {
		next, origin = unasked[knob], stack.Origin{From: stack.FromDefault}
	}
	switch {
	case next.IsAbsent(): // fstab leaves it to the superblock
		v.thing.Set(knob, now, from)
	default:
		v.thing.SettingUntil(knob, now, from, stack.Next{Value: next, Origin: origin})
	}
}

// line gives the line of fstab that the next mount uses; of several for one
// mount point that is the last.
func (v *volume) line() *Entry { return lineFor(v.fstab, v.mount.Point) }

func lineFor(entries []Entry, point string) *Entry {
	for _, e := range slices.Backward(entries) {
		if path.Clean(e.Point) == point {
			return &e
		}
	}
	return nil
}
