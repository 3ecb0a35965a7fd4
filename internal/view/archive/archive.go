// Package archive shows what is archived, and how the services are that do it.
package archive

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/archive"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// ArchiveStatusJSON is version 1 of what archive status --json prints.
type ArchiveStatusJSON struct {
	Plumb    int           `json:"plumb"`
	Kind     string        `json:"kind"` // "archive-status"
	Services []ServiceJSON `json:"services"`
}

// ServiceJSON is one service that archives.
type ServiceJSON struct {
	archive.Status
	Trouble []string `json:"trouble"` // what is wrong with it, each in a sentence
}

// ArchiveListJSON is version 1 of what archive list --json prints.
type ArchiveListJSON struct {
	Plumb     int               `json:"plumb"`
	Kind      string            `json:"kind"` // "archive"
	From      string            `json:"from"`
	Stretches []archive.Stretch `json:"stretches"`
	Pruned    []Pruned          `json:"pruned"`
}

// Pruned says of which log the older part was pruned.
type Pruned struct {
	Server string    `json:"server"`
	Before string    `json:"before"` // place in the log, as the product writes it
	Since  time.Time `json:"since"`
	By     string    `json:"by"`              // host
	Left   int       `json:"left"`            // pieces from before that are still there
	Doubt  string    `json:"doubt,omitempty"` // why that is not believed
}

// StatusDocument is the document of services.
func StatusDocument(all []archive.Status, now time.Time, lag time.Duration) ArchiveStatusJSON {
	doc := ArchiveStatusJSON{Plumb: 1, Kind: "archive-status", Services: []ServiceJSON{}}
	for _, s := range all {
		doc.Services = append(doc.Services, ServiceJSON{s, page.NotNil(s.Trouble(now, lag))})
	}
	return doc
}

// ListDocument is the document of what is archived.
func ListDocument(from string, all []archive.Stretch, pruned []Pruned) ArchiveListJSON {
	return ArchiveListJSON{Plumb: 1, Kind: "archive", From: from, Stretches: page.NotNil(all), Pruned: page.NotNil(pruned)}
}

// Status says how the services are.
func Status(all []archive.Status, now time.Time, lag time.Duration, screen page.Screen) string {
	p := page.NewPage(screen)
	if len(all) == 0 {
		p.Line(page.Normal, "No archive service runs on this host.")
		p.Para(page.Dim, 0, "plumb archive run is such a service; with --emit systemd it prints the unit.")
		return p.String()
	}
	for _, s := range all {
		p.Line(page.Bold, s.Name+", to "+s.To)
		for _, one := range s.Sources {
			p.Hang(page.Normal, "  ", sourceText(one, now))
		}
		if len(s.Sources) == 0 {
			p.Hang(page.Normal, "  ", "nothing was archived since it started")
		}
		for _, wrong := range s.Trouble(now, lag) {
			p.Hang(page.Bold, "  ! ", wrong)
		}
	}
	return p.String()
}

func sourceText(s archive.Source, now time.Time) string {
	words := []string{s.Name}
	if s.Last != "" {
		words = append(words, "up to "+s.Last)
	}
	if !s.Kept.IsZero() {
		words = append(words, "the last "+units.Span(now.Sub(s.Kept).Round(time.Second))+" ago")
	}
	if !s.Whole.IsZero() {
		words = append(words, "all that was written until "+units.Span(now.Sub(s.Whole).Round(time.Second))+" ago")
	}
	return strings.Join(append(words, fmt.Sprintf("%s with %s since the service started", units.Count(int(s.Pieces), "piece"), units.Measured(float64(s.Bytes)))), ", ")
}

// List says what is archived.
func List(from string, all []archive.Stretch, pruned []Pruned, screen page.Screen) string {
	p := page.NewPage(screen)
	if len(all)+len(pruned) == 0 {
		p.Line(page.Normal, "Nothing is archived in "+from+".")
		return p.String()
	}
	p.Line(page.Bold, "Archived in "+from)
	several := false
	for _, s := range all {
		name := s.Server
		if slices.ContainsFunc(all, func(o archive.Stretch) bool { return o.Server == s.Server && o.Series != s.Series }) {
			name, several = name+"/"+s.Series, true
		}
		if s.Hole != "" {
			p.Hang(page.Bold, "  ! ", "a gap: "+s.Hole+" is missing")
		}
		p.Hang(page.Normal, "  "+page.Columns(page.OneLine(name), 32)+"  ", fmt.Sprintf("%s to %s, %s with %s", s.From, s.To, units.Count(s.Pieces, "piece"), units.Measured(float64(s.Bytes))))
	}
	for _, one := range pruned {
		p.Hang(page.Dim, "  "+page.Columns(page.OneLine(one.Server), 32)+"  ", prunedText(one))
	}
	if several {
		p.Para(page.Normal, 0, "A binary log that was reset or broke off continues as another series. A restore replays the series of its base backup; --log NAME/SERIES names it if that is not known.")
	}
	p.Para(page.Dim, 0, "This goes by the names of the objects. plumb restore --to checks whether they are signed and complete.")
	return p.String()
}

func prunedText(one Pruned) string {
	if one.Before == "" { // nothing could be read, so that nobody says more
		return "whether it was pruned is not known: " + one.Doubt
	}
	text := fmt.Sprintf("pruned before %s at %s by %s", one.Before, units.Moment(one.Since), one.By)
	if one.Left > 0 {
		text += fmt.Sprintf("; %s still there from before", is(one.Left))
	}
	if one.Doubt != "" {
		text += ", which is not trusted: " + one.Doubt
	}
	return text
}

func is(n int) string { return units.Counted(n, "piece", "is", "are") }
