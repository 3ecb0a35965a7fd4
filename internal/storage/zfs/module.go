package zfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/observe"
	"plumb/internal/stack"
	"plumb/internal/zfs"
)

const (
	moduleDir = "/sys/module/zfs"
	kstatDir  = "/proc/spl/kstat/zfs"
	fuseKstat = "/zfs-kstat/zfs"
)

// kernelModule reads OpenZFS itself: versions, parameters, caches.
func (l *look) kernelModule(ctx context.Context) {
	m := l.obs.New("zfs", "module")
	l.module = m
	m.Set("implementation", stack.Text(openZFS), moduleDir)
	l.kernelVersion(ctx)
	l.userland(ctx)
	l.parameters(ctx)
	l.arc(ctx)
	l.counters(ctx)
}

func (l *look) kernelVersion(ctx context.Context) {
	name := path.Join(moduleDir, "version")
	text, err := l.h.ReadFile(ctx, name)
	if err != nil {
		l.gap(l.module.Ref, err, "version", "release")
		return
	}
	release := strings.TrimSpace(string(text))
	l.module.Set("release", stack.Text(release), name)
	if v := zfs.VersionNumber(release); v != "" {
		l.module.Set("version", stack.Text(v), name)
	} else {
		l.obs.Gap(l.module.Ref, name+" holds no version number: "+release, "", "version")
	}
}

func (l *look) userland(ctx context.Context) {
	text, err := l.output(ctx, zfs.Version()...)
	if err != nil { // before 0.8 there is no such command
		l.gap(l.module.Ref, err, "userland")
		return
	}
	v := zfs.ParseVersion(text)
	if v == "" {
		l.obs.Gap(l.module.Ref, "`zfs version` printed no version", "", "userland")
		return
	}
	l.module.Set("userland", stack.Text(v), "zfs version")
	l.tools.JSON = zfs.AtLeast(v, 2, 3)
}

// arc reads the figures of the ARC and the L2ARC.
func (l *look) arc(ctx context.Context) {
	name := path.Join(kstatDir, "arcstats")
	text, err := l.h.ReadFile(ctx, name)
	if err != nil {
		l.gap(l.module.Ref, err, "arc_*", "l2_*")
		return
	}
	observe.SetFigures(l.module, zfs.ParseKstat(text), l.catalog.ReadFrom("zfs", "arcstats "), name)
}

func factNames(of []catalog.Source) []string {
	names := make([]string, len(of))
	for i, s := range of {
		names[i] = s.Fact.Name
	}
	return names
}

// counters reads what the intent log and the write throttle have counted.
func (l *look) counters(ctx context.Context) {
	for _, file := range []string{"zil", "dmu_tx"} {
		figures := l.catalog.ReadFrom("zfs", file+" ")
		name := path.Join(kstatDir, file)
		text, err := l.h.ReadFile(ctx, name)
		if err != nil {
			l.gap(l.module.Ref, err, factNames(figures)...)
			continue
		}
		observe.SetFigures(l.module, zfs.ParseKstat(text), figures, name)
	}
}

// fuseModule reads the zfs-fuse daemon, which has neither parameters nor a
// version it would tell.
func (l *look) fuseModule(ctx context.Context, d daemon) {
	m := l.obs.New("zfs", "module")
	l.module = m
	source := "/proc/PID/comm of the daemon"
	m.Set("implementation", stack.Text(zfsFuse), source)
	m.Absent(source, "version", "release", "userland", "modprobe_unknown")
	m.Absent(source, slices.Collect(maps.Keys(l.catalog.Knobs("zfs")))...)
	m.Absent(source, factNames(slices.Concat(l.catalog.ReadFrom("zfs", "zil "), l.catalog.ReadFrom("zfs", "dmu_tx ")))...)
	l.fuseARC(ctx, d)
}

// fuseARC reads the figures zfs-fuse shows as one file each.
func (l *look) fuseARC(ctx context.Context, d daemon) {
	dir := path.Join(fuseKstat, "arcstats")
	stats := map[string]int64{}
	figures := l.catalog.ReadFrom("zfs", "arcstats ")
	for _, f := range figures {
		text, err := l.h.ReadFile(ctx, path.Join(dir, f.Name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil { // a daemon that does not answer for one will not for the next
			l.gap(l.module.Ref, err, "arc_*", "l2_*")
			return
		}
		if n, ok := zfs.ParseCount(strings.TrimSpace(string(text))); ok {
			stats[f.Name] = n
		}
	}
	if len(stats) > 0 {
		observe.SetFigures(l.module, stats, figures, dir)
		return
	}
	if d.doubt != nil {
		l.gap(l.module.Ref, fmt.Errorf("see whether zfs-fuse, process %d, is the one that mounts here: %w", d.pid, d.doubt), "arc_limit")
	} else if limit, ok := maxARC(d.args); ok {
		l.module.Set("arc_limit", stack.Int(limit), "command line of zfs-fuse")
	}
	l.obs.Gap(l.module.Ref, "zfs-fuse runs without "+fuseKstat, "it was started with --no-kstat-mount", "arc_*", "l2_*")
}
