package forecast

import (
	"math"
	"time"

	"plumb/internal/forecast"
	"plumb/internal/forecast/space"
	"plumb/internal/view/page"
)

// ForecastSpaceJSON is version 1 of what forecast space --json prints.
type ForecastSpaceJSON struct {
	Plumb     int              `json:"plumb"`
	Kind      string           `json:"kind"` // "forecast-space"
	From      string           `json:"from"` // what it was read from: the file, "the recording" or "Prometheus"
	Forecasts []SpaceAheadJSON `json:"forecasts"`
}

// SpaceAheadJSON is the forecast of one thing.
type SpaceAheadJSON struct {
	Of          string             `json:"of"`             // the thing: "dataset:tank/db", or the name of the file
	Name        string             `json:"name"`           // of what it has: "used", "allocated", "space_binlog"
	Unit        string             `json:"unit"`           // "bytes"
	Last        *LastKnownJSON     `json:"last,omitempty"` // the last day that is known
	History     int                `json:"history_days"`   // that it rests on
	Unknown     int                `json:"unknown_days"`   // of these, of which nothing is known
	Refused     *RefusalJSON       `json:"refused,omitempty"`
	Date        string             `json:"date,omitempty"`        // that was asked for, "2027-02-23"
	Days        int                `json:"days"`                  // from the last known day to that date
	Quantiles   map[string]float64 `json:"quantiles,omitempty"`   // what is taken on that date, by per cent: "2.5", "10", "50", "90", "97.5"
	Fan         []AheadJSON        `json:"fan,omitempty"`         // the same for days until then
	Limit       *LimitJSON         `json:"limit,omitempty"`       // absent: none is known
	Full        *FullJSON          `json:"full,omitempty"`        // absent: no limit is known, or it is refused
	Slope       string             `json:"slope_since,omitempty"` // the day since when it is added at the present rate; absent: no change was noticed
	Assumptions []string           `json:"assumptions,omitempty"`
	Ways        []WayJSON          `json:"ways,omitempty"` // that it is mixed of, and naive ones it was compared with
}

// LastKnownJSON is the last day that is known.
type LastKnownJSON struct {
	Date  string  `json:"date"`
	Bytes float64 `json:"bytes"`
}

// AheadJSON is what is taken on one day.
type AheadJSON struct {
	Date      string             `json:"date"`
	Quantiles map[string]float64 `json:"quantiles"`
}

// RefusalJSON says why nothing is forecast.
type RefusalJSON struct {
	Why     string `json:"why"`
	Measure string `json:"measure"` // what would permit it
}

// LimitJSON is where it is full.
type LimitJSON struct {
	Bytes float64 `json:"bytes"`
	Why   string  `json:"why"`
}

// FullJSON says by when it is full.
type FullJSON struct {
	P10    string  `json:"p10,omitempty"` // the day by which it is full in 10 % of the futures; absent: not until the date
	P50    string  `json:"p50,omitempty"`
	P90    string  `json:"p90,omitempty"`
	Chance float64 `json:"chance"` // that it is full by the date, 0 to 1
}

// WayJSON is one way to forecast it, and how it did.
type WayJSON struct {
	Name      string             `json:"name"`
	Naive     bool               `json:"naive"`          // it has a part only where it was better than all others
	Weight    float64            `json:"weight"`         // its part in the forecast, 0 to 1
	Loss      *float64           `json:"loss,omitempty"` // mean pinball loss on earlier days, bytes; absent: the past is too short to judge it
	Quantiles map[string]float64 `json:"quantiles"`      // on the date, if it had been alone
}

var percents = [5]string{"2.5", "10", "50", "90", "97.5"}

func quantilesJSON(q forecast.Quantiles) map[string]float64 {
	m := map[string]float64{}
	for i, v := range q {
		m[percents[i]] = math.Round(page.Finite(v)) // bytes are whole
	}
	return m
}

// Document makes the document of forecasts.
func Document(all []space.Result, from string) ForecastSpaceJSON {
	doc := ForecastSpaceJSON{Plumb: page.JSONVersion, Kind: "forecast-space", From: from, Forecasts: []SpaceAheadJSON{}}
	for _, r := range all {
		doc.Forecasts = append(doc.Forecasts, oneJSON(r))
	}
	return doc
}

func oneJSON(r space.Result) SpaceAheadJSON {
	j := SpaceAheadJSON{Of: r.Quantity.Of, Name: r.Quantity.Name, Unit: r.Quantity.Unit, History: r.History, Unknown: r.Unknown, Days: r.Horizon, Assumptions: r.Assumptions}
	if n := len(r.Past); n > 0 {
		j.Last = &LastKnownJSON{day(r.Past[n-1].Date), r.Past[n-1].Value}
	}
	if r.Limit != nil {
		j.Limit = &LimitJSON{r.Limit.Bytes, r.Limit.Why}
	}
	if r.Refusal != nil {
		j.Refused = &RefusalJSON{r.Refusal.Why, r.Refusal.Measure}
		return j
	}
	for _, p := range r.Points {
		j.Fan = append(j.Fan, AheadJSON{day(p.Date), quantilesJSON(p.Value)})
	}
	last := j.Fan[len(j.Fan)-1]
	j.Date, j.Quantiles = last.Date, last.Quantiles
	if f := r.Full; f != nil {
		j.Full = &FullJSON{dayOf(f.Dates[0]), dayOf(f.Dates[1]), dayOf(f.Dates[2]), f.Chance}
	}
	j.Slope = dayOf(r.Slope)
	for _, v := range r.Rivals {
		j.Ways = append(j.Ways, WayJSON{v.Name, v.Naive, v.Weight, v.Loss, quantilesJSON(v.Values)})
	}
	return j
}

func day(at time.Time) string { return at.Format(time.DateOnly) }

func dayOf(at *time.Time) string {
	if at == nil {
		return ""
	}
	return day(*at)
}
