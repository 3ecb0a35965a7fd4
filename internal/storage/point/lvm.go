package point

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/inventory"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

// LVM takes points of thin logical volumes. Taking one suspends the device, for which the kernel
// freezes the filesystem: what is in the snapshot needs no repair. A snapshot is not activated with its group.
type LVM struct{ synced }

// Name implements protect.Storage.
func (LVM) Name() string { return "lvm" }

// Volume implements protect.Storage: what kind of logical volume it is, Place finds out.
func (l LVM) Volume(s *stack.Stack, fs *stack.Thing) (protect.Volume, bool) {
	return onDevice(s, fs, l.Name(), "lvm", "/dev/mapper/", "/dev/dm-")
}

// onDevice tells whether a filesystem lies right on a device of a layer. Of one that the stack does not
// know, as of a clone that was just mounted, the name of the device has to tell.
func onDevice(s *stack.Stack, fs *stack.Thing, storage, layer string, names ...string) (protect.Volume, bool) {
	is := slices.ContainsFunc(names, func(begin string) bool { return strings.HasPrefix(fs.Text("source"), begin) })
	if known := s.Find(stack.Ref{Kind: "filesystem", Name: fs.Text("mountpoint")}); known != nil {
		devices, _ := s.Follow(known, "block")
		is = len(devices) == 1 && devices[0].Text("layer") == layer
	}
	if !is {
		return protect.Volume{}, false
	}
	return protect.Volume{Storage: storage, Name: fs.Text("source"), Mountpoint: fs.Text("mountpoint"), Within: strings.Trim(fs.Text("mount_root"), "/")}, true
}

// wholeDevice refuses a bind mount: a clone is mounted as a whole.
func wholeDevice(v protect.Volume) error {
	if v.Within == "" {
		return nil
	}
	return fmt.Errorf("only the directory /%s of %s is mounted at %s, and a clone could only be mounted as a whole", v.Within, v.Name, v.Mountpoint)
}

// logical is a logical volume as lvs lists it.
type logical struct {
	Group  string `json:"vg_name"`
	Name   string `json:"lv_name"`
	UUID   string `json:"lv_uuid"`
	Origin string `json:"origin_uuid"`
	Pool   string `json:"pool_lv"`
	Thin   string `json:"thin_id"`
	Path   string `json:"lv_dm_path"`
}

// listLogical lists the logical volumes of a group, or with "" of all.
func listLogical(ctx context.Context, h host.Reader, group string) ([]logical, error) {
	argv := []string{"lvs", "--reportformat", "json", "--readonly", "-o", "vg_name,lv_name,lv_uuid,origin_uuid,pool_lv,thin_id,lv_dm_path", "--"}
	if group != "" {
		argv = append(argv, group)
	}
	out, err := h.Output(ctx, argv...)
	if err != nil {
		return nil, err
	}
	return parseLogical(out)
}

func parseLogical(out []byte) (all []logical, err error) {
	var said struct {
		Report []struct {
			LV []logical `json:"lv"`
		} `json:"report"`
	}
	if err := json.Unmarshal(out, &said); err != nil {
		return nil, fmt.Errorf("read what lvs lists: %w", err)
	}
	for _, r := range said.Report {
		all = append(all, r.LV...)
	}
	return all, nil
}

// Place implements protect.Placer.
func (LVM) Place(ctx context.Context, h host.Reader, v protect.Volume, _ string) (protect.Volume, error) {
	if err := wholeDevice(v); err != nil {
		return v, err
	}
	all, err := listLogical(ctx, h, "")
	if err != nil {
		return v, err
	}
	device := kernelName(ctx, h, v.Name)
	for _, l := range all {
		if l.Path == "" || kernelName(ctx, h, l.Path) != device {
			continue
		}
		if l.Thin == "" {
			return v, hint.With(fmt.Errorf("on the logical volume %s/%s, which is not thin", l.Group, l.Name), "a snapshot of such a volume slows down every write and breaks when it is full; --with takes snapshots with a command of your own")
		}
		v.Name, v.Pool = l.Group+"/"+l.Name, l.Group+"/"+l.Pool
		return v, nil
	}
	return v, fmt.Errorf("on %s, which lvs does not list", v.Name)
}

