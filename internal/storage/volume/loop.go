package volume

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/inventory"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
)

// loop is a filesystem of its own on a loop device.
type loop struct {
	tree
	limits *limiter
	box    lab.Workspace
	device device
	mount  inventory.Thing
	base   int64  // bytes in use that are not the clone's
	empty  int64  // bytes in use before there were golden data
	trims  string // what became of the last trim
}

func makeLoop(ctx context.Context, b lab.Workspace, name string, v experiment.Volume) (lab.Volume, error) {
	profile, err := experiment.ParseProfile(v.Profile)
	if err != nil {
		return nil, err
	}
	l := &loop{tree: newTree(b, name, v), box: b}
	if l.device, err = makeDevice(ctx, b, filepath.Join(b.Dir, name+".img"), v.Size); err != nil {
		return nil, err
	}
	if err := l.makeFilesystem(ctx); err != nil {
		return nil, firstOf(err, l.Close(context.WithoutCancel(ctx)))
	}
	l.limits = newLimiter(b, profile, []string{l.device.number}, l.dir)
	return l, nil
}

func (l *loop) makeFilesystem(ctx context.Context) error {
	argv := append(mkfs(l.v.Filesystem, l.v.Mkfs), l.device.path)
	if err := l.run(ctx, argv...); err != nil {
		return hint.With(fmt.Errorf("make the filesystem: %w", err), "volume.mkfs has the arguments that were added")
	}
	if err := mkdir(ctx, l.do, l.dir); err != nil {
		return err
	}
	var err error
	t := inventory.Thing{Kind: inventory.Mount, Name: l.dir, Proof: map[string]string{"source": l.device.path}}
	l.mount, err = l.box.Book.Make(ctx, t, func(*inventory.Thing) error { return l.attach(ctx) })
	return err
}

// mkfs gives the command that makes a filesystem. ext4 must not put off
// writing its inode tables and journal: the kernel would do it during trials.
func mkfs(filesystem string, more []string) []string {
	if filesystem != "ext4" {
		return append([]string{"mkfs." + filesystem, "-f", "-q"}, more...)
	}
	const now = "lazy_itable_init=0,lazy_journal_init=0"
	argv := append([]string{"mkfs.ext4", "-F", "-q"}, more...)
	i := slices.Index(argv, "-E")
	switch {
	case i < 0 || i+1 == len(argv):
		return slices.Insert(argv, 1, "-E", now)
	case !strings.Contains(argv[i+1], "lazy_"): // of several -E, only one counts
		argv[i+1] += "," + now
	}
	return argv
}

func (l *loop) attach(ctx context.Context) error {
	argv := []string{"mount", "-t", l.v.Filesystem}
	if l.v.Mount != "" {
		argv = append(argv, "-o", l.v.Mount)
	}
	if err := l.run(ctx, append(argv, "--", l.device.path, l.dir)...); err != nil {
		return hint.With(fmt.Errorf("mount the volume: %w", err), "dmesg has the kernel's reason; volume.mount has the options")
	}
	return nil
}

// cool unmounts and mounts again: it is all written out, and nothing is left
// in the page cache. The mount stays in the book.
func (l *loop) cool(ctx context.Context) error {
	err := l.insist(ctx, "umount", "--", l.dir)
	if err == nil {
		err = l.released(ctx)
		err = firstOf(err, l.attach(context.WithoutCancel(ctx))) // what was mounted must be again
	}
	if err != nil {
		return fmt.Errorf("unmount the volume, to empty its cache: %w", err)
	}
	return nil
}

// Golden implements lab.Volume.
func (l *loop) Golden(ctx context.Context, uid, gid int) (string, error) {
	var err error
	if l.empty, err = used(ctx, l.do, l.dir); err != nil {
		return "", err
	}
	if l.v.Clone != bySnapshot {
		return l.golden(), l.makeGolden(ctx, uid, gid)
	}
	if err := l.run(ctx, "btrfs", "subvolume", "create", l.golden()); err != nil {
		return "", fmt.Errorf("make %s: %w", l.golden(), err)
	}
	return l.golden(), own(ctx, l.do, l.golden(), uid, gid)
}

// Limit implements lab.Volume.
func (l *loop) Limit(ctx context.Context) ([]experiment.LimitFact, error) { return l.limits.Limit(ctx) }

// Unlimit implements lab.Volume.
func (l *loop) Unlimit(ctx context.Context) error { return l.limits.Unlimit(ctx) }

// Facts implements lab.Volume.
func (l *loop) Facts(ctx context.Context) (experiment.VolumeFacts, error) {
	f, _, err := mountFacts(ctx, l.do, l.dir)
	if err == nil {
		err = l.mounted(ctx)
	}
	f.Path, f.Cloned = l.clone(), l.cloned
	f.Properties = map[string]string{"mkfs": strings.Join(mkfs(l.v.Filesystem, l.v.Mkfs), " ")}
	if l.trims != "" {
		f.Properties["trimmed between trials"] = l.trims
	}
	return f, err
}

// Counters implements lab.Volume. With blocks that are shared with the golden
// data, the space in use is that of both.
func (l *loop) Counters(ctx context.Context) map[string]float64 {
	out := countDevices(ctx, l.do, []string{l.device.name()})
	if n, err := used(ctx, l.do, l.dir); err == nil && l.cloned != "" {
		out[spaceUsed] = float64(n - l.base)
	}
	return out
}

// Close implements lab.Volume.
func (l *loop) Close(ctx context.Context) error {
	var err error
	if l.limits != nil {
		err = l.Unlimit(ctx)
	}
	if l.mount.Name != "" {
		err = errors.Join(err, l.box.Book.Remove(ctx, l.mount))
	}
	if err == nil && !inventory.Missing(ctx, l.do, l.dir) {
		err = l.run(ctx, "rmdir", "--", l.dir)
	}
	if err == nil {
		err = l.device.remove(ctx, l.box)
	}
	if err != nil {
		return fmt.Errorf("take the volume away: %w", err)
	}
	return nil
}
