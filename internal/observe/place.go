package observe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/paths"
	"plumb/internal/host/processes"
	"plumb/internal/stack"
)

// placeRoles finds, for every role of every server, the filesystem that holds its
// path, as the server's own process sees it, and then joins filesystems with
// datasets, volumes and disks. It adds filesystems that no probe reported
// because they matter only when a server uses them (tmpfs, the layer of a
// container). What cannot be placed exactly is not placed, with a gap.
func placeRoles(ctx context.Context, h host.Reader, s *stack.Stack) {
	p := &placer{h: h, s: s, views: map[int]*view{}, places: map[string]place{}}
	p.roles(ctx)
	p.linkRoles()
	s.Add("place", p.obs)
	join(ctx, p)
}

// placer is the state of one run of Place.
type placer struct {
	h      host.Reader
	s      *stack.Stack
	views  map[int]*view
	places map[string]place  // by process and path: many roles share one directory
	obs    stack.Observation // gaps, and filesystems that were not known before
}

// view is one mount namespace as a process sees it.
type view struct {
	prefix string // leads to the process's root from ours; "" when it is the same
	mounts []Mount
	why    error // why there are none, or not all
}

type place struct {
	stack.Placement
	err error
}

// placeTime bounds the time all roles together may take: a server can keep a
// dozen on one filesystem that does not answer.
const placeTime = 8 * time.Second

func (p *placer) roles(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, placeTime)
	defer cancel()
	for i := range p.s.Roles {
		p.role(ctx, &p.s.Roles[i])
	}
	p.directories(ctx)
}

func (p *placer) role(ctx context.Context, r *stack.Role) {
	if r.Path == "" || r.PID == 0 {
		return
	}
	key := strconv.Itoa(r.PID) + " " + r.Path
	got, done := p.places[key]
	if !done {
		got = p.place(ctx, r.PID, r.Path)
		p.places[key] = got
	}
	r.Placement = got.Placement
	if got.err != nil {
		p.obs.Gap(r.DB, fmt.Sprintf("place %s at %s: %v", r.Name, r.Path, got.err), HintFor(got.err), r.Name, "storage")
	}
}

// HintFor says what a person can do about what could not be read.
func HintFor(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "run as root"
	case errors.Is(err, context.DeadlineExceeded):
		return "look for a dead NFS server or a failed disk, or give the check longer with --timeout 2m"
	}
	return ""
}

func (p *placer) place(ctx context.Context, pid int, name string) place {
	if !path.IsAbs(name) {
		return place{err: errors.New("the path is not absolute")}
	}
	v := p.view(ctx, pid)
	if len(v.mounts) == 0 && v.why != nil {
		return place{err: v.why}
	}
	m, resolved, err := p.locate(ctx, v, name)
	if hidden, ok := errors.AsType[errHidden](err); ok {
		if ref, ok := p.known(string(hidden)); ok {
			return place{Placement: stack.Placement{Resolved: resolved, Filesystem: ref}}
		}
	}
	if err != nil {
		return place{err: err}
	}
	return place{Placement: stack.Placement{Resolved: resolved, Filesystem: p.filesystem(ctx, v, m, resolved)}}
}

// view reads the mounts of a process once, and tells whether they are ours.
func (p *placer) view(ctx context.Context, pid int) *view {
	if v, ok := p.views[pid]; ok {
		return v
	}
	dir := "/proc/" + strconv.Itoa(pid)
	v := &view{prefix: dir + "/root"}
	v.mounts, v.why = MountTable(ctx, p.h, strconv.Itoa(pid))
	if p.sameView(ctx, dir) {
		v.prefix = ""
	}
	p.views[pid] = v
	return v
}

// sameView reports whether paths mean to the process what they mean to us:
// the same mount namespace and the same root. Without the right to read the
// namespace's link, equal mount tables say it, because mount ids are unique on
// the host and each namespace has its own.
func (p *placer) sameView(ctx context.Context, dir string) bool {
	if same, err := processes.SameMounts(ctx, p.h, dir); err == nil {
		root, err := p.h.Readlink(ctx, dir+"/root")
		return same && (err != nil || root == "/")
	}
	a, err := p.h.ReadFile(ctx, dir+"/mountinfo")
	b, ownErr := p.h.ReadFile(ctx, "/proc/self/mountinfo")
	return err == nil && ownErr == nil && string(a) == string(b)
}

// locate finds the mount that holds a path.
func (p *placer) locate(ctx context.Context, v *view, name string) (Mount, string, error) {
	resolved, st, err := p.resolve(ctx, v, name)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, context.DeadlineExceeded) {
		// A path that is itself a mount point holds no symbolic link, so it
		// can be told from the table alone.
		if m, ok := lastAt(v.mounts, path.Clean(name)); ok {
			return m, path.Clean(name), nil
		}
	}
	if err != nil {
		return Mount{}, "", err
	}
	m, err := MountFor(v.mounts, st, resolved)
	if err != nil && v.why != nil {
		err = fmt.Errorf("%w (%w)", err, v.why)
	}
	return m, resolved, err
}

