package metrics

import (
	"maps"
	"slices"
	"sync"
	"time"

	"plumb/internal/advise"
	"plumb/internal/archive"
	"plumb/internal/backup/known"
	"plumb/internal/catalog"
	"plumb/internal/protect"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/view/metrics/naming"
	"plumb/internal/watch"
)

// MostSeries is how many series of a host are shown where nobody says otherwise.
const MostSeries = 600

// How long what is shown may be without its successor.
const (
	latePeriods  = 3                // of a source
	lateMoment   = 30 * time.Second // windows are 5 s
	latePicture  = 31 * time.Minute // pictures are 10 minutes apart
	forgotten    = time.Hour        // a source that is heard of no more
	mostSources  = 200
	mostFindings = 100
	mostPoints   = 20 // of a server
)

// Options say what an exporter shows.
type Options struct {
	Catalog    *catalog.Catalog // as catalog.Windows gives it
	Verdicts   []string         // the ids of all verdicts there are
	Compat     *Compat          // names of other exporters, in place of ours; nil for none
	MostSeries int              // 0 for the usual
	Statements int              // of each server, the most expensive; 0 for none
	Version    string           // of this Plumb
	Now        func() time.Time // nil for the machine's
}

// Exporter keeps what was seen last. It is a watch.Sink, and its methods may be
// called at any time by anybody.
type Exporter struct {
	o  Options
	mu sync.Mutex

	sources map[string]*source
	unkept  map[string]time.Time // sources that there is no room for, and when they were heard of
	picture *stack.Stack
	drawn   time.Time // when the picture came
	servers map[stack.Ref]stack.Ref
	labels  map[stack.Ref][]naming.Label

	moment watch.Moment
	judged time.Time     // when the moment came
	first  chan struct{} // is closed when there was one
	met    map[stack.Ref]met

	findings []advise.Finding
	checked  time.Time
	points   []protect.Point
	lost     map[string]bool // IDs of points
	counted  time.Time       // when the points were read
	backups  []known.Place
	recalled time.Time // when what is known of backups was read
	archives []archive.Status
	asked    time.Time // when the services' own words were read
	shapes   map[series.ID]naming.Shape
	outgoing func() Outgoing
}

// source is what is kept of one source.
type source struct {
	last    series.Batch // the last with values
	came    time.Time    // when that was
	heard   time.Time    // of anything
	took    time.Duration
	gaps    int     // in the last batch
	batches float64 // that were answers
	late    float64 // that were none
}

// New makes an exporter that has seen nothing yet.
func New(o Options) *Exporter {
	if o.MostSeries == 0 {
		o.MostSeries = MostSeries
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Exporter{o: o, sources: map[string]*source{}, unkept: map[string]time.Time{}, met: map[stack.Ref]met{}, first: make(chan struct{}), labels: map[stack.Ref][]naming.Label{}, shapes: map[series.ID]naming.Shape{}}
}

// Picture implements watch.Sink.
func (e *Exporter) Picture(_ time.Time, s *stack.Stack) {
	servers := naming.Servers(s)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.picture, e.drawn, e.servers = s, e.o.Now(), servers
	clear(e.labels)
}

// Batch implements watch.Sink. Of one that gave nothing, what came before stays
// as long as it is not late.
func (e *Exporter) Batch(b series.Batch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.o.Now()
	s := e.sources[b.Source]
	if s == nil {
		if len(e.sources) >= mostSources {
			if len(e.unkept) < 10*mostSources {
				e.unkept[b.Source] = now
			}
			return
		}
		delete(e.unkept, b.Source)
		s = &source{last: series.Batch{Every: b.Every}}
		e.sources[b.Source] = s
	}
	s.heard, s.took, s.gaps = now, b.Took, len(b.Gaps)
	if !answered(b) {
		s.late++
		return
	}
	s.last, s.came = b, now
	s.batches++
}

// answered tells whether a source gave an answer: values, or what it lacks to
// read some. A gap about all that it reads is none.
func answered(b series.Batch) bool {
	if len(b.Readings)+len(b.Sessions)+len(b.Statements) > 0 {
		return true
	}
	return !slices.ContainsFunc(b.Gaps, func(g series.Gap) bool { return g.Of.IsZero() && g.Name == "" })
}

// Moment takes what watch says now.
func (e *Exporter) Moment(m watch.Moment) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.judged.IsZero() {
		close(e.first)
	}
	e.moment, e.judged = m, e.o.Now()
	e.meet(m)
}

// Judged is closed when there was a first moment.
func (e *Exporter) Judged() <-chan struct{} { return e.first }

// Checked takes what a check found.
func (e *Exporter) Checked(found []advise.Finding) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.findings, e.checked = found, e.o.Now()
}

// Kept takes the points in time that are written down. Those that are lost, by their IDs, are points no more.
func (e *Exporter) Kept(points []protect.Point, lost map[string]bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.points, e.lost, e.counted = slices.Clone(points), maps.Clone(lost), e.o.Now()
}

// Recalled takes what this host knows of its backups.
func (e *Exporter) Recalled(all []known.Place) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.backups, e.recalled = slices.Clone(all), e.o.Now()
}

// Archived takes what the services that archive logs say of themselves, as it was just read.
func (e *Exporter) Archived(all []archive.Status) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.archives, e.asked = slices.Clone(all), e.o.Now()
}

// fresh tells whether what came then is still to be shown.
func (e *Exporter) fresh(came time.Time, late time.Duration) bool {
	return !came.IsZero() && e.o.Now().Sub(came) <= late
}
