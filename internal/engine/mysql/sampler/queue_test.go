package sampler

import (
	"context"
	"testing"

	"plumb/internal/engine/samplertest"
	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// pooled is a server whose sessions share a pool of threads, or do not. One session runs.
type pooled struct {
	host.Reader
	traits []string
	queue  []string // its answer; nil: it refuses
}

func (s pooled) Query(_ context.Context, _ host.Target, query string) (host.Rows, error) {
	answers := map[string][]string{traitsQuery: s.traits, queueQuery: s.queue, transactionsQuery: {"0", "0", "0"}, activeQuery(traits{}): {"updating", "", "", "0", "1"}}
	cells, asked := answers[query]
	if cells == nil && asked {
		return host.Rows{}, host.ErrDenied
	}
	row := make([]*string, len(cells))
	for i := range cells {
		row[i] = &cells[i]
	}
	return host.Rows{Values: [][]*string{row}}, nil
}

// Requests that wait for a thread of the pool count as active. Where nobody tells how many they are, that is a gap; where
// there is no pool there are none, and nothing to tell.
func TestRequestsInTheQueueOfThePool(t *testing.T) {
	for name, c := range map[string]struct {
		version, handling string
		queue             []string
		active            float64
		told, gap         bool
	}{
		"a queue":             {"10.11.14-MariaDB", "pool-of-threads", []string{"7"}, 8, true, false},
		"none waits":          {"11.4.5-MariaDB", "pool-of-threads", []string{"0"}, 1, true, false},
		"no pool":             {"10.11.14-MariaDB", "one-thread-per-connection", []string{"7"}, 1, false, false},
		"a MariaDB before":    {"10.4.34-MariaDB", "pool-of-threads", []string{"7"}, 1, false, true},
		"not a MariaDB":       {"8.0.40-31", "pool-of-threads", []string{"7"}, 1, false, true},
		"refused":             {"10.11.14-MariaDB", "pool-of-threads", nil, 1, false, true},
		"what is no number":   {"10.11.14-MariaDB", "pool-of-threads", []string{"many"}, 1, false, true},
		"an unknown handling": {"10.11.14-MariaDB", "", []string{"7"}, 1, false, false},
	} {
		v := &Server{Asked: sample.Asked{Ref: stack.Ref{Kind: kind, Name: "3306"}, Find: func(context.Context, host.Reader) (host.Target, error) { return host.Target{}, nil }}}
		var b series.Batch
		if err := v.sessions(t.Context(), pooled{traits: []string{c.version, "", "16384", "0", c.handling}, queue: c.queue}, &b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_, told := samplertest.Value(b, queueLength)
		gap := len(b.Gaps) == 1 && b.Gaps[0].Name == queueLength
		if active := samplertest.Reads(b, "sessions_active"); active != c.active || told != c.told || gap != c.gap {
			t.Errorf("%s: %v active, told %v, gaps %v", name, active, told, b.Gaps)
		}
		if other := samplertest.Reads(b, "sessions_other"); other != c.active-1 {
			t.Errorf("%s: %v wait for something else", name, other)
		}
	}
}
