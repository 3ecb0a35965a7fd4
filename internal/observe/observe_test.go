package observe

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// sleeper takes a time to see one thing; when deaf it does not mind that its
// own time is over.
type sleeper struct {
	name  string
	takes time.Duration
	deaf  bool
	found *[]string // what it was shown, when it is done
}

func (p sleeper) Name() string { return p.name }

func (sleeper) Cost() Cost { return Cost{} }

func (p sleeper) Collect(ctx context.Context, _ host.Reader, seen *stack.Stack) (obs stack.Observation, err error) {
	obs.New("block", p.name+"-begun")
	if p.deaf {
		time.Sleep(p.takes)
	} else {
		select {
		case <-time.After(p.takes):
		case <-ctx.Done():
			return obs, ctx.Err()
		}
	}
	obs.New("block", p.name)
	for _, t := range seen.Things {
		*p.found = append(*p.found, t.Ref.Name)
	}
	return obs, nil
}

func TestHostDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late, second []string
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		began := time.Now()
		s := Host(ctx, hosttest.Map{},
			[]Probe{sleeper{"quick", time.Millisecond, false, new([]string)}, sleeper{"heeds", time.Hour, false, nil}, sleeper{"deaf", time.Hour, true, &late}},
			[]Probe{sleeper{"second", 5 * time.Second, false, &second}})
		if took := time.Since(began); took > 25*time.Second {
			t.Errorf("it took %s of 30 s", took)
		}
		for _, name := range []string{"quick", "heeds-begun", "second"} {
			if s.Find(stack.Ref{Kind: "block", Name: name}) == nil {
				t.Errorf("%s is missing", name)
			}
		}
		if s.Find(stack.Ref{Kind: "block", Name: "deaf-begun"}) != nil {
			t.Error("a probe that did not end shows something")
		}
		if !slices.Contains(second, "quick") {
			t.Errorf("the second phase was shown %v", second)
		}
		gap := slices.ContainsFunc(s.Gaps, func(g stack.Gap) bool {
			return g.Probe == "deaf" && strings.Contains(g.Why, "did not end in 15.5 s")
		})
		if !gap {
			t.Errorf("no gap says that deaf did not end: %+v", s.Gaps)
		}
		count := len(s.Things)
		time.Sleep(2 * time.Hour)
		if len(s.Things) != count || len(late) > 0 {
			t.Errorf("what was found too late came in: %v", late)
		}
	})
}

func TestEachKeepsTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		obs := Each([]int{3, 1, 2, 0, 5, 4}, func(n int) (s stack.Observation) {
			time.Sleep(time.Duration(10-n) * time.Second)
			s.Gap(stack.Ref{}, string(rune('a'+n)), "")
			return s
		})
		var got strings.Builder
		for _, g := range obs.Gaps {
			got.WriteString(g.Why)
		}
		if got.String() != "dbcafe" || time.Since(began) > 10*time.Second {
			t.Errorf("%s after %s", got.String(), time.Since(began))
		}
	})
}
