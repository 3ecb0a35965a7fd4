package watch

import (
	"context"
	"slices"
	"sync"
	"time"

	"plumb/internal/cli/watch/feed"
	"plumb/internal/hint"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/watch"
)

// asking is a sink that asks servers for plans when a person wants one, and now and
// then for indexes that they could do without.
type asking struct {
	blind
	powerful bool // ask for plans even if our user can do more than read

	mu      sync.Mutex
	q       *feed.Questions
	latest  watch.Moment
	indexes map[stack.Ref]*watch.Indexes
	asked   map[stack.Ref]time.Time
}

// Answers implements [feed.Asks].
func (a *asking) Answers(q *feed.Questions) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.q, a.indexes, a.asked = q, map[stack.Ref]*watch.Indexes{}, map[stack.Ref]time.Time{}
}

// indexesEvery is how often a server is asked for indexes that it could do without, which
// reads its whole list of indexes.
const indexesEvery = 30 * time.Minute

// with adds to a moment what is known of indexes, and starts to ask again when that
// is too old. It does not wait for answers.
func (a *asking) with(m watch.Moment) watch.Moment {
	a.mu.Lock()
	defer a.mu.Unlock()
	m.Servers = slices.Clone(m.Servers)
	for i, s := range m.Servers {
		m.Servers[i].Indexes = a.indexes[s.Ref]
		if a.q != nil && s.Up && time.Since(a.asked[s.Ref]) > indexesEvery {
			a.asked[s.Ref] = time.Now()
			go a.learn(a.q, s.Ref)
		}
	}
	a.latest = m
	return m
}

// learn asks one server for its indexes. If watch ends first the reader is closed, which ends
// the question too.
func (a *asking) learn(q *feed.Questions, of stack.Ref) {
	known := indexesOf(context.Background(), q, of)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.indexes[of] = known
}

func indexesOf(ctx context.Context, q *feed.Questions, of stack.Ref) *watch.Indexes {
	list, err := q.Indexes(ctx, of)
	out := &watch.Indexes{List: list}
	if err != nil {
		out.Why, out.Hint = err.Error(), hint.Of(err)
	}
	return out
}

// plan asks for the plan of a statement that is shown.
func (a *asking) plan(ctx context.Context, server, id string) series.Plan {
	a.mu.Lock()
	q, m := a.q, a.latest
	a.mu.Unlock()
	for _, s := range m.Servers {
		for _, x := range s.Statements {
			if q != nil && s.Ref.String() == server && x.ID == id {
				return q.Plan(ctx, x.Statement, a.powerful)
			}
		}
	}
	return series.Plan{Statement: id, Why: "this statement is no longer shown"}
}

// mostPlans is for how many statements --once --plans asks for plans.
const mostPlans = 5

// everything adds to the last moment the indexes, and plans if they are wanted. It waits for
// the answers.
func (a *asking) everything(ctx context.Context, m watch.Moment, plans bool) watch.Moment {
	a.mu.Lock()
	q := a.q
	a.mu.Unlock()
	m.Servers = slices.Clone(m.Servers)
	for i, s := range m.Servers {
		if q == nil || !s.Up {
			continue
		}
		m.Servers[i].Indexes = indexesOf(ctx, q, s.Ref)
		for _, x := range s.Statements {
			if plans && len(m.Servers[i].Plans) < mostPlans && x.HasPlan() {
				m.Servers[i].Plans = append(m.Servers[i].Plans, q.Plan(ctx, x.Statement, a.powerful))
			}
		}
	}
	return m
}
