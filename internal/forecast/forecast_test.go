package forecast

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/hint"
)

func at(day int) time.Time { return time.Date(2026, 1, 1+day, 0, 0, 0, 0, time.UTC) }

func TestPinballIsLeastAtTheTrueQuantiles(t *testing.T) {
	mean := func(q Quantiles) (sum float64) {
		for i := range 1001 { // evenly from 0 to 1
			sum += Pinball(q, float64(i)/1000)
		}
		return sum
	}
	best := mean(Levels)
	for i := range Levels {
		for _, off := range []float64{-0.02, 0.02} {
			q := Quantiles(Levels)
			q[i] += off
			if mean(q) <= best {
				t.Errorf("quantile %d off by %g is as good as the true one", i, off)
			}
		}
	}
}

func TestDailyTakesTheLastOfEachDay(t *testing.T) {
	s := Daily(Quantity{}, []Day{{at(1).Add(9 * time.Hour), 5}, {at(0).Add(time.Hour), 1}, {at(0).Add(20 * time.Hour), 2}, {at(2), math.NaN()}})
	if len(s.Days) != 2 || s.Days[0] != (Day{at(0), 2}) || s.Days[1] != (Day{at(1), 5}) {
		t.Errorf("%v", s.Days)
	}
}

// What nobody knows is not nothing: the sum over a gap stays, and its weekdays too.
func TestGapsKeepTheirSum(t *testing.T) {
	s := Series{Days: []Day{{at(0), 0}, {at(1), 7}, {at(4), 37}, {at(5), 38}}}
	if got := s.Added(); len(got) != 5 || got[0] != 7 || got[1] != 10 || got[2] != 10 || got[3] != 10 || got[4] != 1 {
		t.Errorf("%v", got)
	}
	if steps := s.Steps(); !steps[1].Date.Equal(at(2)) || steps[1].Level != 17 || steps[4] != (Step{at(5), 1, 38}) {
		t.Errorf("%v", steps)
	}
	if s.Unknown() != 2 {
		t.Errorf("%d unknown days", s.Unknown())
	}
	long := Series{Days: []Day{{at(0), 0}, {at(17), 170}, {at(18), 171}}} // two weeks and three days
	if steps := long.Steps(); steps[0] != (Step{at(15), 10, 150}) {
		t.Errorf("what is left of a gap are its last days: %v", steps)
	}
	if got := long.Added(); len(got) != 4 || got[0] != 10 || got[2] != 10 || got[3] != 1 {
		t.Errorf("%v", got)
	}
}

// TestEven: days between readings that are not as far apart are taken from the line between them.
func TestEven(t *testing.T) {
	s := Series{Days: []Day{{at(0), 0}, {at(8), 16}, {at(14), 40}, {at(21), 47}, {at(23), 49}}}
	if n := s.Every(); n != 7 {
		t.Errorf("it is read each %d days", n)
	}
	want := []Day{{at(2), 4}, {at(9), 20}, {at(16), 42}, {at(23), 49}}
	if got := s.Even(7).Days; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if steps := s.Even(10).Steps(); len(steps) != 20 || steps[0].Added != 3 || steps[19].Level != 49 {
		t.Errorf("%v", steps)
	}
	if n := (Series{Days: s.Days[:1]}).Every(); n != 1 {
		t.Errorf("one reading is each %d days", n)
	}
}

const matrix = `{"status":"success","data":{"resultType":"matrix","result":[
{"metric":{"instance":"db1:9100","mountpoint":"/data","job":"node"},"values":[[1767225600,"5"],[1767312000,"NaN"],[1767398400.5,"-1"]]},
{"metric":{"pool":"tank"},"values":[[1767225600,"7"]]}]}}`

