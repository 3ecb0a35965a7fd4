package stats

import "fmt"

// Period is a stretch of a run in which one of two arms was in force.
type Period struct {
	A      bool      // otherwise B
	Values []float64 // one for each second, all above zero
}

// quadruple is the unit of a run that is switched there and back.
const quadruple = 4

// Switched gives what a run shows that was switched between two arms in the
// order A B B A or B A A B, again and again, for [Compare]. In each quadruple
// the middles of both arms coincide, so that a steady drift falls out of their
// difference; one order after the other takes out what is left of a bend.
//
// A period counts as one value, its mean, since its seconds depend on one
// another, and a quadruple as one pair: its number is the block. Quadruples in
// another order would mix the drift with the effect; they and periods without
// values are left out with a warning.
func Switched(periods []Period) (pairs []Paired, warnings []string) {
	for from := 0; from+quadruple <= len(periods); from += quadruple {
		p := periods[from : from+quadruple]
		number := from/quadruple + 1
		if p[0].A != p[3].A || p[1].A != p[2].A || p[0].A == p[1].A {
			warnings = append(warnings, fmt.Sprintf("quadruple %d is in neither of the orders A B B A and B A A B", number))
			continue
		}
		var sums [2]float64
		whole := true
		for _, one := range p {
			x := numbers(one.Values)
			whole = whole && len(x) > 0
			mean, _ := moments(x)
			if one.A {
				sums[0] += mean / 2
			} else {
				sums[1] += mean / 2
			}
		}
		if !whole {
			warnings = append(warnings, fmt.Sprintf("quadruple %d has a period without values", number))
			continue
		}
		pairs = append(pairs, Paired{Block: number, A: sums[0], B: sums[1]})
	}
	if rest := len(periods) % quadruple; rest > 0 {
		warnings = append(warnings, fmt.Sprintf("%s at the end make no quadruple", count(rest, "period")))
	}
	return pairs, warnings
}
