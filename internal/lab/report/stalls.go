package report

import "plumb/internal/lab/experiment"

// manyStalls is the part of the seconds, in a thousand, from which on a server
// that stands still shows too rarely among the response times.
const manyStalls = 50

// HiddenStalls lists the arms that stood still so often that percentiles of
// their response time mislead: in a closed loop a client that waits asks for
// nothing meanwhile, so a stall of ten seconds is one slow response among
// thousands of fast ones.
func (r Report) HiddenStalls() (arms []string) {
	for i, a := range r.Arms {
		if a.Stalls >= manyStalls && i < len(r.Experiment.Arms) && closed(r.Experiment.Arms[i].Setup.Load) {
			arms = append(arms, a.Name)
		}
	}
	return arms
}

func closed(l experiment.Load) bool { return l.Rate == 0 }
