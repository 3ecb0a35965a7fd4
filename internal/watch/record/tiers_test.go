package record

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"plumb/internal/series"
	"plumb/internal/stack"
)

// one makes a source with a counter and a gauge, of which everything is known in advance.
func one(at time.Time) series.Batch {
	b := series.Batch{Source: "one", Every: time.Second, At: at.Add(3 * time.Millisecond), Took: time.Millisecond}
	of := stack.Ref{Kind: "block", Name: "sda"}
	b.Set(of, "reads", float64(at.Unix()*7))
	b.Set(of, "in_flight", float64(at.Unix()%10))
	b.Set(of, "steady", 2.5)
	for i := range 20 { // noise, which takes room
		b.Set(of, fmt.Sprint("noise", i), float64(rand.New(rand.NewPCG(uint64(at.Unix()), uint64(i))).IntN(1<<30)))
	}
	return b
}

func isCounter(_ stack.Ref, name string) bool { return name == "reads" }

// tiered records some hours second by second.
func tiered(t *testing.T, o Options, hours int) {
	t.Helper()
	o.Counter = isCounter
	w := opened(t, o)
	for i := range hours * 3600 {
		w.Batch(one(sunday.Add(time.Duration(i) * time.Second)))
		calm(w)
	}
	closed(t, w)
}

// tierItems reads one tier alone.
func tierItems(t *testing.T, dir string, l level) (items []Item) {
	t.Helper()
	r, err := OpenReader(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w := walk{Reader: r, part: part{l, ever.UnixNano(), later.UnixNano()}, tell: func(int64) error { return nil }, do: func(i Item) error { items = append(items, i); return nil }}
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return items
}

func TestCoarserTiersAreMadeOfTheFiner(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "watch")
	tiered(t, Options{Dir: dir}, 3)
	for _, l := range levels[1:] {
		items := tierItems(t, dir, l)
		// From 00:30 to 03:29; the last span is not over.
		if want := map[tier]int{tenSeconds: 17 * 60, minutes: 150}[l.tier]; len(items) != want {
			t.Fatalf("tier of %d s has %d batches, want %d", l.tier, len(items), want)
		}
		for _, item := range items {
			end := item.At.Truncate(l.tier.step()).Add(l.tier.step() - time.Second)
			last := one(end)
			if !item.At.Equal(last.At) || item.Batch.Every != l.tier.step() {
				t.Fatalf("a batch of %s is of %s", last.At, item.At)
			}
			r := item.Batch.Readings
			if r[0].Value != last.Readings[0].Value {
				t.Fatalf("%s: the counter is %v, and was %v at the end", item.At, r[0].Value, last.Readings[0].Value)
			}
			if r[1].Value != 4.5 || len(item.Least) != 21 || item.Least[0].Value != 0 || item.Most[0].Value != 9 {
				t.Fatalf("%s: the gauge is %v of %v to %v, want 4.5 of 0 to 9", item.At, r[1], item.Least, item.Most)
			}
			if r[2].Value != 2.5 {
				t.Fatalf("%s: what does not change is %v", item.At, r[2])
			}
		}
	}
}

// What a killed run did not roll up is rolled up by the next.
func TestNextRunMakesTheTiersThatAreMissing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "watch")
	tiered(t, Options{Dir: dir}, 2)
	change(t, dir, `DELETE FROM block WHERE tier > 1`)
	w := opened(t, Options{Dir: dir, Counter: isCounter, Now: func() time.Time { return sunday.Add(3 * time.Hour) }})
	w.Batch(one(sunday.Add(3 * time.Hour)))
	closed(t, w)
	if n := len(tierItems(t, dir, levels[1])); n != 12*60 {
		t.Errorf("%d batches of 10 s, want 720", n)
	}
	if n := len(tierItems(t, dir, levels[2])); n != 120 {
		t.Errorf("%d batches of 60 s, want 120: from 00:30 to 02:30", n)
	}
}

// The oldest of the finest tier goes first. What is asked of that time then
// comes from a coarser one, without a hole and without an overlap.
func TestFullRecordingKeepsCoarserTiers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "watch")
	tiered(t, Options{Dir: dir, Cap: 11 << 20}, 12)
	info, err := os.Stat(filepath.Join(dir, File))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", info.Size())
	fine := tierItems(t, dir, levels[0])
	if first := fine[0].At; first.Before(sunday.Add(90 * time.Minute)) {
		t.Fatalf("nothing was removed: the finest tier begins at %s", first)
	}
	last, step := time.Time{}, time.Duration(0)
	for _, item := range read(t, dir, ever, later) {
		if item.Batch == nil {
			continue
		}
		if !last.IsZero() {
			step = item.At.Sub(last)
			if step <= 0 || step > 10*time.Second {
				t.Fatalf("after %s comes %s", last, item.At)
			}
		}
		last = item.At
	}
	if step != time.Second {
		t.Errorf("at the end values are %s apart", step)
	}
}

