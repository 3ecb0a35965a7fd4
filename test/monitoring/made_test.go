package monitoring

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"plumb/internal/advise"
	"plumb/internal/archive"
	"plumb/internal/backup/known"
	"plumb/internal/catalog"
	"plumb/internal/cli/watch/outlet"
	"plumb/internal/protect"
	"plumb/internal/rule"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/view/metrics"
	"plumb/internal/watch"
	"plumb/internal/watch/verdict"
	"plumb/knowledge"
)

// made is a host that is made up: all that the catalogue says can be sampled,
// sick in every way that an alert is about, or healthy.
type made struct {
	sick bool
	*metrics.Exporter
	cat   *catalog.Catalog
	ids   []string
	began time.Time
}

var (
	serverUp     = stack.Ref{Kind: "mysql", Name: "3306"}
	serverDown   = stack.Ref{Kind: "mysql", Name: "3307"}
	serverClosed = stack.Ref{Kind: "mysql", Name: "3308"} // to which nobody can log in
)

func makeHost(t *testing.T, sick bool, series int) *made {
	t.Helper()
	return makeHostNamed(t, sick, series)
}

// makeHostNamed is one that is exported by the names of other exporters.
func makeHostNamed(t *testing.T, sick bool, series int, compat ...string) *made {
	t.Helper()
	cat, err := catalog.Windows(knowledge.FS)
	if err != nil {
		t.Fatal(err)
	}
	names, err := metrics.LoadCompat(knowledge.FS, cat, compat)
	if err != nil {
		t.Fatal(err)
	}
	m := &made{sick: sick, cat: cat, ids: verdict.IDs(knowledge.FS), began: time.Now()}
	m.Exporter = metrics.New(metrics.Options{Catalog: cat, Verdicts: m.ids, MostSeries: series, Version: "test", Statements: 3, Compat: names})
	lost := 0.0
	m.Sending(func() metrics.Outgoing {
		if sick {
			lost++
		}
		return metrics.Outgoing{Dropped: lost}
	})
	m.Picture(time.Now(), m.picture())
	m.Checked(m.findings())
	m.Kept(m.points(), nil)
	m.Recalled(m.backups())
	m.Archived(m.archives())
	if sick {
		m.Moment(watch.Moment{At: m.began, Servers: []watch.Server{{Ref: serverDown, Up: true}}})
	}
	m.feed()
	return m
}

// live feeds it every second until the test ends, or until it is stopped.
func (m *made) live(t *testing.T) (end func()) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
				m.feed()
			}
		}
	}()
	end = sync.OnceFunc(func() { close(stop); <-done })
	t.Cleanup(end)
	return end
}

// nameOf is a thing of a kind.
func nameOf(kind string) stack.Ref {
	switch kind {
	case "mysql":
		return serverUp
	case "cgroup_device":
		return stack.Ref{Kind: kind, Name: "/system.slice/mariadb.service@sda"}
	case "block":
		return stack.Ref{Kind: kind, Name: "sda"}
	}
	return stack.Ref{Kind: kind, Name: "one"}
}

func (m *made) picture() *stack.Stack {
	s := &stack.Stack{TakenAt: time.Now()}
	var o stack.Observation
	o.New("host", "one").Set("hostname", stack.Text("made"), "made")
	o.New("process", "one")
	o.New("mysql", "3306").Link("process", stack.Ref{Kind: "process", Name: "one"})
	o.New("block", "sda").Set("servers", stack.List([]string{"mysql:3306"}), "made")
	o.New("filesystem", "one").Set("size", stack.Int(1<<30), "made")
	p := o.New("points", "mysql:3306")
	p.Set("in_policy", stack.Bool(true), "made")
	if m.sick {
		p.Set("failing", stack.List([]string{"drill: no memory"}), "made")
	}
	s.Add("made", o)
	return s
}

func (m *made) findings() []advise.Finding {
	harm := rule.Harm("note")
	if m.sick {
		harm = "danger"
	}
	return []advise.Finding{{Rule: &rule.Rule{ID: "made/rule", Harm: harm}, Cases: []advise.Case{{Things: []stack.Ref{serverUp}}}}}
}

func (m *made) points() []protect.Point {
	age := time.Hour
	if m.sick {
		age = 30 * 24 * time.Hour
	}
	return []protect.Point{{ID: "p", State: protect.Taken, Label: protect.Proven, Server: protect.Server{Ref: serverUp}, Times: protect.Times{Snapshot: time.Now().Add(-age)}}}
}

