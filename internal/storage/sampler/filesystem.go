package sampler

import (
	"context"
	"fmt"
	"strings"
	"time"

	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// filesystemSource reads the space of one filesystem. statfs waits for a server
// of the network that is gone: each filesystem has its own source.
type filesystemSource struct {
	of     stack.Ref
	at     string // a path on it
	mount  uint64 // 0: not known
	fstype string
}

// filesystems makes the sources of the filesystems that servers keep something on.
func filesystems(s *stack.Stack) (out []sample.Source) {
	const most = 64
	seen := map[stack.Ref]bool{}
	for _, r := range s.Roles {
		t := s.Find(r.Filesystem)
		if t == nil || seen[t.Ref] || len(out) == most {
			continue
		}
		seen[t.Ref] = true
		at := t.Text("mountpoint")
		if strings.HasPrefix(t.Ref.Name, "/proc/") && r.PID != 0 { // mounted only where the server sees it
			at = fmt.Sprintf("/proc/%d/root%s", r.PID, r.Resolved)
		}
		if at == "" {
			continue
		}
		id, _ := t.Int("mount_id")
		out = append(out, filesystemSource{t.Ref, at, uint64(max(id, 0)), t.Text("fstype")})
	}
	return out
}

// Name implements [sample.Source].
func (f filesystemSource) Name() string {
	return sample.Named("filesystem "+f.of.Name, f.at, fmt.Sprint(f.mount))
}

// Every implements [sample.Source].
func (filesystemSource) Every() time.Duration { return sample.Minute }

// Take implements [sample.Source]. What lies below a filesystem that is no longer
// mounted would answer in its place.
func (f filesystemSource) Take(ctx context.Context, h host.Reader) (b series.Batch, err error) {
	now, err := h.Stat(ctx, f.at)
	if err != nil {
		return b, err
	}
	if f.mount != 0 && now.MountID != 0 && now.MountID != f.mount {
		b.Gap(f.of, "it is no longer mounted on "+f.at, "")
		return b, nil
	}
	space, err := h.Statfs(ctx, f.at)
	if err != nil {
		return b, err
	}
	if space.TotalBytes > 0 { // some FUSE filesystems do not say
		used := space.TotalBytes - min(space.FreeBytes, space.TotalBytes)
		b.Set(f.of, "used", float64(used))
	}
	t := stack.NewThing(f.of.Kind, f.of.Name)
	t.Set("fstype", stack.Text(f.fstype), "mountinfo")
	observe.SetSpace(t, space)
	for _, name := range []string{"free", "used_percent", "inodes_free"} {
		if n, ok := t.Number(name); ok {
			b.Set(f.of, name, n)
		}
	}
	return b, nil
}
