package rehearse

import (
	"math"
	"strings"
	"testing"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/search"
	"plumb/internal/stack"
	"plumb/internal/stats"
)

// searched is a rehearsal with a search whose best point is better than all
// advice.
func searched() Result {
	dial := func(name string, t catalog.Type, start float64) Tunable {
		return Tunable{Dimension: search.Dimension{Name: name, Start: start}, Kind: "mysql", Type: t, Path: serverPath(name)}
	}
	pool, io := dial("innodb_buffer_pool_size", catalog.Bytes, 512<<20), dial("innodb_io_capacity", catalog.Int, math.NaN())
	pool.Memory, io.Also = true, map[string]float64{serverPath("innodb_io_capacity_max"): 2}
	pair := func(baseline string) report.Comparison {
		return report.Comparison{Pair: experiment.Pair{Arm: BestFound, Baseline: baseline}, Word: report.Better, Effect: stats.Estimate{Value: 0.2, Low: 0.1, High: 0.3, N: 4}}
	}
	plan := planned(placed, "innodb_buffer_pool_size", 4<<30, "sync_binlog", 1)
	r := Result{Proposal: Proposal{Server: placed, Scale: 0.125, Memory: 8 << 30}, Plan: plan,
		Search: &Search{Dials: []Tunable{pool, io, dial("innodb_max_dirty_pages_pct", catalog.Percent, 90)}, Best: search.Point{640 << 20, 4000, 90}, Confirmed: []report.Comparison{pair(AllAdvice), pair(AsIs)}}}
	for i, a := range plan.Steps {
		r.Proposal.Steps = append(r.Proposal.Steps, Step{Step: a, Number: i + 1})
		r.Steps = append(r.Steps, Verdict{Step: &r.Proposal.Steps[i], Word: Helps, Keep: true, Why: "kept: it helps"})
	}
	r.Steps[0].Step, r.Steps[1].Step = &r.Proposal.Steps[0], &r.Proposal.Steps[1]
	return r
}

func TestBestPointIsInThePlan(t *testing.T) {
	r := searched()
	before := r.Plan.Steps
	now := func(k stack.Knob) (stack.Value, bool) { return stack.Int(200), k.Name == "innodb_io_capacity" }
	r.Adopt(known(), now)
	if !r.Search.InPlan || r.Search.Why != "" || len(before) != 2 || before[0].Note != "" {
		t.Fatalf("%s: %+v", r.Search.Why, r.Plan.Steps)
	}
	var set []string
	for _, s := range r.Plan.Steps {
		set = append(set, s.Knob.String()+" "+s.From.String()+" "+s.To.String()+" "+string(s.Effect)+" "+s.DurabilityTo)
	}
	want := []string{"mysql:3306#innodb_buffer_pool_size absent 5368709120 now safe", "mysql:3306#sync_binlog absent 1 now safe", "mysql:3306#innodb_io_capacity 200 4000 now safe", "mysql:3306#innodb_io_capacity_max absent 8000 now safe"}
	if got := strings.Join(set, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if s := r.Plan.Steps[0]; !strings.Contains(s.Because, "better than all advice (+10 to +30 %)") || !strings.Contains(s.Note, "on top of all advice") || len(s.Why) != 1 || r.Plan.Steps[2].Why == nil {
		t.Errorf("%+v", s)
	}
	if why := r.Steps[0].Why; why != "kept: it helps; the plan has the value that the search found" || r.Steps[1].Why != "kept: it helps" {
		t.Errorf("%s; %s", why, r.Steps[1].Why)
	}
}

func TestBestPointIsNotInThePlan(t *testing.T) {
	for why, change := range map[string]func(*Result){
		"whether it is better than all advice is not decided":       func(r *Result) { r.Search.Confirmed[0].Word = report.Undecided },
		"it is no better than all advice":                           func(r *Result) { r.Search.Confirmed[0].Word = report.Equivalent },
		"it is no better than the server as it is":                  func(r *Result) { r.Search.Confirmed[1].Word = report.Worse },
		"it was not compared with all advice, with which":           func(r *Result) { r.Search.Confirmed = r.Search.Confirmed[1:] },
		"it was not measured again, so its gain is not proven":      func(r *Result) { r.Search.Confirmed = nil },
		"the server could not be used with it":                      func(r *Result) { r.Search.Broken = "no memory" },
		"no trial gave a value":                                     func(r *Result) { r.Search.Best = nil },
		"it is what is advised, or in force":                        func(r *Result) { r.Search.Dials[1].Start, r.Search.Best[0] = 4000, 512<<20 },
		"how much memory the server may take is not known":          func(r *Result) { r.Proposal.Memory = 0 },
		"innodb_buffer_pool_size would be 6.5G of its 8G of memory": func(r *Result) { r.Search.Best[0] = 832 << 20 },
		"innodb_no_such is not a setting that is known":             func(r *Result) { r.Search.Dials[1].Path = serverPath("innodb_no_such") },
		"nobody knows here what has the setting ": func(r *Result) {
			r.Search.Dials[1].Kind, r.Search.Dials[1].Path = "dataset", "volume.properties.recordsize"
		},
	} {
		r := searched()
		change(&r)
		r.Adopt(known(), nil)
		if r.Search.InPlan || !strings.Contains(r.Search.Why, why) || len(r.Plan.Steps) != 2 || r.Plan.Steps[0].Note != "" || r.Steps[0].Why != "kept: it helps" {
			t.Errorf("%q, want %q: %+v", r.Search.Why, why, r.Plan.Steps)
		}
	}
	r := Result{Plan: advise.Plan{Kind: "plan"}}
	if r.Adopt(known(), nil); len(r.Plan.Steps) != 0 {
		t.Error("without a search there is nothing to adopt")
	}
}

// A record size is set on the dataset of the server's data, and what a server
// made for the rehearsal is called its steps say.
func TestBestPointOfOtherThings(t *testing.T) {
	r := searched()
	r.Proposal.Server, r.Proposal.Scale, r.Proposal.Memory, r.Proposal.Dataset = stack.Ref{}, 1, 0, stack.Ref{Kind: "dataset", Name: "tank/db"}
	r.Search.Dials[2] = Tunable{Dimension: choices("recordsize", 16384, 32768), Kind: "dataset", Type: catalog.Bytes, Path: "volume.properties.recordsize"}
	r.Search.Dials[2].Start, r.Search.Best[2] = 128<<10, 16384
	r.Adopt(known(), nil)
	n := len(r.Plan.Steps)
	if !r.Search.InPlan || r.Plan.Steps[0].To.String() != "671088640" || r.Plan.Steps[n-1].Knob.String() != "dataset:tank/db#recordsize" || r.Plan.Steps[2].Knob.Of != placed {
		t.Errorf("%s: %+v", r.Search.Why, r.Plan.Steps)
	}
	wal := Tunable{Dimension: choices("wal_compression", 0, 1), Kind: "postgres", Type: catalog.Bool, Path: serverPath("wal_compression"), On: "lz4"}
	r = searched()
	r.Proposal.Server, r.Plan.Steps, r.Proposal.Steps = stack.Ref{Kind: "postgres", Name: "5432"}, nil, nil
	r.Search.Dials, r.Search.Best = []Tunable{wal}, search.Point{1}
	if r.Adopt(known(), nil); len(r.Plan.Steps) != 1 || r.Plan.Steps[0].To.String() != "lz4" {
		t.Errorf("%s: %+v", r.Search.Why, r.Plan.Steps)
	}
}
