package protect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/protect"
	"plumb/internal/protect/keep"
	"plumb/internal/protect/policy"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// headWidth is the column of what is said of a point.
const headWidth = 11

// Point shows a point that was taken, and its drill.
func Point(at protect.Point, screen page.Screen) string {
	p := page.NewPage(screen)
	head := "Point "
	if at.ByOthers() {
		head = "Snapshot "
	}
	p.Line(page.Bold, head+at.ID+" of "+at.Server.Ref.String()+", "+at.Server.Product)
	rows(p, page.Normal, "mode", at.Mode)
	rows(p, labelInk(at.Label), "label", labelText(at))
	rows(p, page.Normal, "position", at.Position.String())
	rows(p, page.Normal, "snapshots", snapshots(at.Members)...)
	if !at.ByOthers() {
		rows(p, page.Normal, "held", heldText(at))
	}
	rows(p, page.Yellow, "doubts", at.Doubts...)
	rows(p, page.Normal, "kept for", owners(at)...)
	if at.Drill != nil {
		DrillRows(p, *at.Drill)
	}
	head = "replicas"
	for _, r := range at.Replicas { // each has an ink of its own
		rows(p, replicaInk(r.Drill), head, replicaText(r))
		head = ""
	}
	rows(p, page.Normal, "ready", snapshots(at.Ready)...)
	if why := at.Fell(); why != "" {
		p.Blank()
		p.Hang(page.Red, "Less than asked: ", "it counts as a crash point, because "+why)
	}
	return p.String()
}

// rows writes what there is to say below a head; a text that is empty is not said.
func rows(p *page.Page, ink page.Ink, head string, texts ...string) {
	texts = slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return text == "" })
	p.List(ink, "  "+page.Columns(head, headWidth), texts)
}

func snapshots(all []protect.Member) (names []string) {
	for _, m := range all {
		names = append(names, m.Snapshot)
	}
	return names
}

func owners(at protect.Point) (names []string) {
	for _, h := range at.Holds {
		names = append(names, h.Owner)
	}
	return names
}

// labelText says what a label means.
func labelText(at protect.Point) string {
	switch at.Label {
	case protect.Proven:
		return "proven: a copy was started, recovered, checked and read"
	case protect.Locked:
		return "locked: " + lockedText(at.Mode) + "; no copy was started yet"
	}
	if at.ByOthers() {
		return "unknown: others took it, and no copy is known to start"
	}
	return "crash: the server's files at one moment, as after a power cut; no copy is known to start"
}

// lockedText says what was proven of a point that was taken in a mode.
func lockedText(mode string) string {
	switch mode {
	case protect.ModeFreeze:
		return "the server was stopped while it was copied"
	case protect.ModeBackupAPI:
		return "it was taken with the server's own backup protocol"
	}
	return "nothing was committed between the position and the snapshot"
}

func labelInk(l protect.Label) page.Ink {
	if l == protect.Proven {
		return page.Bold
	}
	return page.Normal
}

// replicaText says whether a copy of a replica started.
func replicaText(r protect.Replica) string {
	at := units.Moment(r.Drill.At)
	if why := r.Drill.Short(); why != "" {
		return r.Target + ": the copy that was started there failed, " + at + ": " + why
	}
	return r.Target + ": a copy was started there, recovered, checked and read, " + at
}

func replicaInk(d protect.Drill) page.Ink {
	if d.Short() == "" {
		return page.Normal
	}
	return page.Red
}

// heldText says how long anybody could be blocked, and how much of it was the storage's own snapshot.
func heldText(at protect.Point) string {
	t := at.Times
	if t.Held == 0 {
		return "nothing; the storage took " + span(t.Storage) + " for its snapshots"
	}
	text := fmt.Sprintf("%s, of which the storage took %s for its snapshots", span(t.Held), span(t.Storage))
	if t.Failed != nil {
		text += fmt.Sprintf("; before that, the lock was released %s, after %s at the latest", units.Count(t.Failed.Tries, "time"), span(t.Failed.Longest))
	}
	return text
}

