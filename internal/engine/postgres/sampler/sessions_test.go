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
