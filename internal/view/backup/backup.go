// Package backup shows backups: those that were made, those that are there, and what came of
// reading them again.
package backup

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/protect"
	"plumb/internal/protect/clone"
	"plumb/internal/units"
	"plumb/internal/view/page"
	protectview "plumb/internal/view/protect"
)

// BackupJSON is version 1 of what backup --json prints.
type BackupJSON struct {
	Plumb   int           `json:"plumb"`
	Kind    string        `json:"kind"`           // "backup"
	To      string        `json:"to"`             // where it is kept
	Also    []string      `json:"also,omitempty"` // and where else
	Backup  OneJSON       `json:"backup"`
	Sent    int64         `json:"sent_bytes"`    // in objects, by this run
	Skipped int64         `json:"skipped_bytes"` // of the streams, that a run before had sent
	GoesOn  bool          `json:"resumed"`       // this run ended what one before had begun
	Took    time.Duration `json:"took_ns"`
	Lost    []LostJSON    `json:"lost,omitempty"`        // places that do not have it
	Whole   string        `json:"full_reason,omitempty"` // why all was sent, where there are backups of the same server
}

// LostJSON is a place that does not have a backup that another has.
type LostJSON struct {
	To  string `json:"to"`
	Why string `json:"why"`
}

// BackupsJSON is version 1 of what backup list --json prints.
type BackupsJSON struct {
	Plumb   int       `json:"plumb"`
	Kind    string    `json:"kind"` // "backups"
	From    string    `json:"from"`
	Backups []OneJSON `json:"backups"` // oldest first
}

// OneJSON is one backup.
type OneJSON struct {
	ID      string            `json:"id"`
	By      string            `json:"signed_by,omitempty"`
	Wrong   string            `json:"wrong,omitempty"` // why it is not believed; then nothing else is said of it
	Host    string            `json:"host,omitempty"`
	Server  string            `json:"server,omitempty"`
	Point   string            `json:"point,omitempty"`
	Facts   map[string]string `json:"facts,omitempty"`
	Ended   time.Time         `json:"ended,omitzero"`
	Proof   *manifest.Proof   `json:"proof,omitempty"`  // what came of the last start of a server on it
	Base    string            `json:"base,omitempty"`   // the backup that it needs
	Lacks   string            `json:"lacks,omitempty"`  // one that it needs, perhaps by others, which is not there or not believed: it cannot be restored
	Behind  *archive.Behind   `json:"behind,omitempty"` // of one that can be brought to a moment: what the archive beside it has of its log
	Streams []StreamJSON      `json:"streams,omitempty"`
}