func TestParseMatrix(t *testing.T) {
	all, err := ParseMatrix([]byte(matrix))
	if err != nil || len(all) != 2 || all[0].Of != "db1:9100 /data" || all[1].Of != "pool=tank" {
		t.Fatalf("%v, %v", all, err)
	}
	if s := Daily(Quantity{}, all[0].Days); len(s.Days) != 1 || s.Days[0].Value != 5 {
		t.Errorf("what is no number was taken for one: %v", s.Days)
	}
	for text, want := range map[string]string{
		"<html>": "not an answer of Prometheus", `{"status":"error","error":"bad_data: x"}`: "bad_data", `{"status":"success","data":{"resultType":"vector"}}`: "gives a vector",
		`{"status":"success","data":{"resultType":"matrix","result":[{"values":[["x","1"]]}]}}`:                      "not a time and a value",
		`{"status":"success","data":{"resultType":"matrix","result":[{"values":[[5,"many"]]}]}}`:                     "is not a value",
		`{"status":"success","data":{"resultType":"matrix","result":[{}` + strings.Repeat(",{}", mostSeries) + `]}}`: "returns 501 series, and the maximum is 500",
	} {
		if _, err := ParseMatrix([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestSeriesThatWouldBeCalledAlike: one host that two jobs ask is no one series.
func TestSeriesThatWouldBeCalledAlike(t *testing.T) {
	const of = `{"metric":{"instance":"db1:9100","mountpoint":"/data","job":"%s","device":"sda"},"values":[[1767225600,"5"]]}`
	all, err := ParseMatrix(fmt.Appendf(nil, `{"status":"success","data":{"resultType":"matrix","result":[`+of+","+of+`]}}`, "a", "b"))
	if err != nil || len(all) != 2 || all[0].Of != "db1:9100 /data device=sda job=a" || all[1].Of != "db1:9100 /data device=sda job=b" {
		t.Errorf("%v, %v", all, err)
	}
}

func FuzzParseMatrix(f *testing.F) {
	f.Add([]byte(matrix))
	f.Add([]byte(`{"status":"success","data":{"storageRetention":"15d or 10GiB"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if kept := ParseRetention(text); len(kept) > 300 {
			t.Errorf("%d bytes say how long it keeps what it knows", len(kept))
		}
		all, err := ParseMatrix(text)
		for _, a := range all {
			if err == nil && (a.Of == "" || len(a.Of) > mostLabels+10) {
				t.Errorf("a series is called %q", a.Of)
			}
			Daily(Quantity{}, a.Days)
		}
	})
}

func TestRetention(t *testing.T) {
	for text, want := range map[string]string{
		`{"status":"success","data":{"startTime":"2026-11-26T08:00:00Z","storageRetention":"15d or 10GiB"}}`: "15d or 10GiB",
		`{"status":"success","data":{}}`: "", `{"status":"error","data":{"storageRetention":"1y"}}`: "", `<html>`: "",
	} {
		if got := ParseRetention([]byte(text)); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}

func TestScoreJudgesDaysThatHaveCome(t *testing.T) {
	q := Quantity{Of: "tank", Name: "used", Unit: "bytes"}
	k := Kept{keptVersion, q, at(0), []Point{
		{at(1), Quantiles{0, 1, 2, 3, 4}}, {at(2), Quantiles{0, 1, 2, 3, 4}}, {at(3), Quantiles{0, 1, 2, 3, 4}}, {at(4), Quantiles{0, 1, 2, 3, 4}}, {at(9), Quantiles{}}}}
	later := Kept{keptVersion, q, at(5), []Point{{at(9), Quantiles{}}}}
	sc := ScoreOf([]Kept{k, later}, Series{q, []Day{{at(1), 2}, {at(2), 3.5}, {at(4), 9}}})
	if sc.Forecasts != 1 || sc.Judged != 3 || sc.In80 != 1 || sc.In95 != 2 || sc.Waiting != 2 || sc.Unknown != 1 || sc.Loss <= 0 {
		t.Errorf("%+v", sc)
	}
}

func TestKeptIsReadBack(t *testing.T) {
	f := Forecast{Quantity: Quantity{Of: "tank"}, Made: at(0), Points: []Point{{at(1), Quantiles{1, 2, 3, 4, 5}}}}
	k, is := f.Keep()
	text, err := json.Marshal([]Kept{k})
	if err != nil || !is {
		t.Fatal(is, err)
	}
	if back, err := ParseKept(text); err != nil || len(back) != 1 || back[0].Points[0] != f.Points[0] {
		t.Errorf("%v, %v", back, err)
	}
	if _, err := ParseKept(text[:len(text)-3]); hint.Of(err) == "" {
		t.Errorf("half a file: %v", err)
	}
	if _, err := ParseKept([]byte(`[{"plumb":9}]`)); err == nil || !strings.Contains(err.Error(), "version 9") {
		t.Errorf("a newer one: %v", err)
	}
	for text, want := range map[string]string{
		"[{}" + strings.Repeat(",{}", MostKept) + "]":                    "it has 2001 forecasts",
		`[{"points":[{}` + strings.Repeat(",{}", mostKeptPoints) + "]}]": "a forecast has 101 days",
	} {
		if _, err := ParseKept([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	f.Refusal = &Refusal{"too short", "wait"}
	if _, is := f.Keep(); is {
		t.Error("a refusal is kept as a forecast")
	}
	var r *Refusal
	if err := error(f.Refusal); !errors.As(err, &r) || hint.Of(err) != "wait" {
		t.Errorf("%v", err)
	}
}

func FuzzParseKept(f *testing.F) {
	f.Add([]byte(`[{"plumb":1,"quantity":{"of":"tank"},"made":"2026-01-01T00:00:00Z","points":[{"date":"2026-01-02T00:00:00Z","value":[1,2,3,4,5]}]}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := ParseKept(text)
		if err == nil {
			ScoreOf(all, Series{Days: []Day{{at(1), 2}}})
		}
	})
}
