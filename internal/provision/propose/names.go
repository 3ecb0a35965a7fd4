package propose

import (
	"context"
	"path"
	"strings"

	"plumb/internal/host"
)

// Names gives disks their lasting names: from what the kernel calls a disk today to its name in /dev/disk/by-id.
type Names map[string]string

// byID is where udev keeps names that are made of what a disk says of itself.
const byID = "/dev/disk/by-id/"

// LastingNames reads the names of this host.
func LastingNames(ctx context.Context, h host.Reader) (Names, error) {
	links, err := h.Glob(ctx, byID+"*")
	if err != nil {
		return nil, err
	}
	all := Names{}
	for _, link := range links {
		to, err := h.Readlink(ctx, link)
		if err != nil {
			continue // the disk was just taken out
		}
		if !path.IsAbs(to) {
			to = path.Join(byID, to)
		}
		if had, there := all[to]; !there || dull(had) && !dull(link) {
			all[to] = link
		}
	}
	return all, nil
}

// dull tells whether a name consists of numbers, by which a person recognises no disk.
func dull(link string) bool {
	name := strings.TrimPrefix(link, byID)
	return strings.HasPrefix(name, "wwn-") || strings.HasPrefix(name, "nvme-eui.") || strings.HasPrefix(name, "nvme-nvme.")
}

// of gives the lasting name of a device, or the name it has if there is none.
func (n Names) of(device string) string {
	if name, ok := n[device]; ok {
		return name
	}
	return device
}

// disk gives the lasting name of a device in a pool. If ZFS is given a whole disk it divides it, and shows the first of the two
// partitions.
func (n Names) disk(device string) string {
	name := n.of(device)
	whole, first := strings.CutSuffix(name, "-part1")
	for _, link := range n {
		if first && link == whole+"-part9" {
			return whole
		}
	}
	return name
}
