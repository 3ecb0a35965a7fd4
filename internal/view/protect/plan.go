package protect

import (
	"strings"

	"plumb/internal/protect"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// Plan shows what a point of a server would be: what it keeps data on, and each mode
// with its reason. mode is the one that would be taken; "" when refused says why none is.
func Plan(plan protect.Plan, mode string, refused error, screen page.Screen) string {
	p := page.NewPage(screen)
	p.Line(page.Bold, page.Clean(plan.Server.Ref.String()+", "+plan.Server.Product))
	p.Blank()
	volumes(p, plan.Set)
	for _, m := range plan.Modes {
		p.Blank()
		modeOf(p, m, m.Name == mode)
	}
	p.Blank()
	switch {
	case refused != nil:
		p.Hang(page.Red, "Refused: ", refused.Error())
	default:
		p.Para(page.Dim, 0, "Nothing was locked and nothing was made. Without --dry-run the point is taken in mode "+mode+".")
	}
	return p.String()
}

// volumes shows the volumes of a server, and what is wrong with them.
func volumes(p *page.Page, s protect.Set) {
	p.Line(page.Bold, "Where it keeps its data")
	for _, v := range s.Volumes {
		text := v.Storage + " " + v.Name
		if v.Within != "" {
			text += ", directory " + v.Within
		}
		p.Hang(page.Normal, "  ", text+" at "+v.Mountpoint)
	}
	if len(s.Volumes) == 0 {
		p.Line(page.Normal, "nothing that can be snapshotted")
	}
	for _, stray := range s.Strays {
		p.Hang(page.Red, "  outside: ", stray.Path+", "+stray.Why)
		if stray.Hint != "" {
			p.Hang(page.Dim, "           ", stray.Hint)
		}
	}
	if s.Apart != "" {
		p.Hang(page.Yellow, "  not one moment: ", s.Apart)
	}
	if len(s.Others) > 0 {
		p.Hang(page.Yellow, "  others on it: ", strings.Join(s.Others, ", ")+"; they are in the snapshots too, and in a rollback")
	}
}

// modeOf shows one mode.
func modeOf(p *page.Page, m protect.Mode, chosen bool) {
	head, ink := "Mode "+m.Name, page.Dim
	if chosen {
		head, ink = head+", which is taken", page.Bold
	}
	p.Line(ink, head)
	if m.Not != "" {
		p.Hang(page.Dim, "  not possible: ", m.Not)
		return
	}
	p.Hang(page.Normal, "  why: ", m.Why)
	waits := m.Blocks
	if waits == "" {
		waits = "nobody"
	}
	p.Hang(page.Normal, "  who waits: ", waits)
	for _, d := range m.Doubts {
		p.Hang(page.Yellow, "  doubt: ", d)
	}
	if len(m.Will) > 0 {
		p.Hang(page.Normal, "  if plumb dies: ", "another process, started beforehand, runs "+strings.Join(m.Will, "; "))
	}
	if len(m.Order) > 0 {
		p.Hang(page.Normal, "  one by one: ", strings.Join(m.Order, ", "))
	}
	p.List(page.Dim, "  statements: ", m.Statements)
}

func lines(err error) []string {
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

// bytesOf writes a size that may not be known.
func bytesOf(n int64) string {
	if n < 0 {
		return "?"
	}
	return units.Measured(float64(n))
}