func TestOldBlocksGoByTheirTier(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "watch")
	w := opened(t, Options{Dir: dir, Counter: isCounter})
	at := sunday
	for i := range 90 { // a minute each five hours, and then an hour
		w.Batch(one(at))
		w.Picture(at, &stack.Stack{TakenAt: at})
		at = at.Add(time.Minute)
		if i < 20 {
			at = at.Add(5*time.Hour - time.Minute)
		}
		calm(w)
	}
	closed(t, w)
	if first := tierItems(t, dir, levels[0])[0].At; at.Sub(first) > 50*time.Hour {
		t.Errorf("the finest tier still has %s, and now it is %s", first, at)
	}
	if first := tierItems(t, dir, levels[1])[1]; first.Batch == nil || !first.At.Equal(one(sunday).At) { // after its picture
		t.Errorf("the 10 s tier begins at %s", first.At)
	}
	r, err := OpenReader(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var schemas int
	if err := r.db.QueryRowContext(t.Context(), `SELECT count(*) FROM schema`).Scan(&schemas); err != nil || schemas != 3 {
		t.Errorf("%d schemas, want one each tier; %v", schemas, err)
	}
}

// TestATimeThatCameTwice: after the clock was set back the same time is rolled up again, beside what it was the first time.
func TestATimeThatCameTwice(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "watch")
	w := opened(t, Options{Dir: dir, Counter: isCounter})
	at := sunday
	run := func(minutes int) {
		for range minutes {
			w.Batch(one(at))
			calm(w)
			at = at.Add(time.Minute)
		}
	}
	run(180)
	at = at.Add(-time.Hour)
	run(180)
	closed(t, w)
	for _, l := range levels[1:] {
		times, twice := map[time.Time]int{}, 0
		for _, item := range tierItems(t, dir, l) {
			if times[item.At]++; times[item.At] == 2 {
				twice++
			}
		}
		if least := map[tier]int{tenSeconds: 60, minutes: 50}[l.tier]; twice < least || twice > 60 {
			t.Errorf("the tier of %d s has %d minutes twice, want %d to 60", l.tier, twice, least)
		}
	}
}

// TestAClockThatRanAhead: for less than an hour it makes nothing old, and when it is right again coarser tiers go on,
// and a pause is counted from what was written last.
func TestAClockThatRanAhead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "watch")
	at := sunday
	run := func(minutes int) {
		t.Helper()
		w := opened(t, Options{Dir: dir, Counter: isCounter, Now: func() time.Time { return at }})
		for range minutes {
			w.Batch(one(at))
			calm(w)
			at = at.Add(time.Minute)
		}
		closed(t, w)
	}
	run(120)
	at = sunday.AddDate(10, 0, 0)
	run(30)
	at = sunday.Add(2 * time.Hour)
	run(120)
	at = at.Add(time.Hour)
	run(1)
	if fine := tierItems(t, dir, levels[0]); len(fine) == 0 || !fine[0].At.Equal(one(sunday).At) {
		t.Errorf("of the finest tier %d are left, and nothing is two days old", len(fine))
	}
	for _, l := range levels[1:] {
		items := tierItems(t, dir, l)
		if len(items) == 0 {
			t.Fatalf("of the tier of %d s nothing is left", l.tier)
		}
		if last := items[len(items)-1].At; last.Before(sunday.Add(3 * time.Hour)) {
			t.Errorf("the tier of %d s ends at %s: the clock was right again at %s", l.tier, last, sunday.Add(2*time.Hour))
		}
	}
	lost := 0
	for _, item := range read(t, dir, ever, later) {
		if item.Lost != nil && item.Lost.Until.Sub(item.Lost.Since) < 62*time.Minute && item.Lost.Until.Equal(at.Add(-time.Minute)) {
			lost++
		}
	}
	if lost != 1 {
		t.Errorf("%d pauses of an hour before %s", lost, at.Add(-time.Minute))
	}
}

// TestTimeBeforeTheSecondsThatAreLeft is read from the coarser tier, also where a machine that booted without a clock
// left seconds of long ago.
func TestTimeBeforeTheSecondsThatAreLeft(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "watch")
	w := opened(t, Options{Dir: dir, Counter: isCounter})
	run := func(from time.Time, minutes int) {
		for i := range minutes {
			w.Batch(one(from.Add(time.Duration(i) * time.Minute)))
			calm(w)
		}
	}
	run(time.Unix(0, 0), 3)
	run(sunday, 55) // after an hour what is of long ago is removed
	closed(t, w)
	db, err := database(dir, url.Values{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), `DELETE FROM block WHERE tier = ? AND t0 >= ? AND t0 < ?`, seconds, sunday.UnixNano(), sunday.Add(30*time.Minute).UnixNano())
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	for _, span := range [][2]int{{10, 20}, {25, 35}, {35, 45}, {0, 50}} {
		times := map[time.Time]bool{}
		for _, item := range read(t, dir, sunday.Add(time.Duration(span[0])*time.Minute), sunday.Add(time.Duration(span[1])*time.Minute)) {
			if item.Batch != nil {
				times[item.At] = true
			}
		}
		if want := span[1] - span[0]; len(times) != want {
			t.Errorf("of minutes %d to %d, %d are there", span[0], span[1], len(times))
		}
	}
}

func TestMeanIsShortAndNear(t *testing.T) {
	for _, v := range []float64{0, 1.0 / 3, 12345.678, 1e12 / 7, -2e-9 / 3} {
		if got := shorter(v); math.Abs(got-v) > math.Abs(v)*1e-4 {
			t.Errorf("%v became %v", v, got)
		}
	}
}
