package cache

import (
	"errors"
	"fmt"
	"path"
	"time"

	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/provision/boost"
	"plumb/internal/stack"
	"plumb/internal/units"
	"plumb/internal/zfs"
)

// Warming is files that are read once so that the cache device holds them.
type Warming struct {
	Plan  boost.Plan // raised feed rates
	Dirs  []string   // mount points
	Data  int64      // bytes in them, as they are stored
	Room  int64      // bytes of the cache devices
	Notes []string
}

// rates are the parameters for the time of warming. Reading a file through is what prefetching is for, and prefetched
// records are left out unless noprefetch is 0.
var rates = []struct {
	name string
	to   int64
	most bool // a higher value is kept
	why  string
}{
	{"l2arc_noprefetch", 0, false, "prefetched data is cached too"},
	{"l2arc_mfuonly", 0, false, "data that was read only once is cached too"},
	{"l2arc_write_max", 64 << 20, true, "bytes per second written to the cache"},
	{"l2arc_write_boost", 128 << 20, true, "as much in addition until the ARC is full"},
	{"l2arc_headroom", 8, true, "how far ahead of eviction it looks"},
}

// Warm plans to read the files of datasets.
func Warm(s *stack.Stack, pool string, datasets []string, limit time.Duration) (Warming, error) {
	p := s.Find(stack.Ref{Kind: "pool", Name: pool})
	m := s.Find(stack.Ref{Kind: "zfs", Name: "module"})
	switch {
	case p == nil:
		return Warming{}, hint.With(fmt.Errorf("there is no pool %s on this host", pool), "zpool list shows them")
	case Fuse(s):
		return Warming{}, errors.New("zfs-fuse has no parameters for how fast a cache is fed, and no counters that show whether it was: all that can be done there is to read the files")
	case m == nil:
		return Warming{}, hint.With(errors.New("the parameters of ZFS could not be read"), "run as root")
	}
	if has, known := p.Bool("has_cache"); !known || !has {
		return Warming{}, hint.With(fmt.Errorf("the pool %s has no cache device", pool), "plumb provision cache add "+pool+" DEVICE")
	}
	w := Warming{Plan: boost.Plan{Of: m.Ref, For: limit}}
	for _, d := range datasets {
		if err := w.dataset(s, pool, d); err != nil {
			return w, err
		}
	}
	for _, d := range follow(s, p, "cache_disks") {
		n, _ := d.Int("size")
		w.Room += n
	}
	if w.Room > 0 && w.Data > w.Room {
		w.Notes = append(w.Notes, fmt.Sprintf("the files take %s, but the cache holds %s: some of what is read first will be evicted again", units.Bytes(w.Data), units.Bytes(w.Room)))
	}
	w.raise(m)
	return w, nil
}

func follow(s *stack.Stack, t *stack.Thing, link string) []*stack.Thing {
	all, _ := s.Follow(t, link)
	return all
}

func (w *Warming) dataset(s *stack.Stack, pool, name string) error {
	t := s.Find(stack.Ref{Kind: "dataset", Name: name})
	switch {
	case t == nil || zfs.PoolOf(name) != pool:
		return hint.With(fmt.Errorf("there is no dataset %s in the pool %s", name, pool), "zfs list -r "+pool+" shows them")
	case t.Text("mounted") != "yes":
		return hint.With(fmt.Errorf("%s is not mounted, so its files cannot be read", name), "zfs mount "+name)
	}
	if why := unfed(t); why != "" {
		return hint.With(errors.New(why), fmt.Sprintf("plumb fix --set dataset:%s#primarycache=all --set dataset:%s#secondarycache=all; then warm it", name, name))
	}
	at := mountedAt(s, t)
	if at == "" {
		return fmt.Errorf("where %s is mounted was not seen", name)
	}
	n, _ := t.Int("referenced")
	w.Data += n
	w.Dirs = append(w.Dirs, at)
	return nil
}

// mountedAt is where a dataset is mounted, "" where that was not seen. One whose mount point is legacy is mounted wherever fstab says.
func mountedAt(s *stack.Stack, dataset *stack.Thing) string {
	if at := dataset.Text("mountpoint"); path.IsAbs(at) {
		return at
	}
	for _, fs := range s.OfKind("filesystem") {
		if shown, _ := s.Follow(fs, "dataset"); len(shown) == 1 && shown[0].Ref == dataset.Ref {
			return fs.Text("mountpoint")
		}
	}
	return ""
}

// raise adds the parameters that this ZFS has and that are not as high already.
func (w *Warming) raise(m *stack.Thing) {
	for _, r := range rates {
		now, known := m.Int(r.name)
		to := r.to
		if w.Room > 0 && r.most && r.to > 1000 {
			to = min(to, w.Room/16) // a feed that is large beside the device is refused by ZFS
		}
		if !known || now == to || r.most && now > to {
			continue
		}
		w.Plan.Steps = append(w.Plan.Steps, change.Step{Knob: stack.Knob{Of: m.Ref, Name: r.name}, From: stack.Int(now), To: stack.Int(to), Because: r.why})
	}
}

// read reads each file of a directory once, and of no other filesystem. Links and devices are not followed, also where
// somebody puts one in the place of a file while it is read.
const read = `find "$1" -xdev -type f -exec dd if={} of=/dev/null bs=1M iflag=nofollow,nonblock status=none \;`

// Reading is the command that reads a directory.
func Reading(dir string) host.Pipe {
	return host.Pipe{Argv: []string{"sh", "-c", read, "sh", dir}, Works: true}
}
