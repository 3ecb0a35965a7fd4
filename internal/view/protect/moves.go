package protect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/protect"
	"plumb/internal/protect/replay"
	"plumb/internal/protect/replicate"
	"plumb/internal/protect/rollback"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// ReplicateJSON is version 1 of what replicate --json prints.
type ReplicateJSON struct {
	Plumb   int              `json:"plumb"`
	Kind    string           `json:"kind"` // "replicate"
	Point   string           `json:"point"`
	Target  string           `json:"target"`
	Sent    []replicate.Sent `json:"sent"`
	Took    time.Duration    `json:"took_ns"`
	Resumed bool             `json:"resumed"`         // a half-received stream was completed
	Doubt   string           `json:"doubt,omitempty"` // why what was sent protects less than it seems to: the target is in the pool of the source

	Verified *protect.Drill `json:"verified,omitempty"` // what came of a copy that the target started, with --verify
}

// RollbackJSON is version 1 of what rollback --json prints.
type RollbackJSON struct {
	Plumb    int           `json:"plumb"`
	Kind     string        `json:"kind"` // "rollback"
	DryRun   bool          `json:"dry_run"`
	Server   string        `json:"server"`
	Point    string        `json:"point"`
	Change   int           `json:"change,omitempty"` // its number in the journal, for plumb undo
	Before   []string      `json:"before"`           // datasets that hold, or would hold, the state of just before
	Moves    []string      `json:"moves"`            // snapshots that go with the promoted clones
	Stay     []string      `json:"stay"`             // snapshots taken after the point: they stay with the old datasets
	Others   []string      `json:"others,omitempty"` // files that are not the server's and changed since the point: they go back with it
	Notes    []string      `json:"notes"`            // what does not come along, and what could not be seen
	Position string        `json:"position,omitempty"`
	Down     time.Duration `json:"down_ns,omitempty"` // from the stop to the first answer
}

// ReplicateDocument is the document of a point that was sent.
func ReplicateDocument(r replicate.Result) ReplicateJSON {
	return ReplicateJSON{Plumb: 1, Kind: "replicate", Point: r.Point, Target: r.Target, Sent: page.NotNil(r.Sent), Took: r.Took, Resumed: r.Resumed, Doubt: r.Doubt, Verified: r.Verified}
}

// Replicated says what was sent.
func Replicated(r replicate.Result, screen page.Screen) string {
	p := page.NewPage(screen)
	p.Line(page.Bold, "Point "+r.Point+" to "+r.Target)
	for _, s := range r.Sent {
		text := s.Dataset + ": " + units.Measured(float64(s.Bytes)) + ", " + s.Way
		switch {
		case s.There:
			text = s.Dataset + ": was there already"
		case s.Base != "":
			text += ", what changed since " + s.Base
		}
		p.Hang(page.Normal, "  ", text)
	}
	if r.Doubt != "" {
		p.Hang(page.Yellow, "  doubt: ", r.Doubt)
	}
	end := "Sent in " + span(r.Took) + "."
	if r.Resumed {
		end += " A stream that was cut off was completed."
	}
	p.Line(page.Dim, end)
	if r.Verified != nil {
		p.Blank()
		p.Line(page.Bold, "A copy of it, started there")
		DrillRows(p, *r.Verified)
	}
	return p.String()
}

// RollbackPlanDocument is the document of a rollback that was not done.
func RollbackPlanDocument(plan rollback.Plan) RollbackJSON {
	doc := RollbackJSON{Plumb: 1, Kind: "rollback", DryRun: true, Server: plan.Server.Ref.String(), Point: plan.Point.ID, Before: []string{},
		Moves: page.NotNil(plan.Moves), Stay: page.NotNil(plan.Stay), Others: plan.Others, Notes: page.NotNil(plan.Recipe.Notes)}
	for _, v := range plan.Volumes {
		doc.Before = append(doc.Before, v.Before)
	}
	return doc
}

// RollbackDocument is the document of a rollback.
func RollbackDocument(plan rollback.Plan, r rollback.Result) RollbackJSON {
	doc := RollbackPlanDocument(plan)
	doc.DryRun, doc.Change, doc.Position, doc.Down = false, r.Change, r.Position.String(), r.Down
	return doc
}

// RollbackPlan shows what a rollback would do.
func RollbackPlan(plan rollback.Plan, screen page.Screen) string {
	p := page.NewPage(screen)
	p.Line(page.Bold, plan.Server.Ref.String()+" back to "+plan.Aim())
	row := func(head string, texts ...string) { rows(p, page.Normal, head, texts...) }
	row("stop", strings.Join(plan.Stop, " "))
	var swaps []string
	for _, v := range plan.Volumes {
		swaps = append(swaps, v.Name+" for a clone of "+v.Snapshot+"; it stays as "+v.Before)
	}
	row("swap", swaps...)
	row("start", strings.Join(plan.Start, " "))
	if plan.Opens > 0 {
		row("timeline", fmt.Sprintf("it continues on timeline %d", plan.Opens))
	}
	row("go along", plan.Moves...)
	row("stay there", plan.Stay...)
	row("clones", plan.Clones...)
	row("others", some(plan.Others)...)
	row("note", plan.Recipe.Notes...)
	if w := plan.Way; w != nil {
		row("replay", units.Count(w.Count, "transaction")+" from "+w.From.String()+", and no more")
		row("up to", transactions(w.Before)...)
		row("not", transactions(w.After)...)
		p.Para(page.Dim, 0, "What came later stays in the old datasets, in their tables and in their log.")
	}
	p.Para(page.Dim, 0, "Nothing is destroyed, and plumb undo reverts it.")
	return p.String()
}

// mostOthers is how many files of others are named on a page.
const mostOthers = 20

// some gives the first of many files, and says how many there are.
func some(files []string) []string {
	if len(files) <= mostOthers {
		return files
	}
	return append(slices.Clone(files[:mostOthers]), fmt.Sprintf("and %d more, which are reverted with the server", len(files)-mostOthers))
}

// transactions writes those near the end of a replay, one a line.
func transactions(all []replay.Transaction) (lines []string) {
	for _, t := range all {
		lines = append(lines, fmt.Sprintf("%s  %s:%d  %s  %s", units.Moment(t.Time), t.File, t.Offset, t.GTID, t.What))
	}
	return lines
}

// RolledBack says what came of a rollback.
func RolledBack(r rollback.Result, screen page.Screen) string {
	p := page.NewPage(screen)
	p.Para(page.Normal, 0, fmt.Sprintf("The server answers again, after %s, and is at %s.", span(r.Down), r.Position))
	p.List(page.Normal, page.Columns("before", headWidth), r.Before)
	p.Para(page.Dim, 0, fmt.Sprintf("plumb undo %d reverts the rollback.", r.Change))
	return p.String()
}
