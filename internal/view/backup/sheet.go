package backup

import (
	"fmt"
	"time"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/host"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// SheetJSON is version 1 of what backup sheet --json prints.
type SheetJSON struct {
	Plumb  int            `json:"plumb"`
	Kind   string         `json:"kind"` // "backup-sheet"
	Sheets []backup.Sheet `json:"sheets"`
}

// CopyJSON is version 1 of what backup copy --json prints.
type CopyJSON struct {
	Plumb  int             `json:"plumb"`
	Kind   string          `json:"kind"` // "backup-copy"
	From   string          `json:"from"`
	To     string          `json:"to"`
	Copied []backup.Copied `json:"copied"` // those that others need come first
	Took   time.Duration   `json:"took_ns"`
}

// SheetDocument is the document of recovery sheets.
func SheetDocument(all []backup.Sheet) SheetJSON {
	return SheetJSON{Plumb: 1, Kind: "backup-sheet", Sheets: page.NotNil(all)}
}

// CopyDocument is the document of backups that were copied.
func CopyDocument(from, to string, all []backup.Copied, took time.Duration) CopyJSON {
	return CopyJSON{Plumb: 1, Kind: "backup-copy", From: from, To: to, Copied: page.NotNil(all), Took: took}
}

// Sheets prints recovery sheets. Its commands are not broken into lines: they are to be typed.
func Sheets(all []backup.Sheet, screen page.Screen) string {
	p := page.NewPage(screen)
	for i, s := range all {
		if i > 0 {
			p.Line(page.Normal, "")
		}
		p.Line(page.Bold, "Recovery sheet of "+s.Host+": "+s.URL)
		p.Hang(page.Normal, "  backups     ", s.URL)
		if s.Endpoint != "" {
			p.Hang(page.Normal, "  endpoint    ", s.Endpoint)
		}
		if s.Region != "" {
			p.Hang(page.Normal, "  region      ", s.Region)
		}
		for _, r := range s.Recipients {
			p.Hang(page.Normal, "  opened by   ", r)
		}
		p.Hang(page.Normal, "  signed by   ", s.Public)
		p.Line(page.Normal, "On another machine, with a key that opens them in key.txt:")
		p.Line(page.Normal, "  "+("plumb backup list --from "+at(s)+" --trust "+host.ShellQuoted(s.Public)))
		p.Line(page.Normal, "  "+("plumb restore --from "+at(s)+" --trust "+host.ShellQuoted(s.Public)+" --identity key.txt --into "+into(s)))
		p.Para(page.Normal, 0, "In place of --into: a base backup of pg_basebackup or mariadb-backup goes to a directory, with --dir /srv/restored --user USER --to latest; the output of another command to a file or a command, with --output FILE or --command 'LINE'.")
		p.Para(page.Dim, 0, "This sheet contains no secret. Keep it, the key and the login of the store away from this machine: without the key nobody can open the backups.")
	}
	return p.String()
}

// at is the place as a command line names it.
func at(s backup.Sheet) string {
	text := host.ShellQuoted(s.URL)
	if s.Endpoint != "" {
		text += " --endpoint " + host.ShellQuoted(s.Endpoint)
	}
	if s.Region != "" {
		text += " --region " + host.ShellQuoted(s.Region)
	}
	return text
}

// Copied says what was copied.
func Copied(from, to string, all []backup.Copied, took time.Duration, screen page.Screen) string {
	p := page.NewPage(screen)
	p.Line(page.Bold, "Copied from "+from+" to "+to)
	var sent int64
	for _, c := range all {
		text := fmt.Sprintf("%s, %s sent", units.Count(int(c.Objects), "object"), bytesText(c.Sent))
		switch {
		case c.There:
			text = "was there already"
		case c.Pruned:
			text = "is being removed there by a prune, and was not copied again"
		}
		sent += c.Sent
		p.Hang(page.Normal, "  "+c.ID+"  ", text)
	}
	p.Para(page.Normal, 0, fmt.Sprintf("Sent %s in %s. Each object was compared with its signed hash before it was written.", bytesText(sent), units.Span(took)))
	return p.String()
}

// into is a target of the kind that the backups are restored to.
func into(s backup.Sheet) string {
	if s.Kind == string(manifest.Btrfs) {
		return "/srv/restored"
	}
	return "tank/restored"
}
