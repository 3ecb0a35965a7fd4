package propose

import (
	"context"
	"path"
	"strings"

	"plumb/internal/host"
)

// Names are those of disks that stay: by what the kernel calls a disk today, the name in /dev/disk/by-id.
type Names map[string]string

// byID is where udev keeps names that are made of what a disk says of itself.
const byID = "/dev/disk/by-id/"

// LastingNames reads them. Where there are none, disks are called as they are.
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

// dull tells names of numbers alone, in which a person finds no disk.
func dull(link string) bool {
	name := strings.TrimPrefix(link, byID)
	return strings.HasPrefix(name, "wwn-") || strings.HasPrefix(name, "nvme-eui.") || strings.HasPrefix(name, "nvme-nvme.")
}

// of gives the name of a device that stays, or the one it has where there is none.
func (n Names) of(device string) string {
	if name, ok := n[device]; ok {
		return name
	}
	return device
}

// disk is of a device in a pool. ZFS divides a disk that it is given whole, and shows the first of its two partitions.
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
