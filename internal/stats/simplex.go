package stats

import (
	"math"
	"slices"
)

// simplex finds a minimum near x by the method of J. A. Nelder and R. Mead
// (1965), for the one or two dimensions that are needed here. It does not
// change x.
func simplex(cost func([]float64) float64, x []float64) []float64 {
	const size, steps, enough = 0.3, 300, 1e-6
	type corner struct {
		x    []float64
		cost float64
	}
	corners := []corner{{slices.Clone(x), cost(x)}}
	for i := range x {
		y := slices.Clone(x)
		y[i] += size
		corners = append(corners, corner{y, cost(y)})
	}
	n := len(x)
	// along goes from the worst corner through the middle of the others.
	along := func(t float64) corner {
		y := make([]float64, n)
		for i := range y {
			for _, c := range corners[:n] {
				y[i] += c.x[i] / float64(n)
			}
			y[i] += t * (y[i] - corners[n].x[i])
		}
		return corner{y, cost(y)}
	}
	for range steps {
		slices.SortFunc(corners, func(a, b corner) int {
			switch {
			case a.cost < b.cost:
				return -1
			case a.cost > b.cost:
				return 1
			}
			return 0
		})
		if spread(corners[0].x, corners[n].x) < enough {
			break
		}
		next := along(1)
		switch {
		case next.cost < corners[0].cost:
			if further := along(2); further.cost < next.cost {
				next = further
			}
		case next.cost >= corners[n-1].cost:
			if next = along(-0.5); next.cost >= corners[n].cost {
				for i := range corners[1:] {
					c := &corners[i+1]
					for j := range c.x {
						c.x[j] = (c.x[j] + corners[0].x[j]) / 2
					}
					c.cost = cost(c.x)
				}
				continue
			}
		}
		corners[n] = next
	}
	return corners[0].x
}

// spread is the largest difference in any dimension.
func spread(a, b []float64) (d float64) {
	for i := range a {
		d = max(d, math.Abs(a[i]-b[i]))
	}
	return d
}
