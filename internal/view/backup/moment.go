package backup

import (
	"fmt"
	"strings"
	"time"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/moment"
	"plumb/internal/protect/replay"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// MomentJSON is version 1 of what restore --to --json prints.
type MomentJSON struct {
	Plumb     int           `json:"plumb"`
	Kind      string        `json:"kind"` // "restore-moment"
	ID        string        `json:"id"`
	Directory string        `json:"directory,omitempty"` // of the server's data; not with --dry-run
	Way       moment.Way    `json:"way"`
	Took      time.Duration `json:"took_ns"`
}

// MomentDocument is the document of a base that was brought to a moment.
func MomentDocument(m manifest.Manifest, w moment.Way, dir string, took time.Duration) MomentJSON {
	w.Before, w.After, w.Next = page.NotNil(w.Before), page.NotNil(w.After), page.NotNil(w.Next)
	return MomentJSON{Plumb: 1, Kind: "restore-moment", ID: m.ID, Directory: dir, Way: w, Took: took}
}

// Moment says where a base was brought; dir is "" when nothing was done.
func Moment(m manifest.Manifest, w moment.Way, to, dir string, took time.Duration, screen page.Screen) string {
	p := page.NewPage(screen)
	head := "Backup " + m.ID + " would be brought to " + to
	if dir != "" {
		head = "Restored backup " + m.ID + " to " + dir + ", up to " + to
	}
	p.Line(page.Bold, head)
	what, itself := "the base backup", "the base backup as it was when it ended"
	if m.Point != "" {
		what, itself = "the point", "the point as it was taken"
	}
	if w.Files == 0 {
		p.Hang(page.Normal, "  ", "no archived log is replayed: this is "+itself)
	} else {
		p.Hang(page.Normal, "  ", fmt.Sprintf("%s after %s, from %s to %s: %s with %s of log", units.Count(w.Count, "transaction"), what, w.From, w.Last, units.Count(w.Files, "piece"), bytesText(w.Bytes)))
	}
	for _, t := range w.Before {
		p.Hang(page.Dim, "  replayed      ", transaction(t))
	}
	for _, t := range w.After {
		p.Hang(page.Dim, "  not replayed  ", transaction(t))
	}
	if len(w.After) == 0 && w.Files > 0 {
		p.Hang(page.Dim, "  ", "the log that is replayed ends there")
	}
	for _, note := range w.Notes {
		p.Para(page.Normal, 0, note)
	}
	for _, next := range w.Next {
		p.Hang(page.Normal, "- ", next)
	}
	if dir != "" {
		p.Para(page.Dim, 0, "In "+units.Span(took)+".")
	}
	return p.String()
}

func transaction(t replay.Transaction) string {
	words := []string{units.Instant(t.Time)}
	if t.GTID != "" {
		words = append(words, t.GTID)
	}
	return page.OneLine(strings.Join(append(words, t.What), ", "))
}
