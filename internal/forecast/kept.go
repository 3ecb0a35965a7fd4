package forecast

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"plumb/internal/hint"
)

// Kept is a forecast as it is kept until its days come.
type Kept struct {
	Version  int       `json:"plumb"` // keptVersion
	Quantity Quantity  `json:"quantity"`
	Made     time.Time `json:"made"`
	Points   []Point   `json:"points"`
}

// keptVersion is the form in which forecasts are kept.
const keptVersion = 1

// MostKept is how many forecasts one run keeps at most.
const MostKept = 2000

const mostKeptPoints = 100

// Keep makes what is kept of a forecast; nothing of one that is refused.
func (f Forecast) Keep() (k Kept, kept bool) {
	return Kept{keptVersion, f.Quantity, f.Made, f.Points}, f.Refusal == nil && len(f.Points) > 0
}

// ParseKept reads what one run kept.
func ParseKept(text []byte) ([]Kept, error) {
	var all []Kept
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, hint.With(errors.New("these are not forecasts, or only a part of them"), "remove the file: the others are judged without it")
	}
	if len(all) > MostKept {
		return nil, fmt.Errorf("it has %d forecasts, and no run makes more than %d", len(all), MostKept)
	}
	for _, k := range all {
		if k.Version > keptVersion {
			return nil, hint.Newer("they are forecasts", k.Version, keptVersion)
		}
		if len(k.Points) > mostKeptPoints {
			return nil, fmt.Errorf("a forecast has %d days, and none has more than %d", len(k.Points), mostKeptPoints)
		}
	}
	return all, nil
}

// Score says how forecasts of a quantity did until now.
type Score struct {
	Quantity  Quantity
	Forecasts int     // forecasts of which a day has come, and is known
	Judged    int     // those days, of all forecasts together
	Waiting   int     // days that are still to come
	Unknown   int     // days that have come, and of which nothing is known
	In80      int     // of those judged, within the interval from the 10 to the 90 % quantile
	In95      int     // the same from 2.5 to 97.5 %
	Loss      float64 // mean pinball loss, in the quantity's unit
}

// ScoreOf judges forecasts of one quantity by what came. Days that nobody knows are not
// judged: unknown is neither right nor wrong.
func ScoreOf(kept []Kept, s Series) Score {
	sc := Score{Quantity: s.Quantity}
	came := map[time.Time]float64{}
	for _, d := range s.Days {
		came[d.Date] = d.Value
	}
	for _, k := range kept {
		before := sc.Judged
		for _, p := range k.Points {
			v, known := came[p.Date.UTC().Truncate(24*time.Hour)]
			switch {
			case known:
				sc.take(p.Value, v)
			case len(s.Days) > 0 && p.Date.Before(s.Last().Date):
				sc.Unknown++
			default:
				sc.Waiting++
			}
		}
		if sc.Judged > before {
			sc.Forecasts++
		}
	}
	if sc.Judged > 0 {
		sc.Loss /= float64(sc.Judged)
	}
	return sc
}

func (sc *Score) take(q Quantiles, v float64) {
	sc.Judged++
	if q[1] <= v && v <= q[3] {
		sc.In80++
	}
	if q[0] <= v && v <= q[4] {
		sc.In95++
	}
	sc.Loss += Pinball(q, v)
}
