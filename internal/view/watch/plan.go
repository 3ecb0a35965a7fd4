package watch

import (
	"fmt"
	"strings"

	"plumb/internal/series"
	"plumb/internal/units"
	"plumb/internal/watch"
)

// PlanLines writes a plan for people, a line for each step; a step that reads all
// rows, sorts or keeps rows aside begins with "!".
func PlanLines(p series.Plan) []string {
	if p.Why != "" {
		return []string{Plain("no plan: " + withHint(p.Why, p.Hint))}
	}
	out := []string{Plain("of " + p.By + "; rows and costs are what the server expects")}
	for _, s := range p.Steps {
		out = append(out, Plain(strings.Repeat("· ", min(max(s.Depth, 0), 20))+step(s)))
	}
	return out
}

func step(s series.PlanStep) string {
	text := s.Does
	if s.Mark {
		text = "! " + text
	}
	if s.Rows != nil {
		text += ", " + units.Whole(*s.Rows) + " rows"
	}
	if s.Cost != nil {
		text += ", cost " + units.Number(*s.Cost)
	}
	return text
}

// planOf finds the plan of a statement, if it was asked for.
func planOf(s watch.Server, id string) (series.Plan, bool) {
	for _, p := range s.Plans {
		if p.Statement == id {
			return p, true
		}
	}
	return series.Plan{}, false
}

func boardIndexes(s watch.Server) []BoardIndex {
	if s.Indexes == nil {
		return nil
	}
	return each(s.Indexes.List, func(x series.Index) BoardIndex {
		return BoardIndex{Plain(s.Ref.String()), Plain(indexName(x)), Plain(indexWhy(x))}
	})
}

func indexName(x series.Index) string {
	return strings.TrimPrefix(x.Database+"."+x.Table+" "+x.Name, ".")
}

func indexWhy(x series.Index) string {
	switch {
	case x.DoneBy != "":
		return x.DoneBy + " does its work too"
	case !x.Since.IsZero():
		return "nothing has read it since " + units.Moment(x.Since)
	}
	return "nothing has read it"
}

// mostIndexes is how many one screen names.
const mostIndexes = 3

// indexLine says on one line which indexes are redundant or were not read.
func indexLine(s watch.Server) string {
	switch {
	case s.Indexes == nil:
		return ""
	case len(s.Indexes.List) == 0 && s.Indexes.Why != "":
		return "not known: " + withHint(s.Indexes.Why, s.Indexes.Hint)
	case len(s.Indexes.List) == 0:
		return ""
	}
	redundant, unread := 0, 0
	var named []string
	for _, x := range s.Indexes.List {
		if x.DoneBy != "" {
			redundant++
		} else {
			unread++
		}
		if len(named) < mostIndexes {
			named = append(named, indexName(x)+" ("+indexWhy(x)+")")
		}
	}
	text := fmt.Sprintf("%d redundant, %d not read: %s", redundant, unread, strings.Join(named, "; "))
	if n := len(s.Indexes.List) - len(named); n > 0 {
		text += fmt.Sprintf("; and %d more", n)
	}
	if s.Indexes.Why != "" {
		text += "; not known of all: " + s.Indexes.Why
	}
	return text
}
