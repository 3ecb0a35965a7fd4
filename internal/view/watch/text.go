package watch

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/rule"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/units"
	"plumb/internal/view/page"
	"plumb/internal/watch"
)

// How much of a kind one screen shows.
const (
	mostStatements = 5
	mostSessions   = 5
	mostGaps       = 6
)

// Text writes one screen that a person can act on: of each server first what
// holds it back, what speaks for that and against it, and what to do.
func Text(m watch.Moment, cat *catalog.Catalog, screen page.Screen) string {
	p := page.NewPage(screen)
	p.Sides("", page.Bold, "What limits the servers of "+cmp.Or(m.Hostname, "this host"), page.Dim, units.Moment(m.At))
	for _, s := range m.Servers {
		p.Blank()
		server(p, m, s, cat)
	}
	if len(m.Servers) == 0 {
		p.Blank()
		p.Line(page.Normal, "No server is seen.")
	}
	gaps(p, m)
	return p.String()
}

func server(p *page.Page, m watch.Moment, s watch.Server, cat *catalog.Catalog) {
	p.Sides("", page.Bold, s.Ref.String(), page.Dim, s.Title)
	if !s.Up {
		p.Para(page.Yellow, 2, "Nothing was read from it in this window.")
	}
	p.Hang(page.Normal, "  load      ", load(s, m.Window))
	if text := classes(s); text != "" {
		p.Hang(page.Normal, "  time      ", text)
	}
	raised := of(m.Verdicts, s.Ref)
	switch {
	case len(raised) > 0:
		for i, v := range raised {
			p.Blank()
			verdict(p, v, i == 0, m.At, cat)
		}
	case s.Up:
		p.Blank()
		p.Para(page.Normal, 2, nothing(s))
	}
	p.Blank()
	statements(p, s, m)
	sessions(p, s)
	ruled(p, s)
	unknown(p, s)
}

// nothing says that no verdict is raised. Where some cannot be told that is no
// news of the server, and where one holds it may come.
func nothing(s watch.Server) string {
	if len(s.Unknown)+len(s.Brief) == 0 {
		return "Nothing that Plumb knows holds it back now."
	}
	var all []string
	if len(s.Brief) > 0 {
		all = append(all, strings.Join(s.Brief, ", ")+" held in this window, and not yet in three of the last five")
	} else {
		all = append(all, "No limit is seen")
	}
	if n := len(s.Unknown); n > 0 {
		all = append(all, fmt.Sprintf("%d of %d verdicts unknown: see unknown below", n, n+len(s.Ruled)+len(s.Brief)))
	}
	return strings.Join(all, "; ") + "."
}

func of(all []watch.Verdict, server stack.Ref) (out []watch.Verdict) {
	for _, v := range all {
		if v.Server == server {
			out = append(out, v)
		}
	}
	return out
}

// load is what the server does, in numbers.
func load(s watch.Server, window time.Duration) string {
	parts := []string{active(s, window)}
	for _, r := range s.Rates {
		parts = append(parts, r.Label+" "+valueText(r))
	}
	return strings.Join(parts, " · ")
}

// active says how many sessions were active in the window. That there was none does not contradict a verdict about half a minute.
func active(s watch.Server, window time.Duration) string {
	if s.Active == nil || !units.IsReal(*s.Active) {
		return "active sessions not known"
	}
	switch n := units.Number(*s.Active); n {
	case "0":
		return "0 active sessions in the last " + units.Span(window)
	case "1":
		return "1 active session"
	default:
		return n + " active sessions"
	}
}

// valueText writes a live number with its unit.
func valueText(r watch.Rate) string {
	switch r.Unit {
	case "bytes/s":
		return units.Measured(r.Value) + "/s"
	case string(catalog.Bytes):
		return units.Measured(r.Value)
	}
	return catalog.ShowAs(catalog.Type(r.Unit), stack.Float(r.Value))
}

func classes(s watch.Server) string {
	var parts []string
	for _, c := range s.Classes {
		parts = append(parts, fmt.Sprintf("%s %s", c.Class, interval(c.Of)))
	}
	return strings.Join(parts, " · ")
}

// interval writes a share with its range.
func interval(i watch.Interval) string {
	return fmt.Sprintf("%.0f %% (%.0f to %.0f)", 100*i.Value, 100*i.Low, 100*i.High)
}

