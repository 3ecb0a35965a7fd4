package forecast

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plumb/internal/forecast/space"
	"plumb/internal/hint"
)

// TestPrometheusIsAskedOfThen: as of an earlier day, nothing later is asked for, of the limit neither.
func TestPrometheusIsAskedOfThen(t *testing.T) {
	end := time.Date(2026, 5, 14, 0, 0, 0, 0, time.UTC)
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text := r.FormValue("end"); text != "" {
			asked++
			if at, err := strconv.ParseInt(text, 10, 64); err != nil || at != end.Unix()-1 {
				t.Errorf("it is asked until %s, want %d", text, end.Unix()-1)
			}
		}
		fmt.Fprint(w, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"instance":"db1"},"values":[[1778716799,"5"]]}]}}`)
	}))
	defer s.Close()
	all, _, err := source{prometheus: s.URL, end: end}.read(t.Context(), nil)
	if err != nil || len(all) != 1 || asked != 2 || !all[0].series.Last().Date.Equal(end.AddDate(0, 0, -1)) {
		t.Errorf("%+v of %d questions, %v", all, asked, err)
	}
}

// answering is a Prometheus that gives what value says for each of some days until now, of what is used and of what fits.
func answering(t *testing.T, days int, value func(day int, fits bool) string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "query_range") {
			http.NotFound(w, r)
			return
		}
		end, err := strconv.ParseInt(r.FormValue("end"), 10, 64)
		if err != nil {
			t.Error(err)
		}
		var samples []string
		for day := range days {
			samples = append(samples, fmt.Sprintf("[%d,%q]", end-int64(86400*(days-1-day)), value(day, strings.Contains(r.FormValue("query"), "avail"))))
		}
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"instance":"db1","mountpoint":"/data"},"values":[%s]}]}}`, strings.Join(samples, ","))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestSamplesThatAreNoNumbers: where there are no others, that is why nothing is forecast; some are unknown days.
func TestSamplesThatAreNoNumbers(t *testing.T) {
	forecastOf := func(value func(day int, fits bool) string) space.Result {
		f := spaceFlags{source: source{prometheus: answering(t, 30, value)}, at: "+7d"}
		all, _, err := f.read(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		results, err := f.forecast(all)
		if err != nil || len(results) != 1 {
			t.Fatalf("%+v, %v", results, err)
		}
		return results[0]
	}
	for _, no := range []string{"NaN", "+Inf", "-5"} {
		res := forecastOf(func(int, bool) string { return no })
		if res.Refusal == nil || !strings.Contains(res.Refusal.Why, "Prometheus has 30 samples for it, but none is a number of bytes") {
			t.Errorf("%s: %+v", no, res.Refusal)
		}
	}
	res := forecastOf(func(day int, _ bool) string {
		if day%5 == 1 {
			return "NaN"
		}
		return fmt.Sprintf("%de9", 100+day)
	})
	if res.Refusal != nil || !slices.Contains(res.Assumptions, "NaN, infinite or less than 0, which counts as unknown: 6 of 30 samples") {
		t.Errorf("%+v %q", res.Refusal, res.Assumptions)
	}
}

// TestPrometheusWithoutSeries: what to look at is said.
func TestPrometheusWithoutSeries(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"status":"success","data":{"resultType":"matrix","result":[]}}`)
	}))
	defer s.Close()
	if _, _, err := (source{prometheus: s.URL}).read(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "no series for the query") || !strings.Contains(hint.Of(err), "node_exporter") {
		t.Errorf("%v", err)
	}
}

// TestARatioIsNoSpace: a query for per cent is told from one for bytes.
func TestARatioIsNoSpace(t *testing.T) {
	for most, wrong := range map[string]bool{"0.42": true, "42": true, "0": false, "42e9": false, "NaN": false} {
		_, _, err := source{prometheus: answering(t, 30, func(int, bool) string { return most }), query: "x"}.read(t.Context(), nil)
		if wrong != (err != nil) || wrong && (!strings.Contains(err.Error(), "at most "+most) || !strings.Contains(hint.Of(err), "not a ratio or a percentage")) {
			t.Errorf("%s: %v", most, err)
		}
	}
}

// TestFullDaysOfPrometheus are those on which what is used was what fits.
func TestFullDaysOfPrometheus(t *testing.T) {
	url := answering(t, 30, func(day int, fits bool) string {
		switch {
		case fits && day >= 20:
			return "200e9"
		case fits:
			return "100e9"
		}
		return fmt.Sprintf("%de9", min(90+day, 100)+max(0, day-19))
	})
	all, _, err := source{prometheus: url}.read(t.Context(), nil)
	if err != nil || len(all) != 1 || len(all[0].full) != 10 || !all[0].full[9].Equal(all[0].series.Last().Date.AddDate(0, 0, -10)) || all[0].limit.Bytes != 200e9 {
		t.Errorf("%+v, %v", all, err)
	}
}
