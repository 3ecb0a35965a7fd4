package backup

import (
	"maps"
	"slices"
	"strings"
	"time"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// Shown tells of the last of some backups, which needs those before it.
func Shown(from string, chain []backup.Found, behind map[string]archive.Behind, screen page.Screen) string {
	p := page.NewPage(screen)
	last := len(chain) - 1
	f := chain[last]
	p.Line(page.Bold, "Backup "+f.ID+" in "+from)
	row := func(name, text string) {
		if text != "" {
			p.Hang(page.Normal, "  "+page.Columns(name, 12), text)
		}
	}
	row("server", f.Server)
	row("point", f.Point)
	row("host", f.Host+", with Plumb "+f.Plumb)
	row("made", f.Began.UTC().Format("2006-01-02 15:04:05")+" to "+units.Moment(f.Ended))
	for _, s := range f.Streams {
		text := s.Name + ": " + bytesText(s.Bytes)
		if s.Base != nil {
			text += ", what changed since backup " + s.Base.Backup
		}
		row("stream", text)
	}
	var needs []string
	for _, before := range chain[:last] {
		needs = append(needs, before.ID)
	}
	row("needs", strings.Join(needs, ", "))
	for _, name := range slices.Sorted(maps.Keys(f.Facts)) {
		row("fact", name+" = "+f.Facts[name])
	}
	row("signed by", f.By)
	row("proof", proofText(f))
	if b, is := behind[f.ID]; is && !b.Archived {
		row("log", short(b))
	} else if is {
		row("log", "the position at which it begins is archived")
	}
	return p.String()
}

// proofText tells whether a server was started on a backup.
func proofText(f backup.Found) string {
	switch {
	case !f.Provable():
		return ""
	case f.Proof == nil:
		return "no trusted host has started a server on it yet: plumb verify --restore does"
	case f.Proof.OK:
		return "a server started on it on " + f.Proof.At.UTC().Format(time.DateOnly)
	}
	return "a server failed to start on it on " + f.Proof.At.UTC().Format(time.DateOnly) + ": " + f.Proof.Why
}
