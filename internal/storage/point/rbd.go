package point

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/inventory"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

// RBD takes points of images of Ceph that the kernel mapped. A volume is named pool/image.
// Images of one set are taken one after the other: a group of images would be of one moment, but an
// image can be in one group only, and that is for its owner to say.
type RBD struct{ synced }

// Name implements protect.Storage.
func (RBD) Name() string { return "rbd" }

// Volume implements protect.Storage.
func (r RBD) Volume(s *stack.Stack, fs *stack.Thing) (protect.Volume, bool) {
	return onDevice(s, fs, r.Name(), "rbd", "/dev/rbd")
}

// Place implements protect.Placer: the kernel knows which image a device is.
func (RBD) Place(ctx context.Context, h host.Reader, v protect.Volume, _ string) (protect.Volume, error) {
	if err := wholeDevice(v); err != nil {
		return v, err
	}
	dir := "/sys/bus/rbd/devices/" + strings.TrimPrefix(kernelName(ctx, h, v.Name), "rbd")
	var parts []string
	for _, file := range []string{"pool", "pool_ns", "name"} {
		text, err := h.ReadFile(ctx, path.Join(dir, file))
		if err != nil && file != "pool_ns" { // which older kernels do not have
			return v, err
		}
		if part := strings.TrimSpace(string(text)); part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) != 2 {
		return v, fmt.Errorf("on the image %s, which is in a namespace of its pool: those were never tried", strings.Join(parts, "/"))
	}
	v.Name, v.Pool = strings.Join(parts, "/"), parts[0]
	return v, nil
}

// Atomic implements protect.Storage.
func (RBD) Atomic(vols []protect.Volume) string { return oneAfterOther(vols, "volumes", "Ceph") }

// Room implements protect.Storage: how full a cluster is, a client is not told.
func (RBD) Room(*stack.Stack, []protect.Volume) error { return nil }

// Snapshot implements protect.Storage. Ceph knows nothing of the filesystem, which is written out first:
// the snapshot is what a power cut leaves.
func (r RBD) Snapshot(ctx context.Context, d host.Streamer, vols []protect.Volume, name string, _ map[string]string) ([]protect.Member, error) {
	failed := syncAll(ctx, d, vols)
	for _, v := range vols {
		if failed == nil {
			_, failed = d.Run(ctx, "rbd", "snap", "create", "--no-progress", "--", v.Name+"@"+name)
		}
	}
	all, err := r.Find(context.WithoutCancel(ctx), d, vols, name)
	return all, errors.Join(failed, err)
}

// rbdSnapshot is a snapshot as rbd lists it. Its number is never given to another.
type rbdSnapshot struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	Time string `json:"timestamp"`
}

func parseRBDSnapshots(out []byte) (all []rbdSnapshot, err error) {
	if err := json.Unmarshal(out, &all); err != nil {
		return nil, fmt.Errorf("read what rbd lists: %w", err)
	}
	return all, nil
}

// look finds a snapshot of an image by its name.
func (RBD) look(ctx context.Context, h host.Reader, image, name string) (guid, birth string, there bool, err error) {
	out, err := h.Output(ctx, "rbd", "snap", "ls", "--format", "json", "--", image)
	if err != nil {
		return "", "", false, err
	}
	all, err := parseRBDSnapshots(out)
	for _, s := range all {
		if s.Name == name {
			return strconv.FormatInt(s.ID, 10), s.Time, true, err
		}
	}
	return "", "", false, err
}

// Find implements protect.Storage.
func (r RBD) Find(ctx context.Context, h host.Reader, vols []protect.Volume, name string) ([]protect.Member, error) {
	var all []protect.Member
	for _, v := range vols {
		guid, birth, there, err := r.look(ctx, h, v.Name, name)
		if err != nil && strings.Contains(err.Error(), "error opening image") && strings.Contains(err.Error(), "(2) No such file or directory") {
			continue // a copy that never came about
		}
		if err != nil {
			return all, err
		}
		if there {
			all = append(all, protect.Member{Volume: v, Snapshot: v.Name + "@" + name, GUID: guid, Birth: birth})
		}
	}
	return all, nil
}