// StreamJSON is one stream of a backup.
type StreamJSON struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`  // zfs, btrfs, command
	Bytes int64  `json:"bytes"` // of the stream
}

// RestoreJSON is version 1 of what restore --json prints.
type RestoreJSON struct {
	Plumb    int                     `json:"plumb"`
	Kind     string                  `json:"kind"` // "restore"
	ID       string                  `json:"id"`
	Datasets []backup.Received       `json:"datasets"`
	Facts    map[string]string       `json:"facts,omitempty"`
	Started  []protectview.CloneJSON `json:"started,omitempty"` // with --start: the copy that runs on it
	Took     time.Duration           `json:"took_ns"`
}

// VerifyJSON is version 1 of what verify --json prints.
type VerifyJSON struct {
	Plumb    int               `json:"plumb"`
	Kind     string            `json:"kind"` // "verify"
	From     string            `json:"from"`
	Verified []backup.Verified `json:"verified"`
	Proof    *ProofJSON        `json:"proof,omitempty"` // with --restore
	Took     time.Duration     `json:"took_ns"`
}

// ProofJSON is what came of a server that was started on a backup that was restored.
type ProofJSON struct {
	ID    string        `json:"id"`
	Drill protect.Drill `json:"drill"`
	Notes []string      `json:"notes,omitempty"` // what of the archive was not replayed, and why
}

func one(m manifest.Manifest, behind map[string]archive.Behind) OneJSON {
	o := OneJSON{ID: m.ID, Host: m.Host, Server: m.Server, Point: m.Point, Facts: m.Facts, Ended: m.Ended}
	for _, s := range m.Streams {
		o.Streams = append(o.Streams, StreamJSON{s.Name, string(s.Kind), s.Bytes})
		if s.Base != nil {
			o.Base = s.Base.Backup
		}
	}
	if b, is := behind[m.ID]; is {
		o.Behind = &b
	}
	return o
}

// Document is the document of a backup that was made.
func Document(to []string, r backup.Result, behind map[string]archive.Behind) BackupJSON {
	doc := BackupJSON{Plumb: 1, Kind: "backup", To: to[0], Also: to[1:], Backup: one(r.Manifest, behind), Sent: r.Sent, Skipped: r.Skipped, GoesOn: r.GoesOn, Took: r.Took, Whole: r.Whole}
	for _, l := range r.Lost {
		doc.Lost = append(doc.Lost, LostJSON{l.URL, l.Err.Error()})
	}
	return doc
}

// ListDocument is the document of those that are there.
func ListDocument(from string, all []backup.Found, behind map[string]archive.Behind) BackupsJSON {
	doc := BackupsJSON{Plumb: 1, Kind: "backups", From: from, Backups: []OneJSON{}}
	lacks := backup.Lacks(all)
	for _, f := range all {
		o := one(f.Manifest, behind)
		o.By, o.Proof, o.Lacks = f.By, f.Proof, lacks[f.ID]
		if f.Err != nil {
			o = OneJSON{ID: f.ID, Wrong: f.Err.Error()}
		}
		doc.Backups = append(doc.Backups, o)
	}
	return doc
}

// RestoreDocument is the document of what was restored.
func RestoreDocument(m manifest.Manifest, all []backup.Received, started []clone.Clone, took time.Duration) RestoreJSON {
	return RestoreJSON{Plumb: 1, Kind: "restore", ID: m.ID, Datasets: page.NotNil(all), Facts: m.Facts, Started: protectview.ClonesDocument(started, nil).Clones, Took: took}
}

// VerifyDocument is the document of what was read again.
func VerifyDocument(from string, all []backup.Verified, took time.Duration) VerifyJSON {
	return VerifyJSON{Plumb: 1, Kind: "verify", From: from, Verified: page.NotNil(all), Took: took}
}

// ProofDocument is the document of a backup on which a server was started.
func ProofDocument(from string, m manifest.Manifest, d protect.Drill, notes []string) VerifyJSON {
	return VerifyJSON{Plumb: 1, Kind: "verify", From: from, Verified: []backup.Verified{}, Proof: &ProofJSON{m.ID, d, notes}, Took: d.Took}
}

// Proven says what came of it.
func Proven(m manifest.Manifest, d protect.Drill, notes []string, screen page.Screen) string {
	p := page.NewPage(screen)
	p.Line(page.Bold, "Backup "+m.ID+", restored and started")
	protectview.DrillRows(p, d)
	for _, note := range notes {
		p.Para("", 2, note)
	}
	p.Para(page.Dim, 0, "What was restored for it has been removed.")
	return p.String()
}

// bytesText writes a number of bytes that was counted: exactly where it is small.
func bytesText(n int64) string {
	if n < 1024 {
		return units.Bytes(n)
	}
	return units.Measured(float64(n))
}

// Made says what was backed up.
func Made(to []string, r backup.Result, screen page.Screen) string {
	p := page.NewPage(screen)
	p.Line(page.Bold, "Backup "+r.ID+" in "+strings.Join(to, " and "))
	for _, s := range r.Streams {
		text := s.Name + ": " + bytesText(s.Bytes)
		if s.Base != nil {
			text += ", what changed since backup " + s.Base.Backup
		}
		p.Hang(page.Normal, "  ", text)
	}
	line := fmt.Sprintf("Sent %s in %s, %s of data a second.", bytesText(r.Sent), units.Span(r.Took), units.Measured(float64(r.Bytes()-r.Skipped)/max(r.Took.Seconds(), 0.001)))
	if r.GoesOn && r.Skipped > 0 {
		line += fmt.Sprintf(" It continued an earlier run, which had sent %s.", bytesText(r.Skipped))
	}
	p.Para(page.Normal, 0, line)
	if r.Whole != "" {
		p.Para(page.Normal, 0, "This is a full backup: "+r.Whole+".")
	}
	p.Para(page.Dim, 0, "The store lists all its objects, and its manifest was read back. That does not prove that it can be restored: plumb verify does.")
	return p.String()
}

// List says which backups are there.
func List(from string, all []backup.Found, behind map[string]archive.Behind, screen page.Screen) string {
	p := page.NewPage(screen)
	if len(all) == 0 {
		p.Line(page.Normal, "There are no backups in "+from+".")
		return p.String()
	}
	p.Line(page.Bold, "Backups in "+from)
	lacks := backup.Lacks(all)
	for _, f := range all {
		head := "  " + f.ID + "  "
		if f.Err != nil {
			p.Hang(page.Bold, head, "not trusted: "+f.Err.Error())
			continue
		}
		words := []string{bytesText(f.Bytes())}
		if o := one(f.Manifest, nil); o.Base != "" {
			words = append(words, "needs "+o.Base)
		}
		if lacks[f.ID] != "" {
			words = append(words, "cannot be restored: "+lacks[f.ID]+" is missing, or not trusted")
		}
		if f.Server != "" {
			words = slices.Insert(words, 0, f.Server)
		} else {
			words = slices.Insert(words, 0, f.Streams[0].Name)
		}
		if label := f.Facts["label"]; label != "" {
			words = append(words, "of a point that is "+label)
		}
		switch {
		case f.Proof != nil && f.Proof.OK:
			words = append(words, "a server started on it on "+f.Proof.At.UTC().Format(time.DateOnly))
		case f.Proof != nil:
			words = append(words, "a server failed to start on it on "+f.Proof.At.UTC().Format(time.DateOnly))
		}
		if b, is := behind[f.ID]; is && !b.Archived {
			words = append(words, short(b))
		}
		p.Hang(page.Normal, head, strings.Join(words, ", ")+", signed by "+f.By)
	}
	return p.String()
}

// Restored says what was brought back.
func Restored(m manifest.Manifest, all []backup.Received, started []clone.Clone, took time.Duration, screen page.Screen) string {
	p := page.NewPage(screen)
	p.Line(page.Bold, "Restored backup "+m.ID)
	var n int64
	for _, r := range all {
		n += r.Bytes
		text := r.From + " to " + r.Dataset
		if r.Bytes == 0 {
			text += ": was there already"
		}
		p.Hang(page.Normal, "  ", text)
		if lacks := backup.Lacking(m, r); lacks != "" {
			p.Hang(page.Normal, "    ", lacks)
		}
	}
	p.Para(page.Normal, 0, fmt.Sprintf("%s in %s.", bytesText(n), units.Span(took)))
	for _, name := range slices.Sorted(maps.Keys(m.Facts)) {
		if strings.HasPrefix(name, backup.Unsent) {
			continue // said above
		}
		p.Hang(page.Dim, "  "+page.Columns(name, 17), m.Facts[name])
	}
	if len(started) > 0 {
		return p.String() + protectview.Clones(started, screen)
	}
	done := "Nothing is mounted. "
	switch kind := backup.KindOf(m); {
	case kind == manifest.Command && !m.Provable(): // a dump is no server
		return p.String()
	case kind == manifest.Command:
		done = ""
	case kind == manifest.Btrfs && len(all) > 0 && strings.HasPrefix(all[0].Dataset, "/"):
		done = "Only root can enter " + path.Dir(all[0].Dataset) + " until you chmod it. "
	}
	p.Para(page.Dim, 0, done+"A server on it would have the identity of the one that was backed up: give it another before the two can reach each other.")
	return p.String()
}

// Verified says what was read again.
func Verified(all []backup.Verified, took time.Duration, screen page.Screen) string {
	p := page.NewPage(screen)
	for _, v := range all {
		opened := "compared with the hashes that were signed when they were sent, but not decrypted: no key was given"
		if v.Opened {
			opened = "decrypted and unpacked"
		}
		p.Hang(page.Normal, v.ID+"  ", fmt.Sprintf("%s, all there and of the right size; %d read (%s of the streams), %s", units.Count(int(v.Objects), "object"), v.Read, bytesText(v.Bytes), opened))
	}
	p.Para(page.Dim, 0, "Read in "+units.Span(took)+". This does not prove that a server starts on it: plumb verify --restore does.")
	return p.String()
}
