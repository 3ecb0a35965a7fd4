package metrics

import (
	"plumb/internal/series"
	"plumb/internal/view/metrics/naming"
	"plumb/internal/watch"
)

// aboutMoment says of every server which limits hold it back. A verdict is 1
// while it is raised and 0 while it is not. One that nobody can tell has no
// series, and neither has any of a server that is down: unknown is not zero.
func (e *Exporter) aboutMoment(fs *families) {
	if !e.fresh(e.judged, lateMoment) {
		return
	}
	m := e.moment
	fs.gauge("plumb_moment_timestamp_seconds", "the end of the window that verdicts are about", unix(m.At))
	for _, s := range m.Servers {
		e.aboutServer(fs, s, e.met[s.Ref].answered, m.Verdicts)
	}
	for _, s := range e.ended() {
		e.aboutServer(fs, s, true, nil)
	}
}

// aboutServer says whether it is up, where that is known, and what limits it. One that gave Plumb no answer ever may
// well answer others. That it has little to do is a verdict, and no limit.
func (e *Exporter) aboutServer(fs *families, s watch.Server, known bool, raised []watch.Verdict) {
	server := naming.ServerLabel(s.Ref)
	fs.gauge("plumb_server_info", "a server; always 1", 1, server, label("product", naming.Clean(s.Product)), label("title", naming.Clean(s.Title)))
	if known || s.Up {
		e.aboutAnswers(fs, s, server)
	}
	if !s.Up {
		return
	}
	unknown := map[string]bool{}
	for _, u := range s.Unknown {
		unknown[u.ID] = true
	}
	fs.gauge("plumb_bottleneck_unknown", "verdicts about a server that cannot be judged, because facts are missing", float64(len(unknown)), server)
	idle := 0.0
	for _, v := range raised {
		switch {
		case v.Server != s.Ref:
		case v.ID == watch.Idle:
			idle = 1
		default:
			e.aboutVerdict(fs, v)
		}
	}
	if !unknown[watch.Idle] {
		fs.gauge("plumb_server_idle", "1 while a server has so little to do that only its clients limit it", idle, server)
	}
	for _, id := range e.o.Verdicts {
		if !unknown[id] && id != watch.Idle {
			e.bottleneck(fs, id, 0, server) // one that is raised is there already
		}
	}
}

func (e *Exporter) aboutAnswers(fs *families, s watch.Server, server naming.Label) {
	up := 0.0
	if s.Up {
		up = 1
	}
	fs.gauge("plumb_server_up", "1 while a server answers, 0 when it no longer does, and for a day after its process ended; none while Plumb has never logged in to it", up, server)
	e.addRenamed(fs, series.Reading{Of: s.Ref, Name: upFact, Value: up}, []naming.Label{server})
}

func (e *Exporter) aboutVerdict(fs *families, v watch.Verdict) {
	server, id := naming.ServerLabel(v.Server), label("verdict", naming.Clean(v.ID))
	e.bottleneck(fs, v.ID, 1, server)
	fs.gauge("plumb_bottleneck_since_timestamp_seconds", "since when a limit holds a server back", unix(v.Since), id, server)
	if v.Share == nil {
		return
	}
	fs.gauge("plumb_bottleneck_share_ratio", "share of a server's active time that a limit costs", v.Share.Value, id, server)
	fs.gauge("plumb_bottleneck_share_low_ratio", "the least that share can be, at 95 %", v.Share.Low, id, server)
	fs.gauge("plumb_bottleneck_share_high_ratio", "the most that share can be, at 95 %", v.Share.High, id, server)
}

func (e *Exporter) bottleneck(fs *families, id string, raised float64, server naming.Label) {
	fs.gauge("plumb_bottleneck", "1 while a limit holds a server back, 0 while it does not, no series while that is unknown", raised, label("verdict", naming.Clean(id)), server)
}
