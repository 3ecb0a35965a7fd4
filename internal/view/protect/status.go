package protect

import (
	"cmp"

	"plumb/internal/protect/policy"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// Status says how the points of a host stand.
func Status(s policy.Status, screen page.Screen) string {
	p := page.NewPage(screen)
	switch {
	case s.Policy == "":
		p.Para(page.Dim, 0, "There is no policy: nothing is required, and nothing is done automatically.")
	default:
		text := "Policy " + s.Policy
		if !s.LastRun.IsZero() {
			text += ", last run " + units.Moment(s.LastRun)
		}
		p.Para(page.Normal, 0, text)
	}
	missing(p, "", s.Unmet)
	for _, v := range s.Servers {
		p.Blank()
		serverStatus(p, v)
	}
	for _, f := range s.Foreign {
		p.Para(page.Dim, 0, f.Volume+" has "+units.Count(f.Snapshots, "snapshot")+" of "+cmp.Or(f.By, somebody)+", of unknown consistency, which Plumb never prunes; the newest is "+f.Newest+", of "+units.Moment(f.At))
	}
	p.Blank()
	switch {
	case !s.Met():
		p.Line(page.Red, "The policy is not met.")
	case s.Policy != "":
		p.Line(page.Bold, "The policy is met.")
	case len(s.Servers) == 0:
		p.Line(page.Normal, "No server that can be snapshotted was found here, and there are no points.")
	default:
		p.Para(page.Dim, 0, "plumb protect run POLICY takes, proves and prunes points; plumb protect list shows each.")
	}
	return p.String()
}

// somebody has taken a snapshot whose name says nothing of who.
const somebody = "somebody"

func serverStatus(p *page.Page, v policy.ServerStatus) {
	name := v.Server.String()
	if !v.Runs {
		name += ", which was not seen running"
	}
	p.Line(page.Bold, name)
	p.Hang(page.Normal, "  newest  ", aged(v.Newest, "there is no point"))
	p.Hang(page.Normal, "  proven  ", aged(v.Proven, "none is proven to start"))
	space := "they keep " + bytesOf(v.Space)
	if v.Space < 0 {
		space = "what they keep is not known"
	}
	p.Hang(page.Normal, "  all     ", units.Count(v.Points, "point")+"; "+space)
	if v.Unasked > 0 {
		p.Hang(page.Normal, "  unknown ", units.Count(v.Unasked, "more point")+": whether the snapshots exist is not known, so they do not count")
	}
	if v.Lost != "" && v.Rule == nil { // else it is not met
		p.Hang(page.Red, "  lost    ", v.Lost)
	}
	for _, t := range v.Targets {
		text := "nothing was sent yet"
		if t.Point != "" {
			text = t.Point + ", sent " + units.Moment(t.At)
		}
		p.Hang(page.Normal, "  copy    ", t.To+": "+text)
	}
	for _, b := range v.Backups {
		text := "nothing was backed up yet"
		if b.Point != "" {
			text = b.Point + ", at " + units.Moment(b.At)
		}
		p.Hang(page.Normal, "  backup  ", b.To+": "+text)
	}
	for _, plan := range v.Prune {
		p.Hang(page.Dim, "  prune   ", plan.Summary())
	}
	missing(p, "  ", v.Unmet)
}

func aged(a *policy.Aged, none string) string {
	if a == nil {
		return none
	}
	return a.ID + ", " + units.Age(int64(a.Age.Seconds())) + " old"
}

func missing(p *page.Page, indent string, all []policy.Unmet) {
	for _, u := range all {
		p.Hang(page.Red, indent+"not met: ", u.Why)
		if u.Hint != "" {
			p.Hang(page.Dim, indent+"         ", u.Hint)
		}
	}
}

// Run says what a run of a policy did, or what is due.
func Run(r policy.Report, dryRun bool, screen page.Screen) string {
	p := page.NewPage(screen)
	for _, o := range r.Done {
		head := string(o.Kind) + " " + o.Server.String()
		if o.Point != "" {
			head += " " + o.Point
		}
		if o.Target != "" {
			head += " to " + o.Target
		}
		switch {
		case dryRun:
			p.Hang(page.Normal, "due     ", head)
		case o.Why == "":
			p.Hang(page.Normal, "done    ", head+", in "+span(o.Took))
		default:
			p.Hang(page.Red, "failed  ", head+": "+o.Why)
			if o.Hint != "" {
				p.Hang(page.Dim, "        ", o.Hint)
			}
		}
	}
	switch {
	case r.Busy:
		p.Line(page.Normal, "Another run is in progress: nothing was done.")
	case len(r.Done) == 0:
		p.Line(page.Normal, "Nothing is due.")
	}
	return p.String()
}
