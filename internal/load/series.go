package load

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// series turns what the shards collect into one line each second, and sums
// the measured part up.
type series struct {
	shards  []*shard
	second  []*counts // of the current second; emptied into total
	total   []*counts
	notes   Notes
	lines   []Second
	all     Latency // scratch
	lastCut time.Duration
}

func newSeries(ops, shards int, open bool) *series {
	s := &series{all: NewLatency()}
	table := func() []*counts {
		all := make([]*counts, ops)
		for i := range all {
			all[i] = newCounts(open)
		}
		return all
	}
	s.second, s.total = table(), table()
	for range shards {
		s.shards = append(s.shards, &shard{ops: table(), errors: map[string]*ErrorCount{}})
	}
	return s
}

// cut ends a line of the series now; what begins from here on belongs to the
// next phase. Warm-up gets its lines and is then forgotten, so every count
// and every latency in the totals is of the measured part.
func (s *series) cut(now time.Duration, this, next phase, waiting int64) Second {
	line := Second{At: now, Length: now - s.lastCut, Warmup: this == warming, Waiting: waiting}
	s.lastCut = now
	for _, sh := range s.shards {
		line.Lost += sh.take(s.second, &s.notes, next)
	}
	s.all.Reset()
	for i, c := range s.second {
		line.Done += c.ended
		line.Failed += c.failed
		line.Retried += c.retried
		line.Counted.add(c.measured.Counted)
		line.Ops = append(line.Ops, OpSecond{Done: c.ended, Counted: c.measured.Counted, Response: c.response.Summary()})
		s.all.Merge(c.response.Histogram)
		if this == warming {
			c.forget()
		} else {
			c.moveTo(s.total[i])
		}
	}
	line.Response = s.all.Summary()
	s.lines = append(s.lines, line)
	line.All = s.all
	return line
}

// results gives the kinds of operation and all of them together.
func (s *series) results(names []string) (ops []OpResult, total OpResult) {
	total = OpResult{Name: "all", Response: NewLatency(), Service: NewLatency()}
	for i, c := range s.total {
		r := c.measured
		r.Name, r.Response, r.Service = names[i], c.response, c.service
		if !c.bothKinds {
			r.Service = c.response
		}
		total.add(r)
		total.Response.Merge(r.Response.Histogram)
		total.Service.Merge(r.Service.Histogram)
		ops = append(ops, r)
	}
	return ops, total
}

// errors gives the counts of all shards by code, the most frequent first.
func (s *series) errors() []ErrorCount {
	all := map[string]ErrorCount{}
	for _, sh := range s.shards {
		sh.mu.Lock()
		for key, e := range sh.errors {
			sum, seen := all[key]
			if seen {
				sum.N += e.N
			} else {
				sum = *e
			}
			all[key] = sum
		}
		sh.mu.Unlock()
	}
	return slices.SortedFunc(maps.Values(all), func(a, b ErrorCount) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Class+a.Code, b.Class+b.Code))
	})
}
