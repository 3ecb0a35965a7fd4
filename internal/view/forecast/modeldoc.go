package forecast

import "plumb/internal/view/page"

// ModelsJSON is version 1 of what forecast cache, load, zfs, volume, monitor and
// wear print with --json.
type ModelsJSON struct {
	Plumb     int         `json:"plumb"`
	Kind      string      `json:"kind"` // "forecast-model"
	Of        string      `json:"of"`   // the command: cache, load, zfs, volume, monitor or wear
	Forecasts []ModelJSON `json:"forecasts"`
}

// ModelJSON is one question to a model, and what it says.
type ModelJSON struct {
	About       string            `json:"about,omitempty"` // what was asked, where there is more than one question
	Model       string            `json:"model,omitempty"`
	Values      []ModelValueJSON  `json:"values"`
	Rivals      []ModelRivalJSON  `json:"rivals,omitempty"`
	Assumptions []string          `json:"assumptions,omitempty"` // what must be as it was
	Doubts      []string          `json:"doubts,omitempty"`
	Refusal     *ModelRefusalJSON `json:"refusal,omitempty"` // there is no forecast: why
}

// ModelValueJSON is a number with its range: docs/forecast.md says what that of each model is.
type ModelValueJSON struct {
	Name  string   `json:"name"`
	Unit  string   `json:"unit"` // "bytes", "per second", "seconds", "part" (of one), "USD a month", "date" (seconds since 1970), or "" for a count
	Value *float64 `json:"value"`
	Low   *float64 `json:"low"`  // null: not known
	High  *float64 `json:"high"` // null: not known
	How   string   `json:"how,omitempty"`
}

// ModelRivalJSON is a way to forecast the same.
type ModelRivalJSON struct {
	Name   string   `json:"name"`
	Value  *float64 `json:"value"`
	Error  *float64 `json:"error"`  // root mean square of its relative errors where it had to foretell what was measured; null: it was not tried
	Weight float64  `json:"weight"` // its part in the forecast
}

// ModelRefusalJSON says why there is no forecast.
type ModelRefusalJSON struct {
	Why     string `json:"why"`
	Measure string `json:"measure"` // what would permit one
}

// ModelDocument makes the document of what a model says.
func ModelDocument(of string, all []Asked) ModelsJSON {
	doc := ModelsJSON{Plumb: page.JSONVersion, Kind: "forecast-model", Of: of, Forecasts: []ModelJSON{}}
	for _, a := range all {
		j := ModelJSON{About: a.About, Model: a.Model, Values: []ModelValueJSON{}, Assumptions: a.Assumptions, Doubts: a.Warnings}
		for _, v := range a.Values {
			j.Values = append(j.Values, ModelValueJSON{v.Name, v.Unit, page.Known(v.Value), page.Known(v.Low), page.Known(v.High), v.How})
		}
		for _, r := range a.Rivals {
			j.Rivals = append(j.Rivals, ModelRivalJSON{r.Name, page.Known(r.Value), page.Known(r.Error), r.Weight})
		}
		if a.Refusal != nil {
			j.Refusal = &ModelRefusalJSON{a.Refusal.Why, a.Refusal.Measure}
		}
		doc.Forecasts = append(doc.Forecasts, j)
	}
	return doc
}
