package watch_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"plumb/internal/rule"
	"plumb/internal/series"
	"plumb/internal/watch"
)

// heldDisk is a disk that does 2,000 reads a second until a limit of 500 begins, which lets a tenth of a second's worth
// through at once.
type heldDisk struct{ from time.Duration }

// done is what it has done by a moment: reads, and the milliseconds that they took together.
func (d heldDisk) done(at time.Duration) (reads, ms float64) {
	free := max(0, min(at, d.from)).Seconds() * 2000
	reads, ms = free, free*0.2
	if at >= d.from {
		held := 50 * (1 + math.Floor((at-d.from).Seconds()*10))
		reads, ms = reads+held, ms+held*20
	}
	return reads, ms
}

// seen are the batches of so many seconds, with what is said of each second: how much later the disk is read, or that
// it is not.
func (d heldDisk) seen(seconds int, late map[int]time.Duration, missed int) []series.Batch {
	sessions := map[series.Class]float64{series.ClassRead: 10, series.ClassCPU: 2}
	others := &made{}
	others.add(load{seconds: seconds, sessions: sessions, psi: 0.8})
	var out []series.Batch
	for i, b := range others.batches {
		second := i/3 + 1
		if b.Source != "block" {
			out = append(out, b)
			continue
		}
		if second == missed {
			continue
		}
		b.At = b.At.Add(late[second])
		reads, ms := d.done(b.At.Sub(start))
		for k := range b.Readings {
			switch b.Readings[k].Name {
			case "reads":
				b.Readings[k].Value = reads
			case "read_bytes":
				b.Readings[k].Value = reads * 16384
			case "read_ms", "queue_ms":
				b.Readings[k].Value = ms
			}
		}
		out = append(out, b)
	}
	slices.SortStableFunc(out, func(a, b series.Batch) int { return a.At.Compare(b.At) })
	return out
}

// volumeJudge knows what the disk does unloaded, and judges limit/volume alone.
func volumeJudge(learned []watch.Baseline) *watch.Judge {
	cat, limits := known()
	limits = slices.DeleteFunc(slices.Clone(limits), func(l *rule.Limit) bool { return l.ID != "limit/volume" })
	j := watch.NewJudge(cat, limits)
	j.Learned(learned)
	j.Picture(start, picture())
	return j
}

func unloadedDisk() []watch.Baseline {
	m, j := &made{}, judge()
	m.add(calm)
	m.run(j)
	return j.Baselines()
}

// TestALimitIsRaisedInTime: within 25 s, wherever in a window it begins, also where the disk was once read late or not at all.
func TestALimitIsRaisedInTime(t *testing.T) {
	const free, after = 12, 32
	learned := unloadedDisk()
	for phase := time.Duration(0); phase < watch.Length; phase += time.Second / 2 {
		d := heldDisk{free*time.Second + phase}
		for second := free; second < free+after; second++ {
			want := 25 * time.Second
			if second == free+after-1 { // after it was raised: all came in time
				want = 24 * time.Second
			}
			for name, batches := range map[string][]series.Batch{
				"late":   d.seen(free+after, map[int]time.Duration{second: 850 * time.Millisecond}, 0),
				"missed": d.seen(free+after, nil, second),
			} {
				what := fmt.Sprintf("limit after %s, second %d %s", d.from, second, name)
				j := volumeJudge(learned)
				raised := slices.IndexFunc(batches, func(b series.Batch) bool {
					before := j.Known()
					j.Batch(b)
					return j.Known() != before && find(j.Moment(j.Known()), "limit/volume") != nil
				})
				if raised < 0 {
					t.Fatalf("%s: never raised", what)
				}
				if took := batches[raised].At.Sub(start.Add(d.from)); took > want {
					t.Errorf("%s: raised after %s, want %s", what, took, want)
				}
			}
		}
	}
}

// TestALateReadingShowsNoMore: what follows a reading that came late is less than a second, and a tenth's worth that is
// let through at once in it is no sign that the disk did more before.
func TestALateReadingShowsNoMore(t *testing.T) {
	learned := unloadedDisk()
	for phase := time.Duration(0); phase < time.Second/10; phase += time.Second / 100 {
		late := map[int]time.Duration{}
		for second := 4; second < 60; second += 4 {
			late[second] = 890 * time.Millisecond
		}
		j := volumeJudge(learned)
		for _, b := range (heldDisk{phase - time.Second/5}).seen(60, late, 0) {
			j.Batch(b)
		}
		if find(j.Moment(j.Known()), "limit/volume") != nil {
			t.Errorf("phase %s: raised of a disk that never did more", phase)
		}
	}
}

// TestWhatWasNotSeenIsNotSteady: a rate before a stretch that nobody saw and the same one after it are not one of so many seconds.
func TestWhatWasNotSeenIsNotSteady(t *testing.T) {
	j := volumeJudge(unloadedDisk())
	for _, b := range (heldDisk{12 * time.Second}).seen(45, nil, 0) {
		if second := int(b.At.Sub(start) / time.Second); b.Source == "block" && second > 13 && second%6 > 2 {
			continue // three of six seconds
		}
		j.Batch(b)
	}
	m := j.Moment(j.Known())
	if find(m, "limit/volume") != nil || unknownOf(m, "limit/volume") == nil {
		t.Errorf("raised %q, unknown %+v", ids(m), unknownOf(m, "limit/volume"))
	}
}
