package deaths

import (
	"strings"
	"testing"

	"plumb/internal/protect"
	"plumb/internal/protect/prune"
)

// TestPruneByName: one point goes because a person names it, also the last proven one, and no other; not while it is needed.
func TestPruneByName(t *testing.T) {
	s := OnBtrfs(t)
	h, ctx := s.Alive(), t.Context()
	must(t, s.drill(false)(ctx, h)) // it is proven
	must(t, s.take(ctx, h))
	plan := func(id string) (goes int, why string, err error) {
		plans, err := h.Prune.Plan(ctx, h.Keeper.Do, prune.Options{Point: id})
		for _, p := range plans {
			goes += len(p.Going())
			why += strings.Join(p.Fates[0].Why, "; ")
		}
		return goes, why, err
	}
	must(t, s.hold(ctx, h))
	if _, _, err := plan(s.Point.ID); err == nil || !strings.Contains(err.Error(), "held by "+owner) {
		t.Errorf("while it is held: %v", err)
	}
	must(t, s.release(ctx, h))
	if goes, why, err := plan(s.Point.ID); err != nil || goes != 1 || !strings.Contains(why, "the last of standin:1 that is proven") {
		t.Errorf("%d go, as %s, %v", goes, why, err)
	}
	if _, _, err := plan("2099"); err == nil {
		t.Error("a point that is not there would go")
	}
	plans, err := h.Prune.Plan(ctx, h.Keeper.Do, prune.Options{Point: s.Point.ID})
	must(t, err)
	done, err := h.Prune.Carry(ctx, plans[0])
	must(t, err)
	if len(done) != 1 || !done[0].Gone || done[0].Point != s.Point.ID {
		t.Errorf("it came to %+v", done)
	}
	all, err := h.Keeper.Store.List(ctx, h.Keeper.Do)
	must(t, err)
	if len(all) != 1 || all[0].State != protect.Taken {
		t.Errorf("left: %+v", all)
	}
	must(t, h.Copies.There(ctx, all[0].Members))
}
