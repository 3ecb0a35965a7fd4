// Package feed samples this machine for the commands of plumb watch.
package feed

import (
	"context"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/check"
	"plumb/internal/cli/shell"
	"plumb/internal/engine/dsn"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/protect"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/watch"
	"plumb/internal/watch/sampler"
	"plumb/internal/watch/verdict"
	"plumb/knowledge"
)

// Feed watches this host until the context ends, and passes what it sees to
// sinks. A sink that is [Told] also gets the verdicts.
type Feed func(ctx context.Context, src shell.Source, sinks ...watch.Sink) error

// Told gets the verdicts each time a window was judged.
type Told interface{ Moment(m watch.Moment) }

// Apart is a sink that wants what a server counts for each of its databases. As they can be many, they are only read if a sink wants
// them.
type Apart interface{ Databases() bool }

// Adapters are the servers and storages that watch knows.
type Adapters struct {
	Dialers func(dsn.Given) map[string]host.Dialer
	Phases  func(*catalog.Catalog, dsn.Given) [][]observe.Probe
	// Finders returns what finds things to sample; with databases, also what a server counts for each of its databases.
	Finders func(g dsn.Given, databases bool) []sample.Finder
	// Planners returns what asks servers for plans and indexes, by kind of server; with powerful,
	// even if our user can do more than read.
	Planners func(g dsn.Given, powerful bool) map[string]sample.Planner
	Storages []protect.Storage // are asked whether the snapshots of points are there
	Grants   func() string     // what makes the least user that watching needs, for each server
	Again    *Again            // nil: this process looks and judges itself, as in a test
}

// Live makes the feed of this machine.
func Live(s *shell.Shell, a Adapters) Feed {
	return func(ctx context.Context, src shell.Source, sinks ...watch.Sink) error {
		live, g, err := src.Live(a.Dialers)
		if err != nil {
			return err
		}
		defer live.Close()
		s.WarnUnverified(g)
		return run(ctx, s, a, opened{live, g, src}, sinks...)
	}
}

// opened is the machine that the command line names, opened for reading.
type opened struct {
	live  *host.Live
	given dsn.Given
	src   shell.Source
}

// run samples a machine.
func run(ctx context.Context, s *shell.Shell, a Adapters, m opened, sinks ...watch.Sink) error {
	own := sample.NewOwn(m.live, a.Dialers(m.given))
	look := func(ctx context.Context) (*stack.Stack, error) { return a.Again.look(ctx, own, m.src) }
	if a.Again == nil {
		here, err := Looker(s, a, m.given, m.src.Timeout)
		if err != nil {
			return err
		}
		look = func(ctx context.Context) (*stack.Stack, error) { return here(ctx, own) }
	}
	told := tellers(sinks)
	if len(told) > 0 {
		j, _ := NewJudge(s)
		t := newTelling(j, told)
		defer t.end()
		sinks = append(sinks, t)
	}
	for _, sink := range sinks {
		if who, ok := sink.(Asks); ok {
			q := newQuestions(own, func(powerful bool) map[string]sample.Planner { return a.Planners(m.given, powerful) })
			who.Answers(q)
			sinks = append(sinks, q)
		}
	}
	stayingSmall()
	return sampler.Run(ctx, sampler.Options{Host: own, Own: own.Has, Finders: a.Finders(m.given, apart(sinks)), Look: look}, sinks...)
}

// stayingSmall frees the memory that was needed to read the knowledge, and makes the
// garbage collector run more often: watch keeps little, but for months, and beside a database.
func stayingSmall() {
	debug.SetGCPercent(50)
	debug.FreeOSMemory()
}

// Looker makes what reads the whole machine, as a check does.
func Looker(s *shell.Shell, a Adapters, g dsn.Given, limit time.Duration) (func(context.Context, host.Reader) (*stack.Stack, error), error) {
	cat, err := check.Catalog(check.All, s.Warn)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, from host.Reader) (*stack.Stack, error) {
		return check.Observe(ctx, host.NewCached(from), cat, a.Phases(cat, g), limit)
	}, nil
}

// windows is read once, as it is large and needed by all who judge, show and export.
var windows = sync.OnceValues(func() (*catalog.Catalog, error) { return catalog.Windows(knowledge.FS) })

// Windows returns the built-in catalogue of windows. A mistake in it is reported, and costs only
// the entry it is in: no command fails because of it.
func Windows(s *shell.Shell) *catalog.Catalog {
	cat, err := windows()
	s.Warn("the built-in catalogue has a mistake", err)
	return cat
}

// NewJudge makes a judge with the built-in rules.
func NewJudge(s *shell.Shell) (*watch.Judge, *catalog.Catalog) {
	cat := Windows(s)
	limits, err := verdict.Load(knowledge.FS, cat)
	s.Warn("a built-in verdict was left out", err)
	return watch.NewJudge(cat, limits), cat
}

// apart tells whether a sink is [Apart].
func apart(sinks []watch.Sink) bool {
	return slices.ContainsFunc(sinks, func(s watch.Sink) bool { a, ok := s.(Apart); return ok && a.Databases() })
}

func tellers(sinks []watch.Sink) (out []Told) {
	for _, s := range sinks {
		if t, ok := s.(Told); ok {
			out = append(out, t)
		}
	}
	return out
}

// telling judges, and passes the verdicts on. As those who are told may be slow, judging does not wait
// for them; they get the newest moment once they are ready.
type telling struct {
	*watch.Judge
	known time.Time
	boxes []chan watch.Moment
	all   sync.WaitGroup
}

func newTelling(j *watch.Judge, told []Told) *telling {
	t := &telling{Judge: j}
	for _, who := range told {
		box := make(chan watch.Moment, 1)
		t.boxes = append(t.boxes, box)
		t.all.Go(func() {
			for m := range box {
				who.Moment(m)
			}
		})
	}
	return t
}

// Batch implements [watch.Sink].
func (t *telling) Batch(b series.Batch) {
	t.Judge.Batch(b)
	if known := t.Known(); known.After(t.known) || known.Before(t.known) {
		t.known = known
		m := t.Moment(known)
		for _, box := range t.boxes {
			put(box, m)
		}
	}
}

// put replaces what waits in a box. Only one goroutine may call it.
func put(box chan watch.Moment, m watch.Moment) {
	select {
	case <-box:
	default:
	}
	box <- m
}

func (t *telling) end() {
	for _, box := range t.boxes {
		close(box)
	}
	t.all.Wait()
}
