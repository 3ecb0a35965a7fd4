package forecast

import (
	"os"
	"strings"
	"testing"
	"time"

	"plumb/internal/forecast"
	"plumb/internal/forecast/space"
	"plumb/internal/view/page"
	"plumb/internal/view/schema"
	"plumb/internal/view/viewtest"
)

// made are a forecast with a limit, one without, and a refusal.
func made() []space.Result {
	grow := func(of string, days int, each float64) forecast.Series {
		s := forecast.Series{Quantity: forecast.Quantity{Of: of, Name: "used", Unit: "bytes"}}
		for d := range days + 1 {
			s.Days = append(s.Days, forecast.Day{Date: time.Date(2026, 5, 1+d, 0, 0, 0, 0, time.UTC), Value: 400e9 + each*float64(d+d%7)})
		}
		return s
	}
	return []space.Result{
		space.Of(grow("dataset:tank/db", 200, 1e9), space.Ask{Days: 90, Limit: &space.Limit{Bytes: 660e9, Why: "what it uses and has available"}}),
		space.Of(grow("mysql:3306", 40, 2e8), space.Ask{Days: 90, Bounded: true}),
		space.Of(grow("pool:tank", 9, 1e9), space.Ask{Days: 90, Limit: &space.Limit{Bytes: 1e12, Why: "made"}}),
	}
}

func TestText(t *testing.T) {
	viewtest.Golden(t, "space", Text(made(), "the recording", page.Screen{Width: 100}))
}

// TestRangesThatAreNotShown are not explained.
func TestRangesThatAreNotShown(t *testing.T) {
	if text := Text(made()[2:], "the recording", page.Screen{Width: 100}); strings.Contains(text, "futures") {
		t.Errorf("everything is refused:\n%s", text)
	}
}

// TestHTML looks at what must hold of every page. With PLUMB_FORECAST_SAMPLE it
// leaves the pages there, to be looked at.
func TestHTML(t *testing.T) {
	hostile := made()
	for i := range hostile {
		hostile[i].Quantity.Of, hostile[i].Quantity.Name = viewtest.HostileText, viewtest.HostileText
		hostile[i].Assumptions = []string{viewtest.HostileText}
		if hostile[i].Refusal != nil {
			hostile[i].Refusal = &forecast.Refusal{Why: viewtest.HostileText, Measure: viewtest.HostileText}
		}
	}
	for name, all := range map[string][]space.Result{"made": made(), "hostile": hostile, "none": nil} {
		b, err := HTML(all, "the recording", "devel")
		if err != nil {
			t.Fatal(err)
		}
		if dir := os.Getenv("PLUMB_FORECAST_SAMPLE"); dir != "" {
			if err := os.WriteFile(dir+"/forecast-"+name+".html", b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		viewtest.AloneAndWhole(t, b)
	}
}

// TestALimitBelowTheDrawing: what was passed long ago is not drawn outside.
func TestALimitBelowTheDrawing(t *testing.T) {
	r := made()[0]
	if f := fanOf(r); f.Full == nil {
		t.Error("a limit that will be reached is not drawn")
	}
	r.Limit = &space.Limit{Bytes: 1e9, Why: "made"}
	if f := fanOf(r); f.Full != nil || f.Limit != "" {
		t.Errorf("a limit far below is drawn at %+v", *f.Full)
	}
}

// TestWhatIsNotJudgedHasNoLoss: none of unknown size is 0.
func TestWhatIsNotJudgedHasNoLoss(t *testing.T) {
	doc := ScoreDocument([]forecast.Score{{Waiting: 3}, {Judged: 2}}, 0, "x")
	if doc.Scores[0].Loss != nil || doc.Scores[1].Loss == nil || *doc.Scores[1].Loss != 0 {
		t.Errorf("%+v", doc.Scores)
	}
	viewtest.FitsSchema(t, schema.Of("forecast-score"), doc)
}

func TestDocumentsFitTheirSchemas(t *testing.T) {
	viewtest.FitsSchema(t, schema.Of("forecast-space"), Document(made(), "the recording"))
}

func TestSizesOfNoDisk(t *testing.T) {
	for v, want := range map[float64]string{1.73 * (1 << 40): "1.73T", 199.3 * (1 << 30): "199.3G", 2 << 30: "2.00G", 39 << 30: "39G", 2853 << 10: "2.79M", 18950: "18950 bytes", 0: "0 bytes", 1.8e19: "15.6E"} {
		if got := estimated(v); got != want {
			t.Errorf("%g bytes are %s, want %s", v, got, want)
		}
	}
}

func TestAnUnseenFutureIsNotImpossible(t *testing.T) {
	for part, want := range map[float64]string{0: "less than 1 %", 0.5: "50 %", 1: "more than 99 %"} {
		if got := chance(part); got != want {
			t.Errorf("%g is %q", part, got)
		}
	}
	never := made()[:1]
	never[0].Full = &space.Full{}
	if text := Text(never, "x", page.Screen{}); !strings.Contains(text, "not by") {
		t.Errorf("it does not say that no future reaches it:\n%s", text)
	}
}
