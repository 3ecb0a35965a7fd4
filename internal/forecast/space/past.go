package space

const week = 7

// past is what is known at some day: what each day until then added.
type past struct {
	added  []float64
	level  []float64 // level[i] is the sum of the first i days; one longer than added
	regime []int     // regime[i]: where the regime began, as it was known after i days
	trends [][]trend // of each kind: [i] is what was valid after i times trendsEach() days, the last one what is valid after all
	all    int       // days of which the trends were made
	each   int       // days between readings: of those between two of them only the sum is known
	cycle  int       // after how many days days are alike, or read
	unsure float64   // how far off the rate may be that is known, as the deviation of its logarithm
}

// newPast makes it of what each day added, where each so many days it was read.
func newPast(added []float64, each int) *past {
	p := &past{added: added, level: make([]float64, len(added)+1), regime: regimes(added, each), all: len(added), each: each}
	for i, v := range added {
		p.level[i+1] = p.level[i] + v
	}
	p.trends, p.cycle, p.unsure = newTrends(p.level, p.trendsEach()), cycleOf(added, each), rateError(p.level)
	return p
}

// until is what was known after n days. Nothing of what came later is in it.
func (p *past) until(n int) *past {
	return &past{p.added[:n], p.level[:n+1], p.regime[:n+1], p.trends, p.all, p.each, cycleOf(p.added[:n], p.each), rateError(p.level[:n+1])}
}

// whole is the least number of days, at least so many, that are whole readings.
func (p *past) whole(least int) int { return p.each * ((least + p.each - 1) / p.each) }

// stretchUsual is what is drawn where a way has too little of the past.
var stretchUsual = stretch(90, 30)
