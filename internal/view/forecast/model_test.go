package forecast

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"plumb/internal/forecast"
	"plumb/internal/forecast/model"
	"plumb/internal/stats"
	"plumb/internal/view/page"
	"plumb/internal/view/viewtest"
)

// everything is a made answer that has all that one can have.
func everything() []Asked {
	full := model.Result{
		Model: "made",
		Values: []model.Value{
			{Name: "rate", Unit: model.PerSecond, Estimate: stats.Estimate{Value: 4168, Low: 3800, High: 4600}, How: "from four sizes"},
			{Name: "memory", Unit: model.Bytes, Estimate: stats.Estimate{Value: 6 << 30, Low: 3 << 30, High: 6 << 30}},
			{Name: "misses", Unit: model.Part, Estimate: stats.Estimate{Value: 0.05, Low: 0.03, High: 0.07}},
			{Name: "response", Unit: model.Seconds, Estimate: stats.Estimate{Value: 0.0021, Low: 0.0019, High: 0.0023}},
			{Name: "used_up", Unit: model.Date, Estimate: stats.Estimate{Value: 1893456000, Low: 1861920000, High: math.Inf(1)}},
			{Name: "price", Unit: model.Dollars, Estimate: stats.Estimate{Value: 1572.445, Low: 80, High: 2000}},
			{Name: "cores", Estimate: stats.Estimate{Value: 20, Low: 4, High: 84}},
			{Name: "series", Estimate: stats.Estimate{Value: 2e6, Low: 2e6, High: 2e6}},
		},
		Assumptions: []string{"nothing changes"},
		Rivals: []model.Rival{
			{Name: "a model", Value: 4100, Error: 0.05, Weight: 0.6},
			{Name: "a line", Value: 4200, Error: 0.06, Weight: 0.4},
			{Name: "a guess", Value: 9000, Error: math.NaN()},
		},
		Warnings: []string{"four sizes are few"},
	}
	not := model.Result{Refusal: &forecast.Refusal{Why: "120G is more than was measured", Measure: "measure it once with all in memory"}}
	return []Asked{{About: "cache of 60G", Result: full}, {About: "cache of 120G\x1b[2J", Result: not}}
}

func TestModelText(t *testing.T) {
	viewtest.Golden(t, "model.txt", ModelText("Effect of the cache size", everything(), page.Screen{}))
	if text := ModelText("x", everything(), page.Screen{Width: 60}); strings.Contains(text, "\x1b") {
		t.Errorf("a name drives the terminal: %q", text)
	}
}

// TestModelDocument: what is not known is null, and not 0 or a mistake of JSON.
func TestModelDocument(t *testing.T) {
	b, err := page.JSON(ModelDocument("cache", everything()))
	if err != nil {
		t.Fatal(err)
	}
	var doc ModelsJSON
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	values := doc.Forecasts[0].Values
	if values[4].High != nil || values[4].Low == nil || doc.Forecasts[0].Rivals[2].Error != nil {
		t.Errorf("what is not known is written as a number: %s", b)
	}
	if r := doc.Forecasts[1].Refusal; r == nil || r.Measure == "" || len(doc.Forecasts[1].Values) != 0 {
		t.Errorf("a refusal: %s", b)
	}
}

// TestNumbersOfEverySize keep their sign and order, also beyond what fits into 64 bits.
func TestNumbersOfEverySize(t *testing.T) {
	for _, x := range []float64{0, 999.4, 1000, 1e15, 9e18, 1e19, 1e25} {
		for _, unit := range []string{model.Count, model.Bytes, model.PerSecond} {
			if text := number(x, unit); strings.Contains(text, "-") {
				t.Errorf("%g %s is written %s", x, unit, text)
			}
		}
	}
}