// State implements protect.Storage.
func (r RBD) State(ctx context.Context, h host.Reader, m protect.Member) (protect.MemberState, error) {
	st := protect.MemberState{Space: -1}
	image, name, _ := strings.Cut(m.Snapshot, "@")
	guid, birth, there, err := r.look(ctx, h, image, name)
	st.Gone, st.Other = !there, there && (m.GUID == "" || guid != m.GUID || birth != m.Birth)
	if err != nil || !there || st.Other {
		return st, err
	}
	out, err := h.Output(ctx, "rbd", "children", "--format", "json", "--", m.Snapshot)
	if err != nil {
		return st, err
	}
	var clones []struct{ Pool, Image string }
	if err := json.Unmarshal(out, &clones); err != nil {
		return st, fmt.Errorf("read which clones rbd lists: %w", err)
	}
	for _, c := range clones {
		st.Clones = append(st.Clones, c.Pool+"/"+c.Image)
	}
	return st, nil
}

// Mark implements protect.Storage: facts are in the point's file.
func (RBD) Mark(context.Context, host.Streamer, protect.Member, map[string]string) error { return nil }

// Clone implements protect.Storage. Clones of format 2 need no protected snapshot, and the name
// that was proven cannot be another's while the clone is made of it: that is looked at again after.
func (r RBD) Clone(ctx context.Context, d host.Streamer, m protect.Member, at protect.CloneAt) error {
	if err := emptyDirectory(ctx, d, at.Dir); err != nil {
		return err
	}
	proven := func() error {
		st, err := r.State(ctx, d, m)
		if err == nil {
			err = st.Usable(m)
		}
		return err
	}
	if err := proven(); err != nil {
		return err
	}
	name := m.Pool + "/plumb-clone-" + unlike()
	_, err := at.Make(ctx, inventory.Thing{Kind: inventory.Image, Name: name}, func(t *inventory.Thing) error {
		if _, err := d.Run(ctx, "rbd", "clone", "--rbd-default-clone-format", "2", "--", m.Snapshot, name); err != nil {
			return err
		}
		out, err := d.Run(ctx, "rbd", "info", "--format", "json", "--", name)
		var said struct {
			ID string `json:"id"`
		}
		if err == nil {
			err = json.Unmarshal(out, &said)
		}
		t.Proof["id"] = said.ID
		return errors.Join(err, proven())
	})
	if err != nil {
		return err
	}
	device, err := at.Make(ctx, inventory.Thing{Kind: inventory.Mapping, Proof: map[string]string{"image": name}}, func(t *inventory.Thing) error {
		out, err := d.Run(ctx, "rbd", "device", "map", "--", name)
		t.Name = strings.TrimSpace(string(out))
		return err
	})
	if err != nil {
		return err
	}
	return mountDevice(ctx, d, device.Name, at)
}

// CopyOf implements protect.Copier.
func (r RBD) CopyOf(t inventory.Thing) (protect.Volume, bool) {
	pool, _, _ := strings.Cut(t.Name, "/")
	return protect.Volume{Storage: r.Name(), Name: t.Name, Pool: pool}, t.Kind == inventory.Image
}

// Holds implements protect.Holder: with the images their mappings are lost.
func (RBD) Holds(v protect.Volume, t inventory.Thing) bool {
	image := t.Name
	if t.Kind == inventory.Mapping {
		image = t.Proof["image"]
	}
	pool, _, _ := strings.Cut(image, "/")
	return (t.Kind == inventory.Image || t.Kind == inventory.Mapping) && pool == v.Pool
}

// Destroy implements protect.Storage: each by its number.
func (r RBD) Destroy(ctx context.Context, d host.Streamer, members []protect.Member) error {
	if err := allDestroyable(ctx, r, d, members); err != nil {
		return err
	}
	for _, m := range members {
		st, err := r.State(ctx, d, m)
		if err != nil {
			return err
		}
		if st.Gone {
			continue
		}
		image, _, _ := strings.Cut(m.Snapshot, "@")
		if _, err := d.Run(ctx, "rbd", "snap", "rm", "--snap-id", m.GUID, "--", image); err != nil {
			return err
		}
	}
	return nil
}
