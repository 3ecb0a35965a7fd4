package metrics

import (
	"io"
	"time"

	"plumb/internal/backup"
	"plumb/internal/backup/known"
	"plumb/internal/view/metrics/naming"
)

// Backups writes what a list of backups tells: how many there are of each server, and when the newest was made
// and one was last restored. These are moments and not ages: a list that is old must not look young.
func Backups(w io.Writer, from string, all []backup.Found, now time.Time) error {
	p := known.Place{URL: from}
	p.See(all, now)
	fs := newFamilies()
	fs.backups(p)
	return text(w, fs.sorted())
}

// backups adds what is known of those in one place. What was never listed is not counted.
func (fs *families) backups(p known.Place) {
	at := label("from", naming.Clean(p.URL))
	if !p.Listed.IsZero() {
		fs.gauge("plumb_backups_listed_timestamp_seconds", "when the backups of a store were listed", unix(p.Listed), at)
		fs.gauge("plumb_backups_unusable", "backups that cannot be read, are not trusted, or need one that is missing", float64(p.Unusable), at)
	}
	for _, s := range p.Servers {
		server := label("server", naming.Clean(s.Name))
		if !p.Listed.IsZero() {
			fs.gauge("plumb_backups", "complete backups of a server, or of the output of a command, when the store was last listed", float64(s.Backups), at, server)
		}
		if !s.Newest.IsZero() {
			fs.gauge("plumb_backup_newest_timestamp_seconds", "when the newest backup ended, by the clock of the host that made it", unix(s.Newest), at, server)
		}
		if !s.Restored.IsZero() { // never is no moment
			fs.gauge("plumb_backup_restored_timestamp_seconds", "when a server last started on a backup that was restored", unix(s.Restored), at, server)
		}
	}
}

// aboutBackups adds what this host knows of its backups.
func (e *Exporter) aboutBackups(fs *families) {
	if !e.fresh(e.recalled, latePicture) {
		return
	}
	for _, p := range e.backups {
		fs.backups(p)
	}
}
