package point

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/paths"
	"plumb/internal/observe"
	"plumb/internal/protect"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// pointsDir is the directory at the top of a filesystem in which its points and their clones
// are. Only root enters it, so that no path in it is anybody else's to change.
const pointsDir = ".plumb-points"

// factsEnd ends the name of the file of facts beside a snapshot.
const factsEnd = ".json"

// makePoints makes the directory for points, or checks that the one that is there is ours.
func makePoints(ctx context.Context, d host.Doer, top string) error {
	st, err := d.Stat(ctx, top)
	if err != nil {
		return err
	}
	if st.UID != 0 || st.Mode.Perm()&0o022 != 0 {
		return hint.With(fmt.Errorf("others than root may write to the top of the filesystem at %s", top),
			"points lie there, and whoever may write there could put others in their place: keep the server's data in a directory or subvolume below it, and give the top to root")
	}
	dir := path.Join(top, pointsDir)
	if err := d.MakeDir(ctx, dir, 0o700, 0, 0); !errors.Is(err, fs.ErrExist) {
		return err
	}
	_, link := d.Readlink(ctx, dir)
	st, err = d.Stat(ctx, dir)
	if err == nil && (link == nil || !st.Mode.IsDir() || st.UID != 0 || st.Mode.Perm()&0o077 != 0) {
		err = hint.With(fmt.Errorf("%s is not a directory that only root enters", dir), "look at what it is and at who made it; Plumb keeps points there")
	}
	return err
}

// topMount finds the uppermost mount of the top of a filesystem that can be written to. While it is not known of a
// mount which filesystem it is, it is not known that there is none. Where a part of it is mounted the filesystem itself is there.
func topMount(ctx context.Context, h host.Reader, is func(observe.Mount) (bool, error)) (observe.Mount, error) {
	all, err := observe.MountTable(ctx, h, "self")
	if err != nil {
		return observe.Mount{}, err
	}
	var unknown, there error
	for i, m := range all {
		if slices.Contains(m.Options, "ro") {
			continue
		}
		top := m.Root == "/" && !slices.ContainsFunc(all[i+1:], func(o observe.Mount) bool { return o.Point == m.Point })
		it, err := is(m)
		switch {
		case it && top:
			return m, nil
		case it:
			there = fmt.Errorf("%w, mounted on %s, but not its top", protect.ErrThere, m.Point)
		case err != nil && top:
			unknown = errors.Join(unknown, fmt.Errorf("look at what is mounted on %s: %w", m.Point, err))
		}
	}
	if err := errors.Join(there, unknown); err != nil {
		return observe.Mount{}, err
	}
	return observe.Mount{}, errors.New("it is not mounted for writing anywhere")
}

// kernelName gives the kernel's name of a device: dm-3 for /dev/mapper/vg-lv.
func kernelName(ctx context.Context, h host.Reader, device string) string {
	if st, err := h.Stat(ctx, device); err == nil && st.Resolved != "" {
		device = st.Resolved
	}
	return path.Base(device)
}

// destroyable tells why a snapshot must not be destroyed. One that is gone is fine.
func destroyable(m protect.Member, st protect.MemberState) error {
	switch {
	case st.Gone:
		return nil
	case st.Other:
		return hint.With(fmt.Errorf("%s is another snapshot than the one that was taken: left alone", m.Snapshot), "somebody made it under the name of a point: look at it before you remove it by hand")
	case len(st.Clones) > 0:
		return hint.With(fmt.Errorf("the snapshot %s has clones: %v", m.Snapshot, st.Clones), "drop them first: plumb clone list")
	case st.Held:
		return fmt.Errorf("the snapshot %s is held", m.Snapshot)
	}
	return nil
}

// allDestroyable looks at all of a destruction before the first is destroyed.
func allDestroyable(ctx context.Context, s protect.Storage, h host.Reader, members []protect.Member) error {
	for _, m := range members {
		st, err := s.State(ctx, h, m)
		if err == nil {
			err = destroyable(m, st)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeFacts adds facts to the file of facts.
func writeFacts(ctx context.Context, d host.Doer, file string, facts map[string]string) error {
	all := map[string]string{}
	text, err := d.Raw(ctx, file)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read %s: %w", file, err)
	}
	maps.Copy(all, facts)
	if text, err = json.MarshalIndent(all, "", "\t"); err != nil {
		return err
	}
	return d.Replace(ctx, file, append(text, '\n'), 0o600)
}

// newClone names a clone among the points, unlike any other.
func newClone() string { return pointsDir + "/clone-" + unlike() }

// unlike is a name that nothing else has: many clones are made in one second.
func unlike() string { return protect.NewID(time.Now()) + "-" + strings.ToLower(rand.Text()[:8]) }

// bind mounts a directory of a clone where it is to be seen. No program in it gains
// rights, and no device in it is one.
func bind(ctx context.Context, d host.Doer, from, source string, at protect.CloneAt) error {
	if err := realDirectory(ctx, d, from, from); err != nil {
		return err
	}
	return at.Mount(ctx, source, func() error { return bound(ctx, d, from, at.Dir) })
}

// realDirectory is an error where a link that was in a snapshot leads elsewhere.
func realDirectory(ctx context.Context, d host.Doer, name, is string) error {
	st, err := d.Stat(ctx, name)
	if err == nil && (st.Resolved != is || !st.Mode.IsDir()) {
		err = fmt.Errorf("%s is not a directory but leads to %s", name, st.Resolved)
	}
	return err
}

func bound(ctx context.Context, d host.Doer, from, dir string) error {
	if _, err := d.Run(ctx, "mount", "--bind", "--", from, dir); err != nil {
		return err
	}
	_, err := d.Run(ctx, powerless(dir)...)
	return err
}

// powerless takes from what is mounted on a directory that programs gain rights and files are devices.
func powerless(dir string) []string {
	return []string{"mount", "-o", "remount,bind,nosuid,nodev", "--", dir}
}

// room tells which filesystem is too full.
func room(s *stack.Stack, vols []protect.Volume) error {
	for _, v := range vols {
		var at *stack.Thing
		for _, t := range s.OfKind("filesystem") {
			point := t.Text("mountpoint")
			if paths.Within(v.Mountpoint, point) && (at == nil || len(point) > len(at.Text("mountpoint"))) {
				at = t
			}
		}
		if at == nil {
			return fmt.Errorf("how full the filesystem at %s is is not known", v.Mountpoint)
		}
		size, known := at.Int("size")
		free, known2 := at.Int("free")
		if !known || !known2 || size <= 0 {
			return fmt.Errorf("how full the filesystem at %s is is not known", at.Text("mountpoint"))
		}
		if float64(free) < leastFree*float64(size) {
			return tight("of the filesystem at %s %s of %s are free: less than a tenth", at.Text("mountpoint"), units.Bytes(free), units.Bytes(size))
		}
	}
	return nil
}

// tight says that there is too little space.
func tight(format string, args ...any) error {
	return hint.With(fmt.Errorf(format, args...), "plumb prune makes room")
}

// synced is a storage that has less to write for a snapshot when what waits was written out before.
type synced struct{}

// Settle implements protect.Storage.
func (synced) Settle(ctx context.Context, d host.Streamer, vols []protect.Volume) error {
	return syncAll(ctx, d, vols)
}

// syncAll writes out what waits, so that a snapshot has less to write.
func syncAll(ctx context.Context, d host.Doer, vols []protect.Volume) error {
	for _, v := range vols {
		if _, err := d.Run(ctx, "sync", "-f", "--", v.Mountpoint); err != nil {
			return err
		}
	}
	return nil
}
