package layout

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/provision/disk"
	"plumb/internal/provision/spec"
	"plumb/internal/zfs"
)

// lasting says what of a pool cannot be taken away while the rest stays.
func lasting(p spec.Pool) (all []string) {
	raidz := strings.HasPrefix(string(p.Layout), "raidz")
	all = append(all, fmt.Sprintf("the sector size of the pool %s (ashift) cannot be changed", p.Name))
	if raidz {
		all = append(all, fmt.Sprintf("the %s of the pool %s cannot be removed from it, nor be given another layout", p.Layout, p.Name))
	}
	if len(p.Special) > 0 && raidz {
		all = append(all, fmt.Sprintf("a special vdev beside %s cannot be removed from the pool %s", p.Layout, p.Name))
	}
	if p.Key != "" {
		all = append(all, fmt.Sprintf("the encryption of the pool %s cannot be taken off it", p.Name))
	}
	return all
}

// sameDisks says in what a pool that is there differs from the spec; nil when it does not.
func sameDisks(ctx context.Context, h host.Reader, t tools, p spec.Pool) error {
	text, err := h.Output(ctx, t.Status(p.Name)...)
	if err != nil {
		return err
	}
	all := zfs.ParseStatus(text)
	if len(all) != 1 {
		return fmt.Errorf("zpool status of %s lists %d pools", p.Name, len(all))
	}
	is, err := groupsOf(ctx, h, all[0])
	if err != nil {
		return err
	}
	want, err := wanted(ctx, h, p)
	if err != nil {
		return err
	}
	for _, class := range slices.Sorted(maps.Keys(want)) {
		if !slices.Equal(is[class], want[class]) {
			return change.Refuse("use another name for a new pool; use: "+p.Name+" makes datasets in this one", "the pool %s exists, and its %s are %s, not %s", p.Name, class, words(is[class]), words(want[class]))
		}
	}
	return nil
}

func words(all []string) string {
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

// groupsOf describes the vdevs of a pool, by class: "mirror of sda and sdb".
func groupsOf(ctx context.Context, h host.Reader, st zfs.Status) (map[string][]string, error) {
	out := map[string][]string{}
	for class, vdevs := range st.Classes {
		for _, v := range vdevs {
			word, members := "", []*zfs.Vdev{v}
			if len(v.Children) > 0 {
				word, members = strings.TrimRight(v.Name, "0123456789-"), v.Children
				if kind, _, ok := strings.Cut(v.Name, "-"); ok {
					word = kind
				}
			}
			var names []string
			for _, m := range members {
				names = append(names, m.Name)
			}
			text, err := described(ctx, h, word, names)
			if err != nil {
				return nil, err
			}
			out[class] = append(out[class], text)
		}
		slices.Sort(out[class])
	}
	return out, nil
}

// described says of what a vdev is made, its disks by the names by which they are known.
func described(ctx context.Context, h host.Reader, word string, disks []string) (string, error) {
	var names []string
	for _, d := range disks {
		name, err := disk.Known(ctx, h, d)
		if err != nil {
			return "", err
		}
		names = append(names, name)
	}
	slices.Sort(names)
	text := strings.Join(names, " and ")
	if word != "" {
		text = word + " of " + text
	}
	return text, nil
}

// wanted describes what a spec asks for, in the same words.
func wanted(ctx context.Context, h host.Reader, p spec.Pool) (map[string][]string, error) {
	out := map[string][]string{zfs.ClassData: nil, zfs.ClassSpecial: nil, zfs.ClassLogs: nil, zfs.ClassCache: nil}
	for _, v := range vdevsOf(p) {
		text, err := described(ctx, h, v.word, paths(v.disks))
		if err != nil {
			return nil, err
		}
		out[v.class] = append(out[v.class], text)
	}
	for _, all := range out {
		slices.Sort(all)
	}
	return out, nil
}