// Atomic implements protect.Storage.
func (LVM) Atomic(vols []protect.Volume) string { return oneAfterOther(vols, "volumes", "LVM") }

// oneAfterOther tells of a storage that takes no two snapshots at one moment whether there are two.
func oneAfterOther(vols []protect.Volume, what, who string) string {
	for _, v := range vols {
		if v.Name != vols[0].Name {
			return fmt.Sprintf("%s and %s are two %s, and %s takes one snapshot after the other", vols[0].Name, v.Name, what, who)
		}
	}
	return ""
}

// Room implements protect.Storage. What a thin pool has left counts, not what its filesystems have.
func (LVM) Room(s *stack.Stack, vols []protect.Volume) error {
	for _, v := range vols {
		if err := thinRoom(s, v.Pool); err != nil {
			return err
		}
	}
	return nil
}

// thinRoom tells why a thin pool takes no snapshot: it is full, out of order, or nobody knows. One that runs full of metadata takes no writes of any
// of its volumes.
func thinRoom(s *stack.Stack, pool string) error {
	for _, b := range s.OfKind("block") {
		if !slices.Contains(thinNames(pool), b.Text("dm_name")) {
			continue
		}
		if mode := b.Text("thin_mode"); mode != "" && mode != "rw" {
			return hint.With(fmt.Errorf("the thin pool %s accepts no writes: its mode is %s", pool, mode), "lvs -a -o +lv_health_status tells more")
		}
		data, known := b.Number("thin_data_used")
		metadata, known2 := b.Number("thin_metadata_used")
		switch most := 100 * (1 - leastFree); {
		case !known || !known2:
			continue
		case data > most:
			return tight("less than a tenth of the data of the thin pool %s is free", pool)
		case metadata > most:
			return hint.With(fmt.Errorf("less than a tenth of the metadata of the thin pool %s is free", pool), "lvextend --poolmetadatasize gives it more; plumb prune makes room")
		}
		return nil
	}
	return hint.With(fmt.Errorf("it is not known how full the thin pool %s is", pool), "run as root, with dmsetup installed")
}

// thinNames are the names that the device mapper can have for a thin pool.
func thinNames(pool string) []string {
	group, name, _ := strings.Cut(pool, "/")
	return []string{mapperName(group, name) + "-tpool", mapperName(group, name)}
}

// mapperName is the device mapper's name of a logical volume.
func mapperName(group, name string) string {
	return strings.ReplaceAll(group, "-", "--") + "-" + strings.ReplaceAll(name, "-", "--")
}

// lvmSnapshot names the snapshot of a volume of a group.
func lvmSnapshot(v protect.Volume, name string) (group, snapshot string) {
	group, lv, _ := strings.Cut(v.Name, "/")
	return group, name + "." + lv
}

// Snapshot implements protect.Storage.
func (l LVM) Snapshot(ctx context.Context, d host.Streamer, vols []protect.Volume, name string, _ map[string]string) ([]protect.Member, error) {
	var failed error
	for _, v := range vols {
		_, snapshot := lvmSnapshot(v, name)
		if failed == nil {
			_, failed = d.Run(ctx, "lvcreate", "--snapshot", "--setactivationskip", "y", "--name", snapshot, "--", v.Name)
		}
	}
	all, err := l.Find(context.WithoutCancel(ctx), d, vols, name)
	return all, errors.Join(failed, err)
}

// Find implements protect.Storage.
func (LVM) Find(ctx context.Context, h host.Reader, vols []protect.Volume, name string) ([]protect.Member, error) {
	var all []protect.Member
	for _, v := range vols {
		group, snapshot := lvmSnapshot(v, name)
		list, err := listLogical(ctx, h, group)
		if err != nil {
			return all, err
		}
		for _, s := range list {
			if s.Name == snapshot {
				all = append(all, protect.Member{Volume: v, Snapshot: group + "/" + s.Name, GUID: s.UUID, Birth: s.Thin})
			}
		}
	}
	return all, nil
}

