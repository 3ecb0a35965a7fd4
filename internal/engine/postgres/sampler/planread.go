package sampler

import (
	"encoding/json"
	"errors"

	"plumb/internal/series"
)

// node is what is taken of a node of a plan: names of tables and indexes and the
// planner's numbers, and never a condition, which has constants in it.
type node struct {
	Type     string   `json:"Node Type"`
	Does     string   `json:"Operation"`
	Relation string   `json:"Relation Name"`
	Alias    string   `json:"Alias"`
	Index    string   `json:"Index Name"`
	Join     string   `json:"Join Type"`
	Strategy string   `json:"Strategy"`
	Rows     *float64 `json:"Plan Rows"`
	Cost     *float64 `json:"Total Cost"`
	Plans    []node   `json:"Plans"`
}

// readPlan reads a plan of EXPLAIN (FORMAT JSON).
func readPlan(text []byte) ([]series.PlanStep, error) {
	var all []struct{ Plan node }
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, errors.New("read the server's plan: it is not a plan in JSON")
	}
	var steps []series.PlanStep
	for _, p := range all {
		steps = p.Plan.steps(0, steps)
	}
	if len(steps) == 0 {
		return nil, errors.New("the server's plan has no step")
	}
	return steps, nil
}

func (n node) steps(depth int, to []series.PlanStep) []series.PlanStep {
	if len(to) >= series.MostPlanSteps || depth > series.DeepestPlan || n.Type == "" {
		return to
	}
	does := n.Type
	if n.Type == "ModifyTable" && n.Does != "" {
		does = n.Does
	}
	if n.Join != "" && n.Join != "Inner" {
		does += ", " + n.Join
	}
	if n.Strategy == "Hashed" || n.Strategy == "Mixed" {
		does += ", " + n.Strategy
	}
	if n.Index != "" {
		does += " using " + n.Index
	}
	if n.Relation != "" {
		does += " on " + n.Relation
		if n.Alias != "" && n.Alias != n.Relation {
			does += " " + n.Alias
		}
	}
	to = append(to, series.PlanStep{Depth: depth, Does: does, Rows: n.Rows, Cost: n.Cost, Mark: n.Type == "Seq Scan" || n.Type == "Sort" || n.Type == "Materialize"})
	for _, inner := range n.Plans {
		to = inner.steps(depth+1, to)
	}
	return to
}
