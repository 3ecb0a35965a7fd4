package picture

import (
	"cmp"
	"slices"
	"strings"

	"plumb/internal/stack"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// Where says in a few words what a filesystem is and what it stands on:
// "ext4 on vda (virtual disk, 256G)", "tank/db · zfs 128K records lz4 2.3x ·
// mirror of nvme0n1 nvme1n1 (NVMe, 1.7T each)". A pool in seen was described
// before.
func (v Facts) Where(s *stack.Stack, fs *stack.Thing, seen map[stack.Ref]bool) string {
	datasets, _ := s.Follow(fs, "dataset")
	if len(datasets) != 1 {
		return fs.Text("fstype") + v.chain(s, fs)
	}
	ds := datasets[0]
	parts := []string{ds.Ref.Name, v.datasetWords(fs, ds)}
	pools, _ := s.Follow(ds, "pool")
	for _, pool := range pools {
		if seen[pool.Ref] {
			parts = append(parts, "same pool")
			continue
		}
		seen[pool.Ref] = true
		parts = append(parts, v.poolWords(s, pool))
	}
	return strings.Join(parts, " · ")
}

// InShort is where in three words: "ext4 on sda, sdb", "tank/db on nvme0n1".
func InShort(s *stack.Stack, fs *stack.Thing) string {
	text := fs.Text("fstype")
	if datasets, _ := s.Follow(fs, "dataset"); len(datasets) == 1 {
		text = datasets[0].Ref.Name
	}
	disks, _ := s.Follow(fs, "disks")
	var names []string
	for _, d := range disks {
		names = append(names, d.Ref.Name)
	}
	if len(names) > 0 {
		text += " on " + units.Some(names, 2)
	}
	return text
}

func (v Facts) datasetWords(fs, ds *stack.Thing) string {
	text := strings.ReplaceAll(fs.Text("fstype"), "fuse.zfs", "zfs-fuse")
	if val, ok := ds.Get("recordsize"); ok {
		text += " " + v.Show("dataset", "recordsize", val) + " records"
	}
	if c := ds.Text("compression"); c != "" && c != "off" {
		text += " " + c
		if val, ok := ds.Get("compressratio"); ok {
			text += " " + v.Show("dataset", "compressratio", val) + "x"
		}
	}
	return text
}

func (v Facts) poolWords(s *stack.Stack, pool *stack.Thing) string {
	layout := pool.Text("layout")
	disks, _ := s.Follow(pool, "disks")
	backing, _ := s.Follow(pool, "backing")
	switch {
	case len(backing) > 0:
		return "in files on " + backing[0].Text("fstype") + v.chain(s, backing[0])
	case len(disks) == 0:
		return layout
	case layout == "single" || layout == "":
		return "on " + v.disks(disks)
	}
	return layout + " of " + v.disks(disks)
}

// chain writes the volumes and disks below a filesystem: " on vg-pg (LVM) on
// md0 (raid1) of sda, sdb (SSD, 800G each)".
func (v Facts) chain(s *stack.Stack, fs *stack.Thing) string {
	text, link := "", " on "
	at, _ := s.Follow(fs, "block")
	for depth := 0; len(at) == 1 && depth < 8; depth++ {
		b := at[0]
		if layer := b.Text("layer"); layer != "disk" && layer != "partition" {
			text += link + blockName(b) + " (" + layerWord(b) + ")"
			link = " on "
			if layer == "md" {
				link = " of "
			}
		}
		at, _ = s.Follow(b, "on")
	}
	if disks, _ := s.Follow(fs, "disks"); len(disks) > 0 {
		text += link + v.disks(disks)
	} else if len(at) > 0 {
		text += link + v.disks(at)
	}
	return text
}

// disks names disks with what they are, once when they are all alike.
func (v Facts) disks(list []*stack.Thing) string {
	var names, kinds []string
	for _, d := range list {
		kind := diskKind(d)
		if val, ok := d.Get("size"); ok {
			kind = strings.TrimPrefix(kind+", "+v.Show("block", "size", val), ", ")
		}
		names, kinds = append(names, d.Ref.Name), append(kinds, kind)
	}
	if alike := slices.Compact(slices.Clone(kinds)); len(alike) == 1 {
		switch {
		case kinds[0] == "":
			return units.Some(names, 4)
		case len(names) > 1:
			return units.Some(names, 4) + " " + page.Keep("("+kinds[0]+" each)")
		}
		return names[0] + " " + page.Keep("("+kinds[0]+")")
	}
	for i, k := range kinds {
		if k != "" {
			names[i] += " " + page.Keep("("+k+")")
		}
	}
	return units.Some(names, 4)
}

// diskKind says what a disk is; "" when it is not known. A virtual disk is
// called so whatever it says of turning.
func diskKind(d *stack.Thing) string {
	cloud := map[string]string{
		"ebs": "EBS volume", "ec2-instance-store": "EC2 instance store", "azure-disk": "Azure disk",
		"azure-local": "Azure local disk", "gcp-pd": "GCP persistent disk", "gcp-local": "GCP local SSD",
	}[d.Text("cloud_volume")]
	virtual, _ := d.Bool("virtual_disk")
	solid, known := d.Bool("solid_state")
	switch {
	case cloud != "":
		return cloud
	case virtual:
		return "virtual disk"
	case d.Text("transport") == "nvme":
		return "NVMe"
	case known && solid:
		return "SSD"
	case known:
		return "rotating disk"
	}
	return ""
}

// blockName is what people call a block device.
func blockName(b *stack.Thing) string { return cmp.Or(b.Text("dm_name"), b.Ref.Name) }

// layerWord says what kind of volume a block device is.
func layerWord(b *stack.Thing) string {
	switch layer := b.Text("layer"); layer {
	case "lvm":
		return "LVM"
	case "md":
		return cmp.Or(b.Text("md_level"), "md")
	case "crypt":
		return "encrypted"
	case "loop":
		return "loop device"
	default:
		return layer
	}
}
