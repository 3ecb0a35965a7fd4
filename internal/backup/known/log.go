package known

import (
	"time"

	"plumb/internal/archive"
	"plumb/internal/backup"
)

// What is known of the log behind the newest base of a server.
const (
	LogArchived = "archived"
	LogMissing  = "missing"
)

// settled is how old a base is when it is judged: the last of the log that was written while it was made may arrive after it.
const settled = time.Hour

// Logged notes whether the log behind the newest base of each server is archived beside it. behind is what was found there with the list.
func (p *Place) Logged(all []backup.Found, behind map[string]archive.Behind, now time.Time) {
	for i := range p.Servers {
		p.Servers[i].Log = ""
	}
	newest := map[string]time.Time{}
	for _, f := range all {
		b, is := behind[f.ID]
		if !is || now.Sub(f.Ended) < settled || f.Ended.Before(newest[f.Of()]) {
			continue
		}
		if s := p.server(f.Of()); s != nil {
			newest[s.Name], s.Log = f.Ended, LogMissing
			if b.Archived {
				s.Log = LogArchived
			}
		}
	}
}
