package lab

import (
	"plumb/internal/lab/report"
	"plumb/internal/view/page"
)

// dipSentences say of which arms the rate falls again and again.
func dipSentences(r report.Report) (all []string) {
	for _, a := range r.Arms {
		d := a.Dips
		if d == nil {
			continue
		}
		all = append(all, a.Name+": "+page.Dips(d.Every, d.Length, d.Depth, d.N)+".")
	}
	return all
}
