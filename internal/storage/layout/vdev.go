package layout

import (
	"cmp"
	"slices"

	"plumb/internal/provision/spec"
	"plumb/internal/zfs"
)

// vdev is one that a spec asks for.
type vdev struct {
	class string // as zpool status heads it
	word  string // mirror, raidz2; "" for a single disk
	disks []spec.Disk
}

// vdevsOf gives the vdevs of a pool, class by class.
func vdevsOf(p spec.Pool) (all []vdev) {
	word, width := string(p.Layout), cmp.Or(p.Width, len(p.Data), 1)
	if p.Layout == spec.Stripe {
		word, width = "", 1
	}
	for disks := range slices.Chunk(p.Data, width) {
		all = append(all, vdev{zfs.ClassData, word, disks})
	}
	for _, v := range []vdev{{zfs.ClassSpecial, "mirror", p.Special}, {zfs.ClassLogs, "mirror", p.Log}, {zfs.ClassCache, "", p.Cache}} {
		if v.word == "mirror" && len(v.disks) > 1 {
			all = append(all, v)
			continue
		}
		for disks := range slices.Chunk(v.disks, 1) {
			all = append(all, vdev{v.class, "", disks})
		}
	}
	return all
}

// forCreate gives vdevs as zpool create takes them.
func forCreate(all []vdev) (words []string) {
	class := zfs.ClassData
	for _, v := range all {
		if v.class != class {
			class = v.class
			words = append(words, cmp.Or(map[string]string{zfs.ClassLogs: "log"}[class], class))
		}
		if v.word != "" {
			words = append(words, v.word)
		}
		words = append(words, paths(v.disks)...)
	}
	return words
}

func paths(disks []spec.Disk) (all []string) {
	for _, d := range disks {
		all = append(all, d.Path)
	}
	return all
}
