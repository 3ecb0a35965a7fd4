package metrics

import (
	"maps"
	"slices"
	"strings"
	"time"

	"plumb/internal/protect/instance"
	"plumb/internal/stack"
	"plumb/internal/watch"
)

// A server whose process is gone is in no picture, and so in no moment. It is
// still shown as down for this long: who waits for a 0 must not wait in vain.
const (
	remembered     = 24 * time.Hour
	mostRemembered = 100
)

// met is a server that was seen.
type met struct {
	server   watch.Server // its names alone
	last     time.Time
	answered bool // once: that it does not now is not for want of a login
	returns  bool // under this name, if it is started again
}

// meet remembers the servers of a moment.
func (e *Exporter) meet(m watch.Moment) {
	now := e.o.Now()
	for _, s := range m.Servers {
		if was, known := e.met[s.Ref]; known || len(e.met) < mostRemembered {
			e.met[s.Ref] = met{watch.Server{Ref: s.Ref, Product: s.Product, Title: s.Title}, now, was.answered || s.Up, was.returns || e.comesBack(s.Ref)}
		}
	}
	maps.DeleteFunc(e.met, func(_ stack.Ref, s met) bool { return now.Sub(s.last) > remembered || !s.returns && s.last.Before(now) })
}

// ended gives those that are remembered and not there any more.
func (e *Exporter) ended() (all []watch.Server) {
	for ref, s := range e.met {
		if !slices.ContainsFunc(e.moment.Servers, func(now watch.Server) bool { return now.Ref == ref }) {
			all = append(all, s.server)
		}
	}
	slices.SortFunc(all, func(a, b watch.Server) int { return a.Ref.Compare(b.Ref) })
	return all
}

// comesBack tells whether a server would have the same name if it were started
// again. One that is named by its process or its container would not, and one
// that Plumb made is not meant to.
func (e *Exporter) comesBack(ref stack.Ref) bool {
	if e.picture == nil {
		return false
	}
	t := e.picture.Find(ref)
	if t == nil || strings.Contains(ref.Name, "@") {
		return false
	}
	of, _ := e.picture.Follow(t, "process")
	return !slices.ContainsFunc(of, func(p *stack.Thing) bool {
		return strings.HasSuffix(ref.Name, "-"+p.Ref.Name) || slices.ContainsFunc(p.List("args"), ofCopy)
	})
}

// ofCopy tells whether an argument names a file of a server that Plumb made: a copy
// of a point, or one of an experiment.
func ofCopy(arg string) bool {
	return strings.Contains(arg, instance.Directory+"/") || strings.Contains(arg, "/plumb-lab-")
}
