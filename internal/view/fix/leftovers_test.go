package fix

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plumb/internal/change"
	"plumb/internal/inventory"
)

func TestLeftovers(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	one := func(n int, s change.State) *change.Change {
		return &change.Change{Number: n, At: at, Acts: []change.Recorded{{State: s}}}
	}
	tried, overdue, confirmed := one(3, change.Done), one(4, change.Done), one(5, change.Done)
	tried.Try, overdue.Try, confirmed.Try = at.Add(time.Hour), at.Add(time.Minute), at.Add(time.Hour)
	confirmed.Confirmed = true
	things := []inventory.Thing{{Kind: inventory.Tree, Name: "/var/tmp/lab"}}
	lives := inventory.Thing{Kind: inventory.Dataset, Name: "tank/before", Life: &inventory.Life{Owner: "test", Since: at}}
	got := Leftovers([]*change.Change{
		one(1, change.Undone), one(2, change.Done), tried, overdue, confirmed, one(6, change.Begun), one(7, change.Left),
		{Number: 8, Damage: errors.New("read it: damaged")}, {Number: 9},
	}, []inventory.Left{{Run: "dead", Things: things}, {Run: "alive", Live: true}, {Run: "swept"}, {Run: "kept", Living: []inventory.Entry{{Thing: lives}}}},
		errors.New("read a.book: damaged"), at.Add(30*time.Minute))
	want := []Leftover{
		{"change 2 of 2026-01-02 03:04 UTC is in force: plumb undo 2", false},
		{"change 3 of 2026-01-02 03:04 UTC is on trial until 2026-01-02 04:04:00 UTC: plumb confirm 3, or plumb undo 3", true},
		{"change 4 of 2026-01-02 03:04 UTC is in force: plumb undo 4", false},
		{"change 5 of 2026-01-02 03:04 UTC is in force: plumb undo 5", false},
		{"change 6 of 2026-01-02 03:04 UTC is in force: plumb undo 6", false},
		{"change 8 may be in force: read it: damaged", false},
		{"lab dead left 1 thing: plumb lab sweep", false},
		{"lab alive is still running, with 0 things: let it end, or interrupt it", true},
		{"dataset tank/before is to be kept: plumb inventory remove dataset tank/before, or plumb inventory forget dataset tank/before", false},
		{"read a.book: damaged", false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