// resolve stats a path as the process sees it and gives it without symbolic
// links. The reader follows links below /proc/PID/root inside that root.
func (p *placer) resolve(ctx context.Context, v *view, name string) (string, host.Stat, error) {
	ctx, cancel := context.WithTimeout(ctx, statTime)
	defer cancel()
	resolved := path.Clean(name)
	st, err := p.h.Stat(ctx, v.prefix+name) // not cleaned: a/../b is not b when a is a link
	if err == nil && st.Resolved != "" {
		resolved = path.Join("/", strings.TrimPrefix(st.Resolved, v.prefix))
	}
	return resolved, st, err
}

// MountFor picks the mount a stat tells of: by mount id where the kernel gives
// one, else by device number. Only among mounts of the same filesystem, and
// for btrfs, whose subvolumes have numbers of their own, does the resolved
// path decide.
func MountFor(mounts []Mount, st host.Stat, resolved string) (Mount, error) {
	if st.MountID != 0 {
		if i := slices.IndexFunc(mounts, func(m Mount) bool { return m.ID == st.MountID }); i >= 0 {
			return mounts[i], nil
		}
	}
	dev := fmt.Sprintf("%d:%d", st.DevMajor, st.DevMinor)
	best, found := Mount{}, false
	for _, m := range mounts {
		if paths.Within(resolved, m.Point) && (m.Dev == dev || m.Type == "btrfs") &&
			(!found || len(m.Point) >= len(best.Point)) {
			best, found = m, true
		}
	}
	if !found {
		return Mount{}, errHidden(dev)
	}
	return best, nil
}

// errHidden says that no mount the process can see has this device number,
// which is what a chroot looks like from inside.
type errHidden string

func (dev errHidden) Error() string { return "no mount has device " + string(dev) }

// known finds a filesystem by its device number alone, which names it exactly.
func (p *placer) known(dev string) (stack.Ref, bool) {
	var best *stack.Thing
	for _, t := range p.s.OfKind("filesystem") {
		if t.Text("dev") == dev && betterView(t, best) {
			best = t
		}
	}
	if best == nil {
		return stack.Ref{}, false
	}
	return best.Ref, true
}

// Holding gives the mount that holds a path without links, which need not exist: nobody is asked but the table, so that no
// file server is waited for. Of two mounts at one point the later is seen.
func Holding(mounts []Mount, name string) (found Mount, is bool) {
	for _, m := range mounts {
		if paths.Within(name, m.Point) && len(m.Point) >= len(found.Point) {
			found, is = m, true
		}
	}
	return found, is
}

// lastAt gives the mount that is visible at a mount point: the latest.
func lastAt(mounts []Mount, point string) (Mount, bool) {
	for _, m := range slices.Backward(mounts) {
		if m.Point == point {
			return m, true
		}
	}
	return Mount{}, false
}

// filesystem finds the thing for a mount or makes it. The mount of another
// namespace shows the same filesystem as one of ours when the device numbers
// agree: a volume of a container is a bind mount.
func (p *placer) filesystem(ctx context.Context, v *view, m Mount, resolved string) stack.Ref {
	var same *stack.Thing
	for _, t := range slices.Concat(p.s.OfKind("filesystem"), p.obs.Things) {
		if id, ok := t.Int("mount_id"); ok && uint64(id) == m.ID {
			return t.Ref
		}
		if v.prefix != "" && t.Text("dev") == m.Dev && t.Text("fstype") == m.Type && betterView(t, same) {
			same = t
		}
	}
	if same != nil {
		return same.Ref
	}
	t := m.Thing(p.freeName(path.Join("/", v.prefix, m.Point), m.ID))
	if err := Space(ctx, p.h, t, path.Join("/", v.prefix, resolved)); err != nil {
		p.obs.Gap(t.Ref, err.Error(), HintFor(err), "size", "free", "used_percent", "inodes*", "block_size")
	}
	if v.prefix != "" && m.OnBlock() {
		p.obs.Gap(t.Ref, "mounted only in the mount namespace of the server", "", "*")
	}
	p.obs.Things = append(p.obs.Things, t)
	return t.Ref
}

// betterView prefers, of two mounts of one filesystem, the one that shows it whole.
func betterView(t, than *stack.Thing) bool {
	return than == nil || t.Text("mount_root") == "/" && than.Text("mount_root") != "/"
}

// freeName keeps apart two filesystems mounted one over the other.
func (p *placer) freeName(name string, id uint64) string {
	ref := stack.Ref{Kind: "filesystem", Name: name}
	taken := slices.ContainsFunc(p.obs.Things, func(t *stack.Thing) bool { return t.Ref == ref })
	if taken || p.s.Find(ref) != nil {
		return fmt.Sprintf("%s#%d", name, id)
	}
	return name
}

// linkRoles gives every server its links to filesystems. A role none of whose
// paths could be placed stays unknown.
func (p *placer) linkRoles() {
	for _, r := range p.s.Roles {
		db := p.s.Find(r.DB)
		if db == nil || r.Filesystem.IsZero() || r.Name == "pid" {
			continue
		}
		db.Link(r.Name, r.Filesystem)
		db.Link("storage", r.Filesystem)
	}
}
