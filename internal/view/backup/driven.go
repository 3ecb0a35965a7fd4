package backup

import (
	"fmt"
	"strings"
	"time"

	"plumb/internal/backup/driven"
	"plumb/internal/backup/moment"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// DrivenJSON is version 1 of what backup --with and backup list --with print.
type DrivenJSON struct {
	Plumb    int            `json:"plumb"`
	Kind     string         `json:"kind"`    // "driven"
	Tool     string         `json:"tool"`    // which makes the backups
	Version  string         `json:"version"` // of it
	Stanza   string         `json:"stanza"`  // what it calls them
	Server   string         `json:"server"`
	To       string         `json:"to,omitempty"`           // where they are kept
	Config   string         `json:"config,omitempty"`       // its file
	Key      string         `json:"key,omitempty"`          // the file of the key that opens them
	Made     string         `json:"made,omitempty"`         // the label of the one that was just made
	Running  bool           `json:"running"`                // one is being made now
	Plain    bool           `json:"plain"`                  // what is in the store is known not to be encrypted
	Backups  []driven.Taken `json:"backups"`                // oldest first
	Newest   string         `json:"newest_log,omitempty"`   // the last file of the log that is archived
	Unjudged string         `json:"unjudged_log,omitempty"` // why nobody looked for holes in the log
	Unmet    []driven.Fault `json:"unmet"`                  // what is wrong
	Took     time.Duration  `json:"took_ns,omitempty"`
}

// Driven is what a tool has of a server's backups.
type Driven struct {
	Tool  string // its name
	Set   driven.Set
	Found driven.Found
	Unmet []driven.Fault // what is wrong
	Made  *driven.Taken  // the one that was just made; nil for none
	Took  time.Duration  // by that one
}

// Document is the document of it.
func (v Driven) Document() DrivenJSON {
	s, f := v.Set, v.Found
	doc := DrivenJSON{Plumb: 1, Kind: "driven", Tool: v.Tool, Version: f.Version, Stanza: s.Name, Server: s.Server.Ref.String(), To: s.URL, Config: s.Config, Running: f.Running, Plain: f.Plain,
		Backups: page.NotNil(f.Backups), Newest: f.Newest, Unjudged: f.Unjudged, Unmet: page.NotNil(v.Unmet), Took: v.Took}
	if s.Private != "" {
		doc.Key = s.KeyFile()
	}
	if v.Made != nil {
		doc.Made = v.Made.Label
	}
	return doc
}

// Text says what the tool has, and of a backup that was just made where its key is.
func (v Driven) Text(screen page.Screen) string {
	p, s, f := page.NewPage(screen), v.Set, v.Found
	head := fmt.Sprintf("Backups of %s, by %s %s", s.Server.Ref, v.Tool, f.Version)
	if s.URL != "" {
		head += " in " + s.URL
	}
	p.Line(page.Bold, head)
	if v.Made != nil {
		p.Hang(page.Normal, "  ", fmt.Sprintf("made %s, in %s", v.Made.Label, units.Span(v.Took)))
	}
	for _, b := range f.Backups {
		p.Hang(page.Normal, "  "+b.Label+"  ", drivenWords(b))
	}
	if f.Newest != "" {
		text := "The log is archived up to " + f.Newest + "."
		if f.Unjudged != "" {
			text += " Whether it has gaps is not known: " + f.Unjudged + "."
		}
		p.Para(page.Normal, 0, text)
	}
	if f.Running {
		p.Para(page.Normal, 0, "A backup is being made.")
	}
	for _, u := range v.Unmet {
		p.Hang(page.Bold, "- ", u.Why)
		if u.Hint != "" {
			p.Hang(page.Dim, "  ", u.Hint)
		}
	}
	if v.Made != nil && s.Private != "" {
		drivenSheet(p, v.Tool, s)
	}
	return p.String()
}

func drivenWords(b driven.Taken) string {
	words := []string{string(b.Type), units.Minute(b.Ended), bytesText(b.Bytes) + ", " + bytesText(b.Stored) + " stored"}
	if b.Needs != "" {
		words = append(words, "needs "+b.Needs)
	}
	if b.Damaged {
		words = append(words, "with damaged pages")
	}
	switch {
	case b.Failed.After(b.Proven):
		words = append(words, "no server started on it on "+b.Failed.UTC().Format(time.DateOnly))
	case !b.Proven.IsZero():
		words = append(words, "a server started on it on "+b.Proven.UTC().Format(time.DateOnly))
	}
	return strings.Join(words, ", ")
}

// drivenSheet says what must be kept elsewhere: who restores on another machine has nothing but that.
func drivenSheet(p *page.Page, tool string, s driven.Set) {
	p.Para(page.Normal, 0, "The key that opens them is in "+s.KeyFile()+". Keep a copy of that file elsewhere: without it nobody can restore them. On another machine:")
	more := ""
	if s.Endpoint != "" {
		more = " --endpoint '" + s.Endpoint + "' --region '" + s.Region + "'"
	}
	p.Hang(page.Dim, "  ", fmt.Sprintf("plumb restore --with %s --from '%s'%s --stanza %s --identity key.conf --user postgres --dir /srv/restored --to latest", tool, s.URL, more, s.Name))
}

// DrivenMoment says where a backup was restored.
func DrivenMoment(w moment.Way, to, dir string, took time.Duration, screen page.Screen) string {
	p := page.NewPage(screen)
	p.Line(page.Bold, "Restored backup "+w.Base+" to "+dir+"; when it is started, the server recovers to "+to)
	for _, note := range w.Notes {
		p.Para(page.Normal, 0, note)
	}
	for _, one := range w.Next {
		p.Hang(page.Normal, "- ", one)
	}
	p.Para(page.Dim, 0, "In "+units.Span(took)+".")
	return p.String()
}
