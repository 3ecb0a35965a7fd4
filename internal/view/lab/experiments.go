package lab

import (
	"fmt"

	"plumb/internal/lab/ledger"
	"plumb/internal/view/page"
)

// Experiments lists the experiments of a ledger.
func Experiments(all []ledger.Summary, screen page.Screen) string {
	p := page.NewPage(screen)
	if len(all) == 0 {
		p.Line(page.Normal, "The ledger holds no experiment.")
		return p.String()
	}
	first := len("experiment")
	for _, e := range all {
		first = max(first, page.Width(e.Name))
	}
	first = min(first, 30) + 2
	row := func(name, hash, last, trials, valid string) string {
		return page.Columns(page.Cut(name, first-2), first) + page.Columns(hash, 10) + page.Columns(last, 18) + page.Right(trials, 6) + page.Right(valid, 9)
	}
	p.Line(page.Dim, row("experiment", "hash", "last trial (UTC)", "trials", "counting"))
	for _, e := range all {
		last := "–"
		if !e.Last.IsZero() {
			last = e.Last.UTC().Format("2006-01-02 15:04")
		}
		p.Line(page.Normal, row(e.Name, page.ShortHash(e.Hash), last, fmt.Sprint(e.Trials), fmt.Sprint(e.Valid)))
		if e.Question != "" {
			p.Para(page.Dim, 2, e.Question)
		}
	}
	return p.String()
}
