package sampler

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/watch"
)

// made is a source that a test makes: nothing on a machine hangs on demand.
type made struct {
	name string
	take func(ctx context.Context) (series.Batch, error)
}

func (m made) Name() string         { return m.name }
func (m made) Every() time.Duration { return time.Second }
func (m made) Take(ctx context.Context, _ host.Reader) (series.Batch, error) {
	return m.take(ctx)
}

type found []sample.Source

func (f found) Sources(*stack.Stack) []sample.Source { return f }

// kept is a sink that keeps what it is given, and may be slow.
type kept struct {
	mu       sync.Mutex
	pictures int
	batches  []series.Batch
	slow     chan struct{}
}

func (k *kept) Picture(time.Time, *stack.Stack) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pictures++
}

func (k *kept) Batch(b series.Batch) {
	if k.slow != nil {
		<-k.slow
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.batches = append(k.batches, b)
}

// of gives the batches of one source.
func (k *kept) of(name string) (out []series.Batch) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, b := range k.batches {
		if b.Source == name {
			out = append(out, b)
		}
	}
	return out
}

func runFor(t *testing.T, d time.Duration, sources []sample.Source, sinks ...watch.Sink) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	live := host.NewLive(host.LiveOptions{})
	defer live.Close()
	err := Run(ctx, Options{Host: live, Finders: []sample.Finder{found(sources)},
		Look: func(context.Context) (*stack.Stack, error) { return &stack.Stack{}, nil }}, sinks...)
	if err != nil {
		t.Fatal(err)
	}
}

func good(ctx context.Context) (series.Batch, error) {
	var b series.Batch
	b.Set(stack.Ref{Kind: "host", Name: "host"}, "tasks_running", 1)
	return b, nil
}

// TestOneSourceHoldsUpNoOther has sources that hang, obey their deadline, fail
// and panic beside one that works.
func TestOneSourceHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		forever := make(chan struct{})
		defer close(forever)
		k := &kept{}
		runFor(t, 4500*time.Millisecond, []sample.Source{
			made{"works", good},
			made{"hangs", func(context.Context) (series.Batch, error) { <-forever; return good(context.Background()) }},
			made{"obeys", func(ctx context.Context) (series.Batch, error) { <-ctx.Done(); return series.Batch{}, ctx.Err() }},
			made{"fails", func(ctx context.Context) (series.Batch, error) {
				b, _ := good(ctx)
				return b, errors.New("no such file")
			}},
			made{"panics", func(context.Context) (series.Batch, error) { panic("of its own") }},
		}, k)
		if n := len(k.of("works")); n < 3 {
			t.Errorf("the source that works was heard %d times in 4.5 s", n)
		}
		for name, why := range map[string]string{"hangs": "no answer", "obeys": "no answer within", "fails": "no such file", "panics": "a mistake in Plumb"} {
			all := k.of(name)
			if len(all) < 2 {
				t.Errorf("%s was heard %d times", name, len(all))
			}
			for _, b := range all {
				if len(b.Gaps) != 1 || !strings.Contains(b.Gaps[0].Why, why) || (len(b.Readings) > 0) != (name == "fails") {
					t.Errorf("%s gave %+v", name, b)
				}
			}
		}
		for i := 1; i < len(k.batches); i++ {
			if k.batches[i].At.Before(k.batches[i-1].At) {
				t.Errorf("batch %d is of before batch %d", i, i-1)
			}
		}
		for _, b := range k.of("works") {
			if into := b.At.Sub(b.At.Truncate(time.Second)); into > 700*time.Millisecond {
				t.Errorf("taken %s into its second", into)
			}
		}
	})
}

func TestASlowSinkLosesAndIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fast, slow := &kept{}, &kept{slow: make(chan struct{})}
		f := newFan([]watch.Sink{fast, slow})
		for range 2 * waiting {
			b, _ := good(t.Context())
			b.Source = "much"
			f.batch(b)
			time.Sleep(100 * time.Microsecond)
		}
		close(slow.slow)
		for len(slow.of("much")) < waiting {
			time.Sleep(time.Millisecond)
		}
		b, _ := good(t.Context())
		f.batch(b)
		f.close()
		if n := len(fast.of("much")); n != 2*waiting {
			t.Errorf("the other sink was given %d of %d", n, 2*waiting)
		}
		if n := len(slow.of("much")); n > waiting+1 {
			t.Errorf("a queue of %d held %d", waiting, n)
		}
		if told := slow.of("sampler"); len(told) != 1 || !strings.Contains(told[0].Gaps[0].Why, "much") {
			t.Errorf("what was left out is said as %+v", told)
		}
	})
}

// TestSourcesComeAndGo has a finder that finds other sources in each picture.
func TestSourcesComeAndGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := &kept{}
		r := &run{out: newFan([]watch.Sink{k}), running: map[string]context.CancelFunc{}}
		ctx, cancel := context.WithCancel(t.Context())
		for _, names := range [][]string{{"a", "b"}, {"b", "c"}, {}} {
			var sources found
			for _, n := range names {
				sources = append(sources, made{n, good})
			}
			r.Finders = []sample.Finder{sources, sources} // found twice, run once
			r.adapt(ctx, &stack.Stack{})
			if len(r.running) != len(names) {
				t.Errorf("%d sources run, want %q", len(r.running), names)
			}
			time.Sleep(2200 * time.Millisecond)
		}
		n := len(k.of("a")) + len(k.of("b")) + len(k.of("c"))
		time.Sleep(1200 * time.Millisecond)
		if again := len(k.of("a")) + len(k.of("b")) + len(k.of("c")); again != n {
			t.Errorf("%d batches came of sources that were ended", again-n)
		}
		if a, b, c := len(k.of("a")), len(k.of("b")), len(k.of("c")); a == 0 || a > 3 || b < 3 || b > 5 || c == 0 || c > 3 {
			t.Errorf("a was heard %d times, b %d, c %d", a, b, c)
		}
		cancel()
		r.all.Wait()
		r.out.close()
	})
}

func TestNextIsNotMadeUpFor(t *testing.T) {
	at := time.Date(2026, 11, 25, 3, 12, 0, 0, time.UTC)
	for late, want := range map[time.Duration]time.Duration{0: time.Second, 900 * time.Millisecond: time.Second, 1100 * time.Millisecond: 2 * time.Second, time.Hour + time.Millisecond: time.Hour + time.Second} {
		if got := next(at, at.Add(late), time.Second).Sub(at); got != want {
			t.Errorf("%s late: next after %s, want %s", late, got, want)
		}
	}
}

// TestNobodyPassesForPlumb: a client that begins a text as ours are marked hides
// nothing by it, and ours are marked once.
func TestNobodyPassesForPlumb(t *testing.T) {
	r := run{Options: Options{Own: func(text string) bool { return text == "SELECT 1" }}}
	all := []series.Statement{{Text: "SELECT 1"}, {Text: series.OwnMark + "SELECT 1"}, {Text: series.OwnMark + series.OwnMark + "SELECT sleep(?)"}, {Text: series.OwnMark}}
	r.markOwn(all)
	for i, want := range []string{series.OwnMark + "SELECT 1", series.OwnMark + "SELECT 1", "SELECT sleep(?)", ""} {
		if all[i].Text != want {
			t.Errorf("%q, want %q", all[i].Text, want)
		}
	}
	r.Own = nil // nobody knows
	if r.markOwn(all); all[0].Own() {
		t.Error("a statement is ours, and nobody knows")
	}
}
