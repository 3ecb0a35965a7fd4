package forecast

// mostFall is to which part of itself nothing falls, or from which it rises, that was read, and read in one unit.
const mostFall = 1e-6

// Of failed readings there are few. What falls to almost nothing and comes back more often than this, or is almost nothing
// most of the time, is a thing that is emptied and filled again, and all its readings are right.
const (
	mostFalls  = 20 // readings of which one may fall and come back
	mostFailed = 4  // readings of which one may have failed
)

// Sound is a series without the readings that failed.
type Sound struct {
	Series
	Failed   []Day // left out: almost nothing, between readings that are not
	From, To Day   // the last two readings of which one is almost nothing beside the other, for good; of no date: there are none
}

// Sound leaves out readings that failed: an exporter that answers before the disk is mounted tells of 0 bytes, and on the
// next day of as many as ever. What is emptied, or read in another unit from then on, does not come back; what was
// before that is the past of another thing, and so is what was before there was anything.
func (s Series) Sound() Sound {
	out, falls := Sound{Series: Series{Quantity: s.Quantity}}, 0
	for i := 0; i < len(s.Days); {
		if len(out.Days) == 0 {
			out.Days, i = append(out.Days, s.Days[i]), i+1
			continue
		}
		last, back := out.Last(), i
		for back < len(s.Days) && s.Days[back].Value < mostFall*last.Value {
			back++
		}
		if back > i && back < len(s.Days) && s.Days[back].Value >= last.Value/2 {
			out.Failed, falls, i = append(out.Failed, s.Days[i:back]...), falls+1, back
			continue
		}
		if back > i || last.Value < mostFall*s.Days[i].Value {
			out.From, out.To = last, s.Days[i]
		}
		out.Days, i = append(out.Days, s.Days[i]), i+1
	}
	if falls > max(1, len(s.Days)/mostFalls) || len(out.Failed) > max(1, len(s.Days)/mostFailed) {
		return Sound{Series: s}
	}
	return out
}