func (m *made) backups() []known.Place {
	now, age, unusable := time.Now(), time.Hour, 0
	if m.sick {
		age, unusable = 30*24*time.Hour, 1
	}
	at := now.Add(-age)
	return []known.Place{{URL: "s3://backups/made", Listed: at, Unusable: unusable, Servers: []known.Server{{Name: serverUp.String(), Backups: 1, First: at, Newest: at, Restored: at}}}}
}

func (m *made) archives() []archive.Status {
	now := time.Now()
	log := archive.Source{Name: "mysql", Follows: true, Whole: now}
	if m.sick {
		log.Whole, log.Wrong, log.Failed = now.Add(-time.Hour), "no bucket", 9
	}
	return []archive.Status{{Name: "main", Since: now, Alive: now, Sources: []archive.Source{log}}}
}

// feed gives a batch of everything, one of a source that is late if it is sick,
// and a moment.
func (m *made) feed() {
	now := time.Now()
	b := series.Batch{Source: "everything", Every: time.Second, At: now}
	for _, k := range m.cat.Kinds {
		for _, f := range k.Facts {
			if (f.OverTime == stack.Counter || f.OverTime == stack.Gauge) && !derived(k, f) {
				b.Set(nameOf(k.Name), f.Name, m.value(f, now))
			}
		}
	}
	m.Batch(b)
	late := series.Batch{Source: "late", Every: time.Second, At: now, Gaps: []series.Gap{{Why: "made up"}}}
	if !m.sick {
		late.Gaps = nil
	}
	m.Batch(late)
	m.Moment(m.moment(now))
}

// derived tells whether a fact is told by a window alone.
func derived(k *catalog.Kind, f *catalog.Fact) bool {
	for _, suffix := range []string{catalog.RateOf, catalog.LeastOf, catalog.MostOf, catalog.GrowthOf} {
		if base, ok := strings.CutSuffix(f.Name, suffix); ok && k.Facts[base] != nil && k.Facts[base].Line == f.Line {
			return true
		}
	}
	return strings.HasPrefix(f.File, "windows/")
}

func (m *made) value(f *catalog.Fact, now time.Time) float64 {
	seconds := now.Sub(m.began).Seconds()
	switch {
	case f.Kind == "mysql" && strings.HasPrefix(f.Name, "checkpoint_age_ratio"):
		return map[bool]float64{true: .9, false: .1}[m.sick]
	case f.Kind == "filesystem" && f.Name == "used":
		return map[bool]float64{true: 800<<20 + seconds*(1<<20), false: 100 << 20}[m.sick]
	case f.Kind == "zfs" && strings.HasPrefix(f.Name, "tx_"):
		return map[bool]float64{true: 100 * seconds, false: 7}[m.sick]
	case f.OverTime == stack.Counter:
		return 1000 + 10*seconds
	}
	return rand.Float64()
}

func (m *made) moment(now time.Time) watch.Moment {
	out := watch.Moment{At: now, Servers: []watch.Server{{Ref: serverUp, Up: true}}}
	for _, k := range m.cat.Kinds {
		for _, f := range k.Facts {
			if strings.HasPrefix(f.File, "windows/") && watch.Shows(k.Name, f.Name) { // as a judge does
				out.Tree = append(out.Tree, watch.Node{Of: nameOf(k.Name), Values: []watch.Rate{{Name: f.Name, Value: 1}}})
			}
		}
	}
	if !m.sick {
		return out
	}
	out.At = now.Add(-time.Hour) // it stands still
	out.Servers = append(out.Servers, watch.Server{Ref: serverDown}, watch.Server{Ref: serverClosed})
	for _, id := range m.ids {
		v := watch.Verdict{ID: id, Server: serverUp, Since: now, Share: &watch.Interval{Value: .5, Low: .4, High: .6}}
		if id == "slots/connections" { // which costs no share of the active time
			v.Share = nil
		}
		out.Verdicts = append(out.Verdicts, v)
	}
	return out
}

// serve offers a host's metrics, and gives the address and what ends it.
func serve(t *testing.T, e *metrics.Exporter) (at string, stop func()) {
	t.Helper()
	l, err := outlet.Listen(outlet.Listening{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := contextOf(t)
	done := make(chan error, 1)
	go func() { done <- l.Serve(ctx, e.Handler(false)) }()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(stop)
	return l.Addr().String(), stop
}