func verdict(p *page.Page, v watch.Verdict, first bool, at time.Time, cat *catalog.Catalog) {
	head, ink := "  ALSO      ", page.Yellow
	if first {
		head, ink = "  LIMIT     ", page.Red
	}
	if v.ID == watch.Idle {
		head, ink = "  IDLE      ", page.Normal
	}
	p.Labelled(ink, head, page.Bold, v.Title)
	p.Hang(page.Normal, "            ", v.ID+" · "+costSince(v, at, clock(v.Since, at)))
	if len(v.Causes) > 0 {
		p.Hang(page.Normal, "  because   ", strings.Join(v.Causes, ", ")+": this is how that shows at a higher level")
	}
	if len(v.Effects) > 0 {
		p.Hang(page.Normal, "  causes    ", strings.Join(v.Effects, ", "))
	}
	p.Hang(page.Normal, "  that is   ", v.Say)
	var seen []string
	for _, e := range v.Evidence {
		seen = append(seen, evidence(cat, e))
	}
	if len(seen) > 0 {
		p.Hang(page.Normal, "  evidence  ", strings.Join(seen, " · "))
	}
	p.List(page.Normal, "  against   ", each(v.Against, against))
	p.List(page.Normal, "  do        ", v.Do)
	if len(v.Rules) > 0 {
		p.Hang(page.Dim, "  see also  ", "plumb explain "+v.ID+"; plumb check judges "+strings.Join(v.Rules, ", "))
	}
}

func evidence(cat *catalog.Catalog, e rule.Evidence) string {
	return fmt.Sprintf("%s %s (%s)", called(e.Name), shown(cat, e), e.Of)
}

// called gives the name of a fact as people read it.
func called(name string) string {
	least, low := strings.CutSuffix(name, "_low")
	most, high := strings.CutSuffix(name, "_high")
	switch {
	case low:
		name = least + " at least"
	case high:
		name = most + " at most"
	}
	return strings.ReplaceAll(strings.TrimSuffix(name, "_rate"), "_", " ")
}

// asked is a fact as a verdict names it: db.share_log_low = 5.68 %.
var asked = regexp.MustCompile(`\b[a-z]+\.([a-z0-9_]+)(?: =)? `)

// inWords writes the facts that rule a verdict out as people read them. One that
// does not exist there tells a person nothing.
func inWords(why string) string {
	facts := slices.DeleteFunc(strings.Split(why, ", "), func(f string) bool { return strings.HasSuffix(f, " absent") })
	return asked.ReplaceAllStringFunc(strings.Join(facts, ", "), func(s string) string { return called(asked.FindStringSubmatch(s)[1]) + " " })
}

func shown(cat *catalog.Catalog, e rule.Evidence) string {
	return catalog.Show(cat.Fact(e.Of.Kind, e.Name), e.Fact.Value)
}

func against(a watch.Against) string {
	switch a.Holds {
	case rule.Fires:
		return "it is so: " + a.Says
	case rule.Quiet:
		return "checked and ruled out: " + a.Says
	}
	return "not known: " + a.Says
}

func statements(p *page.Page, s watch.Server, m watch.Moment) {
	head := "  costliest "
	for _, c := range costliest(s.Statements, m.By) {
		text := fmt.Sprintf("%.0f %% of statement time, %s in the last %s", 100*c.Share, calls(c.Calls), lasted(c.Over))
		if t := touched(c); t != "" && !c.Rest {
			text += ", " + t
		}
		text += ": "
		if c.SlowerCalls != nil && c.MoreCalls != nil {
			text += change(*c.SlowerCalls, *c.MoreCalls)
		}
		p.Hang(page.Normal, head, text+cut(statementName(c), 160))
		head = "            "
		if plan, asked := planOf(s, c.ID); asked {
			for _, line := range PlanLines(plan) {
				p.Hang(page.Dim, "              ", line)
			}
		}
	}
	for _, g := range m.Gaps {
		if g.Of == s.Ref && g.Name == series.Prepared {
			p.Hang(page.Yellow, head, "not among them: "+g.Why)
		}
	}
	if text := indexLine(s); text != "" {
		p.Hang(page.Normal, "  indexes   ", text)
	}
}

// costliest are the statements that are shown: of those that are listed by time, only which take some. Plumb's own come
// last whatever they cost, so they have a line beside the others.
func costliest(all []watch.StatementChange, by watch.Order) (shown []watch.StatementChange) {
	for _, c := range all {
		if c.Share < leastShare && (by == "" || c.Own()) {
			continue // it says nothing
		}
		if c.Own() || len(shown) < mostStatements {
			shown = append(shown, c)
		}
	}
	return shown
}

// statementName is the text of a statement, or what stands for it.
func statementName(c watch.StatementChange) string {
	switch {
	case c.Rest:
		return "all others"
	case c.Own():
		return "Plumb's own"
	case strings.TrimSpace(c.Text) != "":
		return c.Text
	}
	return "statement " + c.ID
}

