package keep

import (
	"fmt"
	"slices"
	"time"

	"plumb/internal/units"
)

// yearOff is how long nothing can have been taken before the clock is doubted.
const yearOff = 365 * 24 * time.Hour

// daily is how many may go whatever part of all they are: with few points a new one that is
// proven takes the place of the newest and of the last proven one.
const daily = 2

// brake says why the plan had better not be carried out.
func (p *Plan) brake(now time.Time, o Options) {
	var counted []Fate
	var ids []string // of those that go
	for _, f := range p.Fates {
		if !f.counts {
			continue
		}
		counted = append(counted, f)
		if f.Goes {
			ids = append(ids, f.Point.ID)
		}
	}
	going := len(ids)
	if going == 0 {
		return // what was begun is finished in any case
	}
	stop := func(hint, format string, args ...any) {
		p.Brakes = append(p.Brakes, Brake{Why: fmt.Sprintf(format, args...), Hint: hint})
	}
	words := p.words
	agreed := o.AllRight == going || !slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(o.agreed, id) })
	if agreed {
		p.agreed = ids
	}
	all := fmt.Sprintf("if that is all right, add --all-right %d", going)
	if why := jumped(now, counted, words.Thing); why != "" {
		stop(fmt.Sprintf("set the clock right, or %s the %ss with a wrong time by name", words.Remove, words.Thing), "a clock jumped: %s", why)
	} else if newest := At(counted[len(counted)-1].Point); now.Sub(newest) > yearOff && !agreed {
		stop("check whether the clock is right; "+all, "nothing was taken for more than a year, or the clock is ahead: the newest %s is from %s",
			words.Thing, units.Moment(newest))
	}
	if going > daily && going*4 > len(counted) && !agreed {
		stop(all, "%s of %d would go, which is more than a quarter", units.Count(going, words.Thing), len(counted))
	}
	if p.endsProven() {
		stop(words.Prove+", or keep it with verified=1", "the last proven %s would go", words.Thing)
	}
}
