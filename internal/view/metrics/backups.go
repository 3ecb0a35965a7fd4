package metrics

import (
	"io"
	"time"

	"plumb/internal/backup"
	"plumb/internal/view/metrics/naming"
)

// Backups writes what a list of backups tells: how many there are of each server, and when the newest was made
// and one was last restored. These are moments and not ages: a list that is old must not look young.
func Backups(w io.Writer, from string, all []backup.Found, now time.Time) error {
	fs := newFamilies()
	at := label("from", naming.Clean(from))
	fs.gauge("plumb_backups_listed_timestamp_seconds", "when the backups of a store were listed", unix(now), at)
	there := map[string]backup.Found{}
	for _, f := range all {
		there[f.ID] = f
	}
	wrong := 0
	type state struct {
		n                int
		newest, restored time.Time
	}
	of := map[string]*state{}
	for _, f := range all {
		if !whole(f.ID, there, len(all)) {
			wrong++
			continue
		}
		s := of[f.Of()]
		if s == nil {
			s = &state{}
			of[f.Of()] = s
		}
		s.n++
		s.newest = later(s.newest, f.Ended)
		if f.Proof != nil && f.Proof.OK {
			s.restored = later(s.restored, f.Proof.At)
		}
	}
	fs.gauge("plumb_backups_unusable", "backups that cannot be read, are not believed, or need another that is not there", float64(wrong), at)
	for name, s := range of {
		server := label("server", naming.Clean(name))
		fs.gauge("plumb_backups", "backups of a server, or of what a command gives, that are there with all they need", float64(s.n), at, server)
		fs.gauge("plumb_backup_newest_timestamp_seconds", "when the newest backup was ended, by the clock of the host that made it", unix(s.newest), at, server)
		if !s.restored.IsZero() { // never is no moment
			fs.gauge("plumb_backup_restored_timestamp_seconds", "when a server last started on a backup that was restored", unix(s.restored), at, server)
		}
	}
	return text(w, fs.sorted())
}

// whole tells whether a backup and all it needs are there and believed. Of those that need each other in a circle none is.
func whole(id string, there map[string]backup.Found, steps int) bool {
	f, is := there[id]
	if !is || f.Err != nil || steps < 0 {
		return false
	}
	for _, base := range f.Bases() {
		if !whole(base, there, steps-1) {
			return false
		}
	}
	return true
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