// State implements protect.Storage.
func (LVM) State(ctx context.Context, h host.Reader, m protect.Member) (protect.MemberState, error) {
	st := protect.MemberState{Space: -1, Gone: true}
	group, name, _ := strings.Cut(m.Snapshot, "/")
	list, err := listLogical(ctx, h, group)
	for _, s := range list {
		is := m.GUID != "" && s.UUID == m.GUID && s.Thin == m.Birth
		switch {
		case s.Name == name:
			st.Gone, st.Other = false, !is
		case is:
			st.Now = group + "/" + s.Name
		}
		if s.Origin == m.GUID && m.GUID != "" {
			st.Clones = append(st.Clones, group+"/"+s.Name)
		}
	}
	return st, err
}

// Mark implements protect.Storage: facts are in the point's file.
func (LVM) Mark(context.Context, host.Streamer, protect.Member, map[string]string) error { return nil }

// Clone implements protect.Storage.
func (l LVM) Clone(ctx context.Context, d host.Streamer, m protect.Member, at protect.CloneAt) error {
	if err := emptyDirectory(ctx, d, at.Dir); err != nil {
		return err
	}
	st, err := l.State(ctx, d, m)
	if err == nil {
		err = st.Usable(m)
	}
	if err != nil {
		return err
	}
	group, _, _ := strings.Cut(m.Snapshot, "/")
	name := "plumb-clone-" + unlike()
	_, err = at.Make(ctx, inventory.Thing{Kind: inventory.LogicalVolume, Name: group + "/" + name}, func(t *inventory.Thing) error {
		if _, err := d.Run(ctx, "lvcreate", "--snapshot", "--setactivationskip", "n", "--activate", "y", "--name", name, "--", m.Snapshot); err != nil {
			return err
		}
		list, err := listLogical(ctx, d, group)
		for _, s := range list {
			if s.Name == name && s.Origin == m.GUID {
				t.Proof["uuid"] = s.UUID
			}
		}
		if err == nil && t.Proof["uuid"] == "" {
			err = fmt.Errorf("%s is not a clone of the snapshot that was taken", name)
		}
		return err
	})
	if err != nil {
		return err
	}
	return mountDevice(ctx, d, path.Join("/dev/mapper", mapperName(group, name)), at)
}

// CopyOf implements protect.Copier.
func (l LVM) CopyOf(t inventory.Thing) (protect.Volume, bool) {
	group, _, _ := strings.Cut(t.Name, "/")
	return protect.Volume{Storage: l.Name(), Name: t.Name, Pool: group}, t.Kind == inventory.LogicalVolume
}

// Holds implements protect.Holder: what is in a group is known as long as the group is there.
func (l LVM) Holds(v protect.Volume, t inventory.Thing) bool {
	v.Pool, _, _ = strings.Cut(v.Name, "/")
	return inPoolOf(l, v, t)
}

// mountDevice mounts a clone of a device. XFS does not mount a second filesystem of one UUID, unless
// it is told to.
func mountDevice(ctx context.Context, d host.Doer, device string, at protect.CloneAt) error {
	out, err := d.Run(ctx, "blkid", "--probe", "--output", "value", "--match-tag", "TYPE", "--", device)
	if err != nil {
		return err
	}
	fstype, options := strings.TrimSpace(string(out)), "nosuid,nodev"
	if fstype == "xfs" {
		options += ",nouuid"
	}
	return at.Mount(ctx, device, func() error {
		_, err := d.Run(ctx, "mount", "-t", fstype, "-o", options, "--", device, at.Dir)
		return err
	})
}

// Destroy implements protect.Storage. LVM itself looks once more at the UUID.
func (l LVM) Destroy(ctx context.Context, d host.Streamer, members []protect.Member) error {
	if err := allDestroyable(ctx, l, d, members); err != nil {
		return err
	}
	for _, m := range members {
		group, name, _ := strings.Cut(m.Snapshot, "/")
		if _, err := d.Run(ctx, "lvremove", "--yes", "--select", fmt.Sprintf("lv_uuid=%q && lv_name=%q", m.GUID, name), "--", group); err != nil {
			return err
		}
		if st, err := l.State(ctx, d, m); err != nil || !st.Gone {
			return errors.Join(err, fmt.Errorf("the snapshot %s is still there, or another took its name", m.Snapshot))
		}
	}
	return nil
}
