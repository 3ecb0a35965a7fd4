package forecast

import (
	"fmt"

	"plumb/internal/forecast"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// ForecastScoreJSON is version 1 of what forecast score --json prints.
type ForecastScoreJSON struct {
	Plumb     int                  `json:"plumb"`
	Kind      string               `json:"kind"` // "forecast-score"
	From      string               `json:"from"`
	Scores    []ForecastJudgedJSON `json:"scores"`
	Unmatched int                  `json:"unmatched"` // things of which forecasts are kept, and of which the source tells nothing
}

// ForecastJudgedJSON says how the forecasts of one thing did.
type ForecastJudgedJSON struct {
	Of        string   `json:"of"`
	Name      string   `json:"name"`
	Forecasts int      `json:"forecasts"` // forecasts of which a day has come: the days of one are not independent
	Judged    int      `json:"judged"`    // days that have come, of all its forecasts
	Waiting   int      `json:"waiting"`   // days that are still to come
	Unknown   int      `json:"unknown"`   // days that have come, and of which nothing is known
	In80      int      `json:"in_80"`     // of those judged, within the 80 % interval
	In95      int      `json:"in_95"`
	Loss      *float64 `json:"loss,omitempty"` // mean pinball loss, bytes; absent: nothing is judged
}

// ScoreDocument makes the document of scores.
func ScoreDocument(all []forecast.Score, unmatched int, from string) ForecastScoreJSON {
	doc := ForecastScoreJSON{Plumb: page.JSONVersion, Kind: "forecast-score", From: from, Scores: []ForecastJudgedJSON{}, Unmatched: unmatched}
	for _, s := range all {
		j := ForecastJudgedJSON{Of: s.Quantity.Of, Name: s.Quantity.Name, Forecasts: s.Forecasts, Judged: s.Judged, Waiting: s.Waiting, Unknown: s.Unknown, In80: s.In80, In95: s.In95}
		if s.Judged > 0 {
			j.Loss = new(page.Finite(s.Loss))
		}
		doc.Scores = append(doc.Scores, j)
	}
	return doc
}

// ScoreText writes scores for people.
func ScoreText(all []forecast.Score, unmatched int, from string, screen page.Screen) string {
	p := page.NewPage(screen)
	p.Para(page.Normal, 0, "Forecasts that were kept, judged by "+from+".")
	for _, s := range all {
		p.Blank()
		p.Line(page.Bold, s.Quantity.Of+"  "+s.Quantity.Name)
		p.Para(page.Normal, 2, scoreWords(s))
	}
	if len(all) == 0 {
		p.Blank()
		p.Para(page.Normal, 0, "None of them is about something in this source.")
	}
	if unmatched > 0 {
		p.Blank()
		p.Para(page.Dim, 0, fmt.Sprintf("There are forecasts of %s, but %s has nothing about them.", units.Count(unmatched, "other thing"), from))
	}
	return p.String()
}

func scoreWords(s forecast.Score) string {
	waiting := fmt.Sprintf("%s still to come", units.Count(s.Waiting, "day"))
	if s.Unknown > 0 {
		waiting += fmt.Sprintf(", %s not known", units.Count(s.Unknown, "day"))
	}
	if s.Judged == 0 {
		return "nothing can be judged yet: " + waiting
	}
	return fmt.Sprintf("%s of %s judged: %.0f %% within the 80 %% interval, %.0f %% within the 95 %% interval; mean pinball loss %s; %s", units.Count(s.Judged, "day"), units.Count(s.Forecasts, "forecast"),
		100*float64(s.In80)/float64(s.Judged), 100*float64(s.In95)/float64(s.Judged), units.Measured(s.Loss), waiting)
}
