package tui

import (
	"plumb/internal/series"
	view "plumb/internal/view/watch"
)

// labelWidth is the room of labels in details.
const labelWidth = 16

var helpLines = []string{
	"q, ctrl-C\tquit",
	"1 2 3 4\tstack, sessions, statements, timeline",
	"tab, right\tthe next pane; shift-tab and left: the one before",
	"up, down\tmove; also k and j, page up and down, home and end",
	"enter\tdetails of a verdict, thing, session or statement",
	"esc\tback",
	"s\tin pane 3: list by time, growth, rows or bytes",
	"e\tin pane 3: ask the server for the plan of a statement",
	"p, space\tpause what is shown; it is sampled on",
	"?\tthis page",
	"",
	"All times are UTC. A share of the active time is shown with its 95 % interval. ! marks what a verdict is about. What cannot be seen is at the end of the stack, what is unknown at the end of the timeline.",
}

// labelled makes lines of details; one without a value is left out.
func labelled(pairs ...string) (out []string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out = append(out, pairs[i]+"\t"+pairs[i+1])
		}
	}
	return out
}

// labelledPlan makes lines of a plan.
func labelledPlan(p series.Plan) (out []string) {
	label := "plan"
	for _, line := range view.PlanLines(p) {
		out = append(out, label+"\t"+line)
		label = ""
	}
	return out
}

// verdictsOf are the details of a verdict that is raised: of the server, or, if
// ref is none of its servers, the first of that name.
func verdictsOf(b view.Board, id, ref string) []string {
	var found *view.BoardVerdict
	for i, v := range b.Verdicts {
		if v.ID == id && (found == nil || v.Server == ref) {
			found = &b.Verdicts[i]
		}
	}
	if found == nil {
		return nil
	}
	v := *found
	out := labelled("verdict", v.ID+" of "+v.Server, "limit", v.Title, "cost", v.Cost, "since", v.Since, "because of", v.Because, "causes", v.Causes, "that is", v.Say)
	for _, list := range []struct {
		label string
		texts []string
	}{{"evidence", v.Evidence}, {"against", v.Against}, {"do", v.Do}, {"check judges", v.Rules}} {
		label := list.label
		for _, text := range list.texts {
			out = append(out, label+"\t"+text)
			label = ""
		}
	}
	return append(out, "more\tplumb explain "+v.ID)
}
