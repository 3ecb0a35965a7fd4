package deaths

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"plumb/internal/hint"
	"plumb/internal/load"
	"plumb/internal/protect"
	"plumb/internal/protect/drill"
)

// endless is a server whose checks come to no end.
type endless struct{ Engine }

// Check implements protect.Starter.
func (endless) Check(ctx context.Context, _ load.Admin, _ protect.Copy, _ bool) ([]protect.Check, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestDrillOutOfTime: a drill that ends before it knows says nothing of the point, which stays proven.
func TestDrillOutOfTime(t *testing.T) {
	s := OnBtrfs(t)
	h := s.Alive()
	must(t, s.drill(false)(t.Context(), h))
	before, err := s.point(t.Context(), h)
	must(t, err)
	list := sh(t, s.List)
	if before.Label != protect.Proven {
		t.Fatalf("it is %s", before.Label)
	}
	h.Keeper.Engines = []protect.Engine{endless{Engine{s.Plan.Server}}}
	for what, c := range map[string]struct {
		limit      time.Duration
		want, help string
	}{
		"its time is over":  {5 * time.Second, "the drill shows nothing about the point: its limit of 5 s is over", "--max-time"},
		"nobody waits more": {time.Hour, "the drill shows nothing about the point: context canceled", ""},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		doing := func(is string) {
			if is == "checking" && c.help == "" {
				cancel()
			}
		}
		_, err = drill.Drill{Maker: h.Copies, Memory: 256 << 20, Limit: c.limit, Doing: doing}.Run(ctx, before)
		cancel()
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(hint.Of(err), c.help) {
			t.Errorf("%s: error %v, hint %q; want %q", what, err, hint.Of(err), c.want)
		}
		if now, err := s.point(t.Context(), h); err != nil || !reflect.DeepEqual(now, before) {
			t.Errorf("%s: it is written now %+v, %v, and was %+v", what, now, err, before)
		}
		if now := sh(t, s.List); now != list {
			t.Errorf("%s: left\n%s", what, now)
		}
	}
}
