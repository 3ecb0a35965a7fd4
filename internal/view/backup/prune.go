package backup

import (
	"fmt"
	"time"

	"plumb/internal/backup/prune"
	"plumb/internal/protect/keep"
	"plumb/internal/units"
	"plumb/internal/view/page"
	protectview "plumb/internal/view/protect"
)

// PruneJSON is version 1 of what backup prune --json prints.
type PruneJSON struct {
	Plumb   int                       `json:"plumb"`
	Kind    string                    `json:"kind"` // "backup-prune"
	From    string                    `json:"from"`
	DryRun  bool                      `json:"dry_run"`
	At      time.Time                 `json:"at"`                // by the clock of the store; of a dry run by that of this machine
	Keep    string                    `json:"keep"`              // the rules; "" when backups were named
	Servers []protectview.ServerPrune `json:"servers"`           //
	Leaving []prune.Leaving           `json:"leaving"`           // pruned before, and not gone yet
	Lost    []prune.Lost              `json:"unfinished"`        // never ended
	Logs    []prune.Log               `json:"logs"`              // archived, of each server
	Brakes  []keep.Brake              `json:"safety_stops"`      // why nothing at all goes
	Unknown string                    `json:"unknown,omitempty"` // what could not be asked of the store
	Done    *prune.Done               `json:"done,omitempty"`    // of no dry run
}

// PruneDocument is the document of a prune; done is nil for a dry run.
func PruneDocument(from string, plan prune.Plan, rules keep.Rules, done *prune.Done) PruneJSON {
	if done != nil {
		d := *done
		d.Marked, d.Back, d.GivenUp, d.Removed, d.Left = page.NotNil(d.Marked), page.NotNil(d.Back), page.NotNil(d.GivenUp), page.NotNil(d.Removed), page.NotNil(d.Left)
		d.Logs = page.NotNil(d.Logs)
		done = &d
	}
	return PruneJSON{Plumb: 1, Kind: "backup-prune", From: from, DryRun: done == nil, At: plan.At.UTC(), Keep: rules.String(), Servers: page.NotNil(protectview.ServerPrunes(plan.Servers)),
		Leaving: page.NotNil(plan.Leaving), Lost: page.NotNil(plan.Lost), Logs: page.NotNil(plan.Logs), Brakes: page.NotNil(plan.Brakes), Unknown: plan.Unknown, Done: done}
}

// Plan shows what becomes of each backup and why, and what stops a prune.
func Plan(from string, plan prune.Plan, screen page.Screen) string {
	p := page.NewPage(screen)
	if len(plan.Servers)+len(plan.Leaving)+len(plan.Lost)+len(plan.Logs)+len(plan.Brakes) == 0 {
		p.Line(page.Normal, "There are no backups in "+from+".")
		return p.String()
	}
	for _, s := range plan.Servers {
		protectview.Fates(p, s)
		text := s.Summary()
		if going := s.Going(); len(going) > 0 && len(plan.Brakes) == 0 {
			free, _ := keep.Space(going)
			text += ", " + bytesText(free) + " in all"
		}
		p.Para(page.Normal, 2, text+".")
	}
	if len(plan.Leaving) > 0 {
		p.Line(page.Bold, "Pruned before")
	}
	for _, l := range plan.Leaving {
		text := "its objects are removed after " + units.Moment(l.From)
		if l.Why != "" {
			text = l.Why
		}
		row(p, "leaves", l.ID, l.Bytes, text)
	}
	if len(plan.Lost) > 0 {
		p.Line(page.Bold, "Never ended")
	}
	for _, l := range plan.Lost {
		if fate := "stays"; l.Goes {
			row(p, "goes", l.ID, l.Bytes, "it showed no activity since "+units.Moment(l.Heard))
		} else {
			row(p, fate, l.ID, l.Bytes, l.Why)
		}
	}
	logs(p, plan)
	if plan.Unknown != "" {
		p.Para(page.Dim, 0, plan.Unknown+".")
	}
	stopped(p, plan.Brakes)
	return p.String()
}

// logs shows what becomes of archived logs.
func logs(p *page.Page, plan prune.Plan) {
	if len(plan.Logs) > 0 {
		p.Line(page.Bold, "Archived logs")
	}
	for _, l := range plan.Logs {
		p.Line(page.Normal, "  "+l.Server)
		if l.Goes.Pieces > 0 {
			p.Hang(page.Normal, "    ", "goes "+amount(l.Goes)+": marked before, and no backup needs it")
		}
		if l.Then.Pieces > 0 {
			p.Hang(page.Normal, "    ", fmt.Sprintf("marked %s before %s, where backup %s begins, the first that is kept: they are removed after the grace period", amount(l.Then), l.Begins, l.By))
		}
		text := "stays " + amount(l.Stays)
		if l.Why != "" {
			text += ": " + l.Why
		}
		p.Hang(page.Dim, "    ", text)
	}
}

func amount(a prune.Amount) string {
	return units.Count(a.Pieces, "piece") + " with " + bytesText(a.Bytes)
}

func stopped(p *page.Page, brakes []keep.Brake) {
	for _, b := range brakes {
		p.Hang(page.Red, "stopped: ", b.Why)
		p.Hang(page.Dim, "         ", b.Hint)
	}
	if len(brakes) > 0 {
		p.Para(page.Normal, 0, "Nothing at all is removed.")
	}
}

func row(p *page.Page, fate, id string, bytes int64, why string) {
	p.Within(p.Width, page.Normal, "  "+page.Columns(fate, 7)+page.Columns(id, 26)+page.Right(bytesText(bytes), 10)+"  ", page.Dim, why)
}

// Pruned says what a prune did.
func Pruned(d prune.Done, screen page.Screen) string {
	p := page.NewPage(screen)
	for _, l := range d.Left {
		p.Hang(page.Red, "stays  "+l.ID+"  ", l.Why)
	}
	for _, id := range d.Back {
		p.Hang(page.Normal, "back   "+id+"  ", "another backup needs it, so it is no longer being removed")
	}
	if stopped(p, d.Plan.Brakes); len(d.Plan.Brakes) > 0 {
		return p.String()
	}
	text := fmt.Sprintf("%s pruned", units.Count(len(d.Marked), "backup"))
	if len(d.Marked) > 0 {
		text += ": the first prune in " + units.Age(int64(d.Plan.Grace.Seconds())) + " or later removes the objects, and until then --undo ID brings one back"
	}
	p.Para(page.Normal, 0, text+".")
	if d.Objects > 0 {
		p.Para(page.Normal, 0, fmt.Sprintf("%s removed, %s: of %s pruned before, of %d that never ended, and what no backup names or needs.",
			units.Count(int(d.Objects), "object"), bytesText(d.Bytes), units.Count(len(d.Removed), "backup"), len(d.GivenUp)))
	}
	for _, l := range d.Logs {
		text := "The log of " + l.Server + ": " + amount(l.Gone) + " removed"
		if l.Marked != "" {
			text += "; what comes before " + l.Marked + " is removed after the grace period"
		}
		p.Para(page.Normal, 0, text+".")
	}
	if d.Plan.Versions {
		p.Para(page.Dim, 0, "The bucket keeps versions: what a lock still protects takes space until it can be removed.")
	}
	return p.String()
}
