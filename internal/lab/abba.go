package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"plumb/internal/await"
	"plumb/internal/lab/experiment"
)

// settle is how long a server is driven after a switch before it is measured,
// when the experiment does not say.
const settle = 2 * time.Second

// switched carries out one block of an ABBA design: one server on one copy of
// the data is switched between two arms, A B B A, so that what drifts steadily
// falls out of the difference. It fills one record for each arm.
func (l *Lab) switched(ctx context.Context, x experiment.Experiment, pair []*experiment.Record) (err error) {
	b, err := l.setUp(ctx, pair[0], 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close(context.WithoutCancel(ctx))) }()
	if err := b.fill(ctx, x, pair[0]); err != nil {
		return err
	}
	share(pair)
	first, then := pair[0], pair[1]
	periods := []*experiment.Record{first, then, then, first}
	got := map[string][]measured{}
	for i, r := range periods {
		if err := b.adopt(ctx, r); err != nil {
			return err
		}
		warmup := settle
		if i == 0 {
			warmup = max(settle, x.Warmup)
		}
		m, err := b.measure(ctx, x, r.Trial, r.Seed+uint64(i), warmup)
		if err != nil {
			return err
		}
		got[r.Arm] = append(got[r.Arm], m)
	}
	for _, r := range pair {
		keepMerged(x, r, got[r.Arm])
		b.finish(ctx, x, r)
	}
	return nil
}

// share gives the second record of a pair what the set-up put into the first.
func share(pair []*experiment.Record) {
	from, to := pair[0], pair[1]
	to.Program, to.Volume, to.Files = from.Program, from.Volume, maps.Clone(from.Files)
	to.Marks, to.Remarks = slices.Clone(from.Marks), slices.Clone(from.Remarks)
}

// adopt gives the running server an arm's settings and reads them back.
func (b *bench) adopt(ctx context.Context, r *experiment.Record) error {
	a, err := b.server.load.Admin(ctx)
	if err != nil {
		return err
	}
	defer a.Close()
	want := r.Setup.Server.Settings
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if b.setup.Server.Settings[name] == want[name] {
			continue
		}
		statement, after, err := b.layout.engine.Set(name, want[name])
		if err != nil {
			return err
		}
		for _, q := range []string{statement, after} {
			if q == "" {
				continue
			}
			if err := a.Exec(ctx, q); err != nil {
				return fmt.Errorf("switch to %s: %w", r.Arm, err)
			}
		}
	}
	b.setup = r.Setup
	effective, err := b.awaited(ctx)
	if err != nil {
		return fmt.Errorf("read the settings back: %w", err)
	}
	if r.Effective == nil {
		b.compare(r, effective)
	}
	return nil
}

// awaited reads the settings until they are those of the arm, or a second has
// gone by: PostgreSQL's processes reload one after the other.
func (b *bench) awaited(ctx context.Context) (effective map[string]string, err error) {
	for range 10 {
		if effective, err = b.effective(ctx); err != nil {
			return nil, err
		}
		var probe experiment.Record
		if b.compare(&probe, effective); probe.Valid() {
			return effective, nil
		}
		if err := await.Pause(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return effective, nil
}
