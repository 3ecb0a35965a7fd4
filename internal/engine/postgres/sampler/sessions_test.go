package sampler

import (
	"testing"

	"plumb/internal/host"
)

// TestTheOldestTransaction: one that began in the future is no reason to say that there is none.
func TestTheOldestTransaction(t *testing.T) {
	for want, ages := range map[float64][]string{0: {"", ""}, 12: {"3", "12", "", "-3600"}, -3600: {"-7200", "", "-3600"}} {
		var groups host.Rows
		for _, age := range ages {
			row := make([]*string, 6)
			for i, cell := range []string{"idle in transaction", "Client", "ClientRead", "1", age, "0"} {
				if cell != "" {
					row[i] = &cell
				}
			}
			groups.Values = append(groups.Values, row)
		}
		if got := addUp(groups); got.oldest != want || got.open != float64(len(ages)) {
			t.Errorf("%q: %+v", ages, got)
		}
	}
}

// TestOurSessionsTakeSlots: what Plumb does is not what clients do, but a slot that it has is
// taken, and without it a server that is full would never look so.
func TestOurSessionsTakeSlots(t *testing.T) {
	var groups host.Rows
	for _, cells := range [][]string{{"active", "", "", "95", "0", "0", "f"}, {"idle in transaction", "Client", "ClientRead", "1", "2", "0", "f"}, {"active", "", "", "2", "9", "0", "t"}} {
		row := make([]*string, len(cells))
		for i := range cells {
			row[i] = &cells[i]
		}
		groups.Values = append(groups.Values, row)
	}
	if got := addUp(groups); got.connected != 98 || got.active != 95 || got.open != 1 || got.oldest != 2 {
		t.Errorf("%+v", got)
	}
}
