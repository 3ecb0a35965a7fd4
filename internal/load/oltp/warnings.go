package oltp

import (
	"fmt"
	"slices"

	"plumb/internal/draw"
	"plumb/internal/units"
)

// rowBytes is about what a row takes in a table, with its key and its part of
// the index on k.
const rowBytes = 230

// Warnings say in sentences what a reader must know about these options: how
// small a part of the rows is hit with them.
func (c Config) Warnings() []string {
	dist, err := draw.Named(c.RandType, c.Shape)
	if err != nil || c.RandType == "uniform" || c.TableSize < 100 {
		return nil
	}
	hot, never := skew(dist)
	size := float64(c.TableSize) * float64(c.Tables) * rowBytes
	text := fmt.Sprintf("rand-type %s: three of four reads and writes go to %s %% of the rows, about %s of %s", c.RandType, units.PercentDigits(hot), units.Measured(hot*size), units.Measured(size))
	if never > 0.05 {
		text += fmt.Sprintf("; %.0f %% of the rows are practically never touched", 100*never)
	}
	if !c.Shape.Scramble {
		text += "; hot rows are neighbours and share pages"
	}
	return []string{text + ". A buffer pool that contains these makes a large table look like a small one, and writers wait for each other."}
}

// skew draws from a distribution and gives which part of the keys takes three
// of four draws, and which part is practically never drawn.
func skew(d draw.Distribution) (hot, never float64) {
	const keys, draws = 20_000, 400_000
	hits := make([]int, keys)
	for i := range int64(draws) {
		s := draw.Keyed(1, 0, i)
		hits[d.Draw(&s, 0, keys-1)]++
	}
	slices.Sort(hits)
	sum, zero := 0, 0
	for i := keys - 1; i >= 0; i-- {
		if sum < draws*3/4 {
			sum += hits[i]
			hot++
		}
		if hits[i] == 0 {
			zero++
		}
	}
	return hot / keys, float64(zero) / keys
}
