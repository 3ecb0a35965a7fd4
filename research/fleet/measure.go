package main

import (
	"context"
	"fmt"
	"time"
)

// measured is what one step showed.
type measured struct {
	samples    float64 // a second, taken
	cores      float64
	rss        int64   // bytes
	bytes      float64 // on disk, for each sample so far
	p99, query float64 // ms
	waited     float64 // seconds a second that its threads waited for a processor
	full       string  // what is full; "" for nothing
}

// The marks at which something is called full.
const (
	fullCores  = .90 // of what it may have
	fullMemory = .95
	fullQuery  = 10 * time.Second // a dashboard's query over all agents
)

// noMeasurement ends what is said of a run that tells nothing of the engine.
const noMeasurement = "no measurement"

var sentSoFar float64

// measure holds a step and looks at it, without its first interval: that is
// when new series are put into the index.
func measure(ctx context.Context, o options, e *engine, f *fleet) (m measured) {
	pause(ctx, o.interval)
	s, _, _ := f.lately()
	sentSoFar += float64(s)
	before, _ := e.ticks()
	waited, began := e.waited(), time.Now()
	pause(ctx, o.hold-o.interval)
	after, rss := e.ticks()
	seconds := time.Since(began).Seconds()
	samples, p99, failed := f.lately()
	sentSoFar += float64(samples)
	m = measured{samples: float64(samples) / seconds, cores: (after - before) / seconds, rss: rss, p99: float64(p99.Milliseconds())}
	m.waited = (e.waited() - waited) / seconds
	m.bytes = float64(e.size()) / sentSoFar
	seen, _, err := e.query(fmt.Sprintf("count(last_over_time(plumb_build_info[%ds]))", int(3*o.interval.Seconds())))
	_, took, err2 := e.query("topk(10, sum by (instance) (rate({job=\"plumb\",__name__=~\"plumb_block_.*_total\"}[1m])))")
	m.query = float64(took.Milliseconds())
	select {
	case <-e.died:
		m.full = "it died, for want of memory as a rule"
		return m
	default:
	}
	due := float64(f.agents*len(f.template.values)) / o.interval.Seconds()
	switch {
	case m.samples < .8*due && m.cores < .5*o.cores:
		m.full = "the agents got too little processor time to send: this is " + noMeasurement
	case err != nil || err2 != nil:
		m.full = fmt.Sprintf("it answers no query: %v %v", err, err2)
	case failed > 0:
		m.full = fmt.Sprintf("it refused %d requests", failed)
	case int(seen) < f.agents:
		m.full = fmt.Sprintf("of %d agents %d are not in it", f.agents, f.agents-int(seen))
	case m.cores >= fullCores*o.cores:
		m.full = "its processor time"
	case float64(rss) >= fullMemory*float64(o.memory):
		m.full = "its memory"
	case o.patient: // of time nothing is concluded
	case p99 > o.interval && m.cores < .5*o.cores && m.waited > m.cores:
		m.full = "others use this machine's processors: this is " + noMeasurement
	case p99 > o.interval:
		m.full = "requests take longer than an interval"
	case took > fullQuery:
		m.full = "a query over all agents takes too long"
	}
	return m
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
