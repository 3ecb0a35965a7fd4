package sampler

import (
	"fmt"
	"strings"
	"testing"

	"plumb/internal/series"
)

// TestReadPlan has plans in the form of EXPLAIN (FORMAT JSON): conditions stay out.
func TestReadPlan(t *testing.T) {
	steps, err := readPlan([]byte(`[{"Plan": {"Node Type": "ModifyTable", "Operation": "Update", "Relation Name": "orders", "Alias": "orders", "Plan Rows": 0, "Total Cost": 8.3, "Plans": [
		{"Node Type": "Index Scan", "Index Name": "by_v", "Relation Name": "orders", "Alias": "o", "Index Cond": "(v = 'secret'::text)", "Filter": "(n > 4711)", "Plan Rows": 5, "Total Cost": 8.3},
		{"Node Type": "Seq Scan", "Relation Name": "items", "Alias": "items"}]}}]`))
	want := "0 Update on orders false; 1 Index Scan using by_v on orders o false; 1 Seq Scan on items true"
	var got []string
	for _, s := range steps {
		got = append(got, fmt.Sprintf("%d %s %t", s.Depth, s.Does, s.Mark))
	}
	if err != nil || strings.Join(got, "; ") != want {
		t.Errorf("%s, %v\nwant %s", strings.Join(got, "; "), err, want)
	}
	for _, bad := range []string{"", "{}", "[]", "null", `[{"Plan": {}}]`, `[{"Plan": 7}]`, `[{`} {
		if steps, err := readPlan([]byte(bad)); err == nil {
			t.Errorf("%q gave %v", bad, steps)
		}
	}
}

func FuzzReadPlan(f *testing.F) {
	f.Add([]byte(`[{"Plan": {"Node Type": "Sort", "Plans": [{"Node Type": "Seq Scan", "Relation Name": "t", "Plan Rows": 1e9}]}}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		steps, err := readPlan(text)
		if err == nil && (len(steps) == 0 || len(steps) > series.MostPlanSteps) {
			t.Errorf("%d steps", len(steps))
		}
	})
}