// leastShare of the time of all statements is what one shows for.
const leastShare = 0.005

func calls(n float64) string {
	if n == 1 {
		return "1 call"
	}
	return units.Grouped(int64(math.Round(n))) + " calls"
}

// change says why a statement costs more or less than in the minute before, or when it is compared with.
func change(slower, more float64) string {
	text := strings.Trim(part(more, "by more calls", "by fewer calls")+", "+part(slower, "by slower calls", "by faster calls"), ", ")
	if text == "" {
		return ""
	}
	return text + ": "
}

func cut(text string, n int) string {
	return page.Cut(strings.Join(strings.Fields(text), " "), n)
}

func sessions(p *page.Page, s watch.Server) {
	head := "  sessions  "
	for i, x := range s.Sessions {
		if i == mostSessions {
			p.Hang(page.Dim, head, fmt.Sprintf("and %d more", len(s.Sessions)-i))
			break
		}
		what := string(x.Class)
		if !x.Active {
			what = x.Idle()
		}
		if x.Wait != "" {
			what += " (" + x.Wait + ")"
		}
		text := fmt.Sprintf("%d %s for %s", x.ID, what, units.Short(x.For.Round(time.Second)))
		if x.User != "" {
			text += ", " + x.User
		}
		if len(x.BlockedBy) > 0 {
			text += ", waits for " + waitsFor(x)
		}
		if runs := textOf(s, x); runs != "" {
			text += ": " + cut(runs, 80)
		}
		p.Hang(page.Normal, head, text)
		head = "            "
	}
}

func ruled(p *page.Page, s watch.Server) {
	var parts []string
	for _, r := range s.Ruled {
		text := r.ID
		if why := inWords(r.Why); why != "" {
			text += " (" + why + ")"
		}
		parts = append(parts, text)
	}
	if len(parts) > 0 {
		p.Hang(page.Dim, "  ruled out ", strings.Join(parts, "; "))
	}
}

// unknown lists the verdicts that cannot be told, those of one reason together:
// a server that is down is the reason of most.
func unknown(p *page.Page, s watch.Server) {
	ids, order := map[string][]string{}, []string(nil)
	for _, u := range s.Unknown {
		why := missing(u, s.Ref)
		if ids[why] == nil {
			order = append(order, why)
		}
		ids[why] = append(ids[why], u.ID)
	}
	p.List(page.Dim, "  unknown   ", each(order, func(why string) string { return strings.Join(ids[why], ", ") + ": " + why }))
}

// missing says why what would show it is not there, or else names it; --json
// has both.
func missing(u watch.UnknownVerdict, server stack.Ref) string {
	var reasons, needs []string
	for _, m := range u.Missing {
		switch {
		case m.Why == "" && m.Of == server:
			needs = append(needs, called(m.Name))
		case m.Why == "":
			needs = append(needs, called(m.Name)+" of "+m.Of.String())
		default:
			text := withHint(m.Why, m.Hint)
			if !slices.Contains(reasons, text) {
				reasons = append(reasons, text)
			}
		}
	}
	if len(needs) > 0 {
		reasons = append(reasons, "needs "+strings.Join(needs, ", "))
	}
	if len(reasons) == 0 {
		return "the value that decides it could not be computed"
	}
	return strings.Join(reasons, "; ")
}

func gaps(p *page.Page, m watch.Moment) {
	all := gapLines(m.Gaps)
	if len(all) == 0 {
		return
	}
	if more := len(all) - mostGaps; more > 0 {
		all = append(all[:mostGaps], "and "+units.Count(more, "other reason")+": --json has all")
	}
	p.Blank()
	p.List(page.Dim, "not seen    ", all)
}

// gapLines lists what cannot be seen, all of one thing for one reason together.
func gapLines(all []series.Gap) (lines []string) {
	type reason struct {
		of        stack.Ref
		why, hint string
	}
	names, order := map[reason][]string{}, []reason(nil)
	for _, g := range all {
		r := reason{g.Of, g.Why, g.Hint}
		if names[r] == nil {
			order = append(order, r)
		}
		names[r] = append(names[r], g.Name)
	}
	for _, r := range order {
		text := r.why
		if r.of != (stack.Ref{}) {
			what := r.of.String()
			if of := strings.Trim(strings.Join(names[r], ", "), ", "); of != "" {
				what = of + " of " + what
			}
			text = what + ": " + text
		}
		lines = append(lines, withHint(text, r.hint))
	}
	return lines
}

func withHint(text, hint string) string {
	if hint == "" {
		return text
	}
	return text + " (" + hint + ")"
}
