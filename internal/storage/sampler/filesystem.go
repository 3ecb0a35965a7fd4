package sampler

import (
	"context"
	"slices"

	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// filesystem asks one filesystem for its space, through a path that a server
// keeps something at.
type filesystem struct {
	of    *stack.Thing
	path  string
	local observe.Local
}

func filesystems(s *stack.Stack, locals map[int]observe.Local) []sample.Source {
	var out []sample.Source
	seen := map[stack.Ref]bool{}
	for _, r := range s.Roles {
		t, l := s.Find(r.Filesystem), locals[r.PID]
		if t == nil || seen[t.Ref] || r.Resolved == "" || l.PID == 0 || len(out) >= maxOfKind {
			continue
		}
		seen[t.Ref] = true
		out = append(out, sample.Made("filesystem "+t.Ref.Name, sample.Minute, filesystem{t, r.Resolved, l}.take))
	}
	return out
}

func (f filesystem) take(ctx context.Context, h host.Reader, b *series.Batch) error {
	at := f.local.Root + f.path
	s, err := h.Statfs(host.For(ctx, f.local.PID, host.NewRoom(roomBytes)), at)
	if err != nil {
		b.Gap(f.of.Ref, err.Error(), observe.HintFor(err), "size", "free", "used", "used_percent", "inodes_free")
		return nil
	}
	if s.TotalBytes == 0 { // some FUSE filesystems do not say
		return nil
	}
	used := s.TotalBytes - min(s.FreeBytes, s.TotalBytes)
	b.Set(f.of.Ref, "size", float64(s.TotalBytes))
	b.Set(f.of.Ref, "free", float64(s.AvailBytes))
	b.Set(f.of.Ref, "used", float64(used))
	if able := used + s.AvailBytes; able > 0 { // as df counts: what root keeps back is not there to be used
		b.Set(f.of.Ref, "used_percent", 100*float64(used)/float64(able))
	}
	if made := slices.Contains([]string{"btrfs", "zfs", "fuse.zfs"}, f.of.Text("fstype")); !made && s.TotalInodes > 0 {
		b.Set(f.of.Ref, "inodes_free", float64(s.FreeInodes))
	}
	return nil
}
