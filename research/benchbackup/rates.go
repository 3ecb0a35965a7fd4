package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plumb/internal/stats"
	"plumb/internal/units"
)

// The goals: what is reached at least, as ratios to the best rival of the same round.
const (
	goalBare   = 1.2
	goalSealed = 1.2
)

// rates has all arms send each stream over each line, in turn.
func (b *bench) rates() error {
	arms := b.arms()
	if err := b.warm(arms); err != nil {
		return err
	}
	for _, trip := range b.trips {
		for _, d := range b.data {
			b.line.trip.Store(int64(trip))
			if err := b.cell(arms, d, trip); err != nil {
				return fmt.Errorf("%s at %s: %w", d.name, units.Short(trip), err)
			}
		}
	}
	return nil
}

// warm has each arm send something small, so that none pays for what is only done once.
func (b *bench) warm(arms []arm) error {
	b.line.trip.Store(0)
	small := filepath.Join(b.box.Dir, "small")
	if err := os.WriteFile(small, []byte(strings.Repeat("small\n", 100_000)), 0o600); err != nil {
		return err
	}
	for _, a := range arms {
		if _, err := pipeline(nil, nil, a.env, a.make(small)...); err != nil {
			return err
		}
	}
	return b.empty()
}

// cell measures all arms for one stream over one line.
func (b *bench) cell(arms []arm, d data, trip time.Duration) error {
	rate := make([][]float64, len(arms)) // MiB a second, by arm and round
	all := make([][]took, len(arms))
	for round := range b.rounds {
		for k := range arms {
			i := (round + k) % len(arms) // who is first changes from round to round
			t, err := b.send(arms[i], d.file)
			if err != nil {
				return err
			}
			rate[i], all[i] = append(rate[i], float64(b.size)/(1<<20)/t.wall.Seconds()), append(all[i], t)
		}
	}
	fmt.Printf("%s, %d MiB, round trip %s%s\n", d.name, b.size>>20, units.Short(trip), b.narrow())
	for i, a := range arms {
		fmt.Printf("  %-34s %7.1f MiB/s (%.1f to %.1f)  CPU %5.2f s  resident %4d MiB  processors busy %3.0f %%\n", a.name, median(rate[i]), slices.Min(rate[i]), slices.Max(rate[i]),
			median(of(all[i], func(t took) float64 { return t.cpu.Seconds() })), int64(slices.Max(of(all[i], func(t took) float64 { return float64(t.resident) })))>>20,
			100*median(of(all[i], func(t took) float64 { return t.busy })))
	}
	b.ratio(arms, rate, bare, d, trip, trip > 0, goalBare)
	b.ratio(arms, rate, sealed, d, trip, trip == 0, goalSealed)
	return nil
}

// narrow says how much the line carries, where that is limited.
func (b *bench) narrow() string {
	if b.width == 0 {
		return ""
	}
	return fmt.Sprintf(", a line of %g MiB/s", b.width)
}

func of(all []took, f func(took) float64) (values []float64) {
	for _, t := range all {
		values = append(values, f(t))
	}
	return values
}

// send has one arm send, and looks for what it sent.
func (b *bench) send(a arm, file string) (took, error) {
	t, err := pipeline(nil, nil, a.env, a.make(file)...)
	if err == nil {
		err = b.arrived(a)
	}
	return t, errors.Join(err, b.empty())
}

// arrived tells whether the store has it. A rival's bare object is as long as the stream.
func (b *bench) arrived(a arm) error {
	at := filepath.Join(b.s3.Dir, b.s3.Bucket)
	if a.kind == ours {
		all, err := filepath.Glob(filepath.Join(at, "plumb/backups/*/manifest"))
		if err == nil && len(all) != 1 {
			err = fmt.Errorf("%s: %d manifests", a.name, len(all))
		}
		return err
	}
	st, err := os.Stat(filepath.Join(at, object))
	if err == nil && (st.Size() == 0 || a.kind == bare && st.Size() != b.size) {
		err = fmt.Errorf("%s: the object has %d bytes", a.name, st.Size())
	}
	return err
}

// ratio compares ours with the best of a kind, round by round.
func (b *bench) ratio(arms []arm, rate [][]float64, k kind, d data, trip time.Duration, asked bool, goal float64) {
	var ratios []float64
	for round := range b.rounds {
		best, own := 0.0, 0.0
		for i, a := range arms {
			switch a.kind {
			case k:
				best = max(best, rate[i][round])
			case ours:
				own = rate[i][round]
			}
		}
		if best > 0 {
			ratios = append(ratios, own/best)
		}
	}
	if len(ratios) == 0 {
		return
	}
	words := map[kind]string{bare: "bare", sealed: "packed and encrypted"}
	b.judge(fmt.Sprintf("plumb to the best that is %s, %s at %s", words[k], d.name, units.Short(trip)), ratios, asked, goal)
}

// judge prints a ratio, and whether it is what was asked at least.
func (b *bench) judge(what string, ratios []float64, asked bool, goal float64) {
	note := ""
	if asked {
		note = fmt.Sprintf("  reached (asked %.2f)", goal)
		if median(ratios) < goal {
			note = fmt.Sprintf("  MISSED (asked %.2f)", goal)
			b.missed = append(b.missed, fmt.Sprintf("%s: %.2f, asked %.2f", what, median(ratios), goal))
		}
	}
	fmt.Printf("  %s: %s%s\n", what, spread(ratios), note)
}

func median(all []float64) float64 { return stats.Quantile(slices.Sorted(slices.Values(all)), 0.5) }

func spread(all []float64) string {
	return fmt.Sprintf("%.2f (%.2f to %.2f)", median(all), slices.Min(all), slices.Max(all))
}
