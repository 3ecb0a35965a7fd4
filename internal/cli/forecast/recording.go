package forecast

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/forecast/model"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/watch/record"
)

// recording is the flag that says where a recording of watch is.
type recording struct{ dir string }

func (r *recording) flag(c *cobra.Command) {
	shell.Recording().Var(c, &r.dir, "the recording of plumb watch is in")
}

// sampled is a value at a moment.
type sampled struct {
	at    time.Time
	value float64
}

// read gives what is recorded of some facts of a thing, or, where it has no name,
// of all things of its kind, oldest first.
// Counters are read from samples alone: a picture's facts are of some moment in
// the seconds that it took.
func (r recording) read(ctx context.Context, thing stack.Ref, pictures bool, names ...string) (map[series.ID][]sampled, error) {
	all := map[series.ID][]sampled{}
	take := func(of stack.Ref, name string, at time.Time, v float64) {
		if of.Kind == thing.Kind && (thing.Name == "" || of == thing) && slices.Contains(names, name) {
			id := series.ID{Of: of, Name: name}
			all[id] = append(all[id], sampled{at, v})
		}
	}
	each := func(i record.Item) error {
		if i.Batch != nil {
			for _, v := range i.Batch.Readings {
				take(v.Of, v.Name, i.Batch.At, v.Value)
			}
		}
		if i.Picture != nil && pictures {
			for _, t := range i.Picture.OfKind(thing.Kind) {
				for _, name := range names {
					if v, ok := t.Number(name); ok {
						take(t.Ref, name, i.At, v)
					}
				}
			}
		}
		return nil
	}
	return all, r.each(ctx, each)
}

// each passes on everything that is recorded, oldest first.
func (r recording) each(ctx context.Context, take func(record.Item) error) error {
	return shell.ReadRecording(ctx, r.dir, func(rec *record.Reader) error {
		from, to, err := rec.Span(ctx)
		if err != nil {
			return err
		}
		return rec.Each(ctx, from, to.Add(time.Nanosecond), take)
	})
}

// grown is by how much a counter grew, over all that is recorded; what began anew
// counts from nought.
func grown(all []sampled) (sum float64) {
	for i := 1; i < len(all); i++ {
		if d := all[i].value - all[i-1].value; d >= 0 {
			sum += d
		} else {
			sum += all[i].value
		}
	}
	return sum
}

// ghosts reads what the ARC's ghosts were hit by.
func (r recording) ghosts(ctx context.Context) (model.Ghosts, error) {
	misses := []string{"arc_demand_data_misses", "arc_demand_metadata_misses"}
	hits := []string{"arc_demand_data_hits", "arc_demand_metadata_hits", "arc_demand_data_iohits", "arc_demand_metadata_iohits"}
	found := []string{"arc_mru_ghost_hits", "arc_mfu_ghost_hits"}
	all, err := r.read(ctx, stack.Ref{Kind: "zfs"}, false, slices.Concat(misses, hits, found, []string{"arc_size"})...)
	if err != nil {
		return model.Ghosts{}, err
	}
	sum := func(names []string) (n float64) {
		for id, values := range all {
			if slices.Contains(names, id.Name) {
				n += grown(values)
			}
		}
		return n
	}
	g := model.Ghosts{Of: "ARC", Hits: sum(found), Misses: sum(misses)}
	g.Reads = g.Misses + sum(hits)
	for id, values := range all {
		if id.Name == "arc_size" && len(values) > 0 {
			g.Cache = values[len(values)-1].value
		}
	}
	return g, nil
}