// DrillRows says what came of a drill.
func DrillRows(p *page.Page, d protect.Drill) {
	verdict, ink := "it started, and all checks passed", page.Normal
	switch why := d.Short(); {
	case !d.OK:
		verdict, ink = "failed: "+why, page.Red
	case why != "":
		verdict, ink = "it started, but "+why, page.Red
	case slices.ContainsFunc(d.Checks, func(c protect.Check) bool { return c.Unknown != "" }):
		verdict = "it started, and all checks that could be judged passed"
	}
	p.Hang(ink, "  "+page.Columns("drill", headWidth), verdict)
	under := "  " + page.Columns("", headWidth)
	when := units.Moment(d.At)
	if d.Recovery > 0 { // one that did not start recovered in no time at all
		when += "; recovered in " + span(d.Recovery)
	}
	if d.Took > 0 {
		when += ", " + span(d.Took) + " in all"
	}
	p.Hang(page.Dim, under, when)
	if pos := d.Position.String(); pos != "" {
		text := "recovered position " + pos
		if d.Exact != nil && *d.Exact {
			text += ": exactly the point's"
		}
		p.Hang(page.Normal, under, text)
	}
	limitRows(p, under, d.Limits)
	for _, c := range d.Checks {
		switch {
		case c.Wrong != "":
			p.Hang(page.Red, under+"wrong: ", c.What+": "+c.Wrong)
		case c.Unknown != "":
			p.Hang(page.Yellow, under+"not judged: ", c.What+": "+c.Unknown)
		default:
			p.Hang(page.Normal, under+"well: ", c.What)
		}
	}
}

// limitRows says what of the machine a copy could take, and what it could take as much of as it wanted.
func limitRows(p *page.Page, under string, all []protect.Limit) {
	var held []string
	for _, l := range all {
		if l.Not == "" {
			held = append(held, l.What)
		}
	}
	if held != nil {
		p.Hang(page.Dim, under, "limited to "+strings.Join(held, ", "))
	}
	for _, l := range all {
		if l.Not != "" {
			p.Hang(page.Yellow, under+"not limited: ", "to "+l.What+": "+l.Not)
		}
	}
}

// span writes how long something took.
func span(d time.Duration) string {
	if d < time.Second {
		return units.Spaced(float64(d) / float64(time.Millisecond))
	}
	return units.Span(d)
}

// gone is shown in place of the label of a point whose snapshots are not there.
const gone = "gone"

// Points lists the points of each server, oldest first. facts say which of them are gone.
func Points(all []protect.Point, facts map[string]keep.Facts, screen page.Screen) string {
	p := page.NewPage(screen)
	if len(all) == 0 {
		p.Para(page.Normal, 0, "There is no point on this host. plumb snapshot takes one.")
		return p.String()
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b protect.Point) int { return a.Server.Ref.Compare(b.Server.Ref) })
	server := ""
	for _, at := range all {
		if of := at.Server.Ref.String(); of != server {
			if server != "" {
				p.Blank()
			}
			server = of
			p.Line(page.Bold, of+", "+at.Server.Product)
		}
		what, known := string(at.Label), facts[at.ID]
		switch {
		case at.State != protect.Taken:
			what = string(at.State)
		case known.Lost() != "":
			what = gone
		}
		p.Within(p.Width, page.Normal, "  "+page.Columns(at.ID, idWidth)+page.Columns(what, labelWidth), page.Dim, remark(at, known))
	}
	return p.String()
}

// Foreign lists what others took, each volume's oldest first.
func Foreign(all []protect.Foreign, screen page.Screen) string {
	p := page.NewPage(screen)
	for i, f := range all {
		if i == 0 {
			p.Blank()
			p.Para(page.Bold, 0, "Taken by others: of unknown consistency, and never pruned by Plumb")
		}
		_, name, _ := strings.Cut(f.Snapshot, "@")
		p.Hang(page.Normal, "  ", f.Snapshot+"  "+units.Moment(f.At)+", by "+cmp.Or(policy.By(name), somebody))
	}
	return p.String()
}

// Widths of the columns of lists.
const (
	idWidth    = 23
	labelWidth = 11
)

// remark is where the server stood at a point, and what else to know of it.
func remark(at protect.Point, known keep.Facts) string {
	var parts []string
	if pos := at.Position.String(); pos != "" {
		parts = append(parts, pos)
	}
	if d := at.Drill; d != nil && !d.OK {
		parts = append(parts, "drill failed: "+d.Why)
	}
	if why := at.Fell(); why != "" {
		parts = append(parts, why)
	}
	if len(at.Ready) > 0 {
		parts = append(parts, "ready")
	}
	for _, r := range at.Replicas {
		if why := r.Drill.Short(); why == "" {
			parts = append(parts, "proven at "+r.Target)
		} else {
			parts = append(parts, "failed at "+r.Target+": "+why)
		}
	}
	for _, owner := range owners(at) {
		parts = append(parts, "kept for "+owner)
	}
	if why := known.Unusable(); why != "" {
		parts = append(parts, why)
	}
	return strings.Join(parts, "; ")
}
