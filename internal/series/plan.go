package series

import "plumb/internal/stack"

// Plan is how a server carries out a statement, by its own account: it was asked
// to explain it, never to run it. It holds no condition and no constant.
type Plan struct {
	Of        stack.Ref  `json:"of"`        // the server
	Statement string     `json:"statement"` // the statement's id
	By        string     `json:"by"`        // what was explained: a session that runs it now, a sample of it, its general form
	Steps     []PlanStep `json:"steps"`     // from the outside in, at most MostPlanSteps
	Why       string     `json:"why,omitempty"`
	Hint      string     `json:"hint,omitempty"` // with Why: what can be done about it
}

// PlanStep is one step of a plan.
type PlanStep struct {
	Depth int      `json:"depth"`
	Does  string   `json:"does"`           // "reads orders by index customer"
	Rows  *float64 `json:"rows,omitempty"` // that the server expects, each time; nil: not said
	Cost  *float64 `json:"cost,omitempty"` // up to here, in the server's own unit; nil: not said
	Mark  bool     `json:"mark,omitempty"` // it reads all rows, or sorts or keeps them aside
}

// What is kept of a plan, and how deep a server's account of it is followed.
const (
	MostPlanSteps = 60
	DeepestPlan   = 100
)
