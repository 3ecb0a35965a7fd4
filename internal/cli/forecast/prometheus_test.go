package forecast

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"
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
