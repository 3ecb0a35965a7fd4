package metrics

import (
	"plumb/internal/archive"
	"plumb/internal/view/metrics/naming"
)

// aboutArchives adds what the services that archive logs said of themselves. What is wrong with them was true when that was read: one
// that was well then had spoken just before.
func (e *Exporter) aboutArchives(fs *families) {
	if !e.fresh(e.asked, latePicture) {
		return
	}
	for _, s := range e.archives {
		service := label("service", naming.Clean(s.Name))
		fs.gauge("plumb_archive_troubles", "how many things are wrong with a service that archives logs: it is silent, something fails, a log broke off", float64(len(s.Trouble(e.asked, archive.LongestLag))), service)
		fs.gauge("plumb_archive_reported_timestamp_seconds", "when a service that archives logs last said that it runs", unix(s.Alive), service)
		for _, one := range s.Sources {
			log := label("log", naming.Clean(one.Name))
			if !one.Kept.IsZero() {
				fs.gauge("plumb_archive_kept_timestamp_seconds", "when a part of a log was last archived", unix(one.Kept), log, service)
			}
			if !one.Whole.IsZero() { // nobody knows it of a log that its server hands over
				fs.gauge("plumb_archive_whole_timestamp_seconds", "all that was in a log by then is archived", unix(one.Whole), log, service)
			}
		}
	}
}
