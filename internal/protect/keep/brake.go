package keep

import (
	"fmt"
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
	var counted, going int
	var dated []Fate
	for _, f := range p.Fates {
		if !f.counts {
			continue
		}
		counted++
		dated = append(dated, f)
		if f.Goes {
			going++
		}
	}
	if going == 0 {
		return // what was begun is finished in any case
	}
	stop := func(hint, format string, args ...any) {
		p.Brakes = append(p.Brakes, Brake{Why: fmt.Sprintf(format, args...), Hint: hint})
	}
	agreed, words := o.AllRight == going, p.words
	all := fmt.Sprintf("if that is all right, say --all-right %d", going)
	if why := jumped(now, dated, words.Thing); why != "" {
		stop(fmt.Sprintf("set the clock right, or %s the %ss with a wrong time by name", words.Remove, words.Thing), "a clock jumped: %s", why)
	} else if newest := At(dated[len(dated)-1].Point); now.Sub(newest) > yearOff && !agreed {
		stop("look whether the clock is right; "+all, "nothing was taken for more than a year, or the clock is ahead: the newest %s is of %s",
			words.Thing, newest.Format(time.DateTime))
	}
	if going > daily && going*4 > counted && !agreed {
		stop(all, "%s of %d would go, which is more than a quarter", units.Count(going, words.Thing), counted)
	}
	if p.endsProven() {
		stop(words.Prove+", or keep it with verified=1", "the last proven %s would go", words.Thing)
	}
}
