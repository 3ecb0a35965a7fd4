package sampler

import (
	"context"
	"slices"
	"strings"

	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/zfs"
)

// pool asks the commands of ZFS about one pool, or datasets of it.
type pool struct {
	of       stack.Ref
	tools    zfs.Tools
	datasets []string // those that servers' files lie on
}

func pools(s *stack.Stack, fuse bool) []sample.Source {
	var out []sample.Source
	for _, t := range first(s.OfKind("pool")) {
		p := pool{of: t.Ref, tools: zfs.Tools{Fuse: fuse}, datasets: datasetsOf(s, t.Ref.Name)}
		out = append(out, sample.Made("pool "+t.Ref.Name+" scan", sample.Ten, p.scan), sample.Made("pool "+t.Ref.Name+" space", sample.Minute, p.space))
		if len(p.datasets) > 0 {
			out = append(out, sample.Made("datasets of "+t.Ref.Name, sample.Minute, p.usage))
		}
	}
	return out
}

// datasetsOf lists the datasets of a pool on which servers keep something.
func datasetsOf(s *stack.Stack, name string) []string {
	var out []string
	for _, fs := range held(s) {
		for _, d := range fs.Links["dataset"] {
			if zfs.PoolOf(d.Name) == name && !slices.Contains(out, d.Name) && len(out) < maxOfKind {
				out = append(out, d.Name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// scan tells whether a scrub or resilver runs.
func (p pool) scan(ctx context.Context, h host.Reader, b *series.Batch) error {
	out, err := h.Output(ctx, p.tools.Status(p.of.Name)...)
	if err != nil {
		b.Gap(p.of, err.Error(), hintFor(err), "scanning")
		return nil
	}
	for _, st := range zfs.ParseStatus(out) {
		if st.Pool == p.of.Name && st.ScanRead {
			b.Set(p.of, "scanning", truth(strings.HasSuffix(st.ScanWord(), "ing")))
			return nil
		}
	}
	b.Gap(p.of, "the line about the last scan was not understood", "", "scanning")
	return nil
}

// space tells what is taken.
func (p pool) space(ctx context.Context, h host.Reader, b *series.Batch) error {
	argv := append(p.tools.Space(), p.of.Name)
	out, err := h.Output(ctx, argv...)
	if err != nil {
		b.Gap(p.of, err.Error(), hintFor(err), "size", "allocated", "free", "capacity", "fragmentation")
		return nil
	}
	for _, row := range zfs.ParseRows(out, 8) {
		if _, told := zfs.ParseSize(row[1]); row[0] == p.of.Name && told {
			setSpace(b, p, row)
			return nil
		}
	}
	b.Gap(p.of, "zpool list tells no space of it", "see `zpool status "+p.of.Name+"`: a pool that is faulted has none", "size", "allocated", "free", "capacity")
	return nil
}

func setSpace(b *series.Batch, p pool, row []string) {
	for i, name := range []string{"size", "allocated", "free"} {
		if n, ok := zfs.ParseSize(row[i+1]); ok {
			b.Set(p.of, name, float64(n))
		}
	}
	percents := []string{"capacity", "fragmentation"}
	if p.tools.Fuse {
		percents = percents[:1] // the other column is the pool's version
	}
	for i, name := range percents {
		if n, ok := zfs.ParseCount(strings.TrimSuffix(row[i+4], "%")); ok {
			b.Set(p.of, name, float64(n))
		}
	}
}

// usages are properties of datasets, named as the readings; zfs-fuse has the
// first ones only.
var usages = []string{"used", "available", "referenced", "usedbysnapshots", "usedbydataset", "usedbychildren", "logicalused", "logicalreferenced"}

const usagesOfFuse = 6

// usage tells what the datasets under servers take, their snapshots apart, and
// what it would be uncompressed.
func (p pool) usage(ctx context.Context, h host.Reader, b *series.Batch) error {
	want := usages
	if p.tools.Fuse {
		want = usages[:usagesOfFuse]
	}
	argv := append([]string{"zfs", "get", "-Hp", "-o", "name,property,value,source", strings.Join(want, ",")}, p.datasets...)
	out, err := h.Output(ctx, argv...)
	for _, v := range zfs.ParseProperties(out) {
		if n, ok := zfs.ParseCount(v.Value); ok && slices.Contains(want, v.Name) {
			b.Set(stack.Ref{Kind: "dataset", Name: v.Of}, v.Name, float64(n))
		}
	}
	return err
}
