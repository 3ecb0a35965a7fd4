package host

import (
	"bytes"
	"context"
	"slices"
	"sync"
)

// Cached asks another reader each question once and remembers the answer, so
// that all probes of one check see the same machine, a file that two of them
// need is read once, and a recording does not depend on which came first. It
// is safe for concurrent use. Callers must not change what it returns, except
// for bytes and the names of a Glob.
type Cached struct {
	r     Reader
	about About // as it was when the look began

	mu    sync.Mutex
	asked map[string]*question
	room  int // bytes that answers may still take
}

// mostCached is how much the answers of one look may take, in bytes. A check of a usual host needs less than one MB, and what
// its servers name has limits of its own. What is beyond is asked again each time.
const mostCached = 128 << 20

type question struct {
	done   chan struct{} // closed when the answer is there
	answer any
	err    error
	void   bool // the one who asked gave up, and there is no answer
}

var _ Reader = (*Cached)(nil)

// NewCached remembers what r answers.
func NewCached(r Reader) *Cached {
	return &Cached{r: r, about: r.About(), asked: map[string]*question{}, room: mostCached}
}

// ask returns the remembered answer. Without one it waits for whoever is asking, or asks itself.
func ask[T any](o *Cached, ctx context.Context, key string, call func() (T, error)) (T, error) {
	o.mu.Lock()
	q := o.asked[key]
	mine := q == nil
	if mine {
		q = &question{done: make(chan struct{})}
		o.asked[key] = q
	}
	o.mu.Unlock()
	if !mine {
		select {
		case <-q.done:
		case <-ctx.Done():
			var none T
			return none, ctx.Err()
		}
		if q.void {
			return call()
		}
		return q.answer.(T), q.err
	}
	q.void = true
	defer close(q.done)
	answer, err := call()
	o.mu.Lock()
	defer o.mu.Unlock()
	if ctx.Err() != nil { // our own end says nothing about the machine
		delete(o.asked, key)
		return answer, err
	}
	q.answer, q.err, q.void = answer, err, false
	if n := len(key) + weight(answer); n <= o.room {
		o.room -= n
	} else {
		delete(o.asked, key) // those who wait for it have it
	}
	return answer, err
}

// weight is about how many bytes an answer takes, with what is kept beside it.
func weight(answer any) int {
	n := 300
	switch a := answer.(type) {
	case []byte:
		n += len(a)
	case string:
		n += len(a)
	case []string:
		for _, s := range a {
			n += 16 + len(s)
		}
	case Rows:
		for _, row := range a.Values {
			n += 24
			for _, cell := range row {
				n += 24
				if cell != nil {
					n += len(*cell)
				}
			}
		}
	}
	return n
}

// About implements Reader.
func (o *Cached) About() About { return o.about }

// ReadFile implements Reader.
func (o *Cached) ReadFile(ctx context.Context, name string) ([]byte, error) {
	data, err := ask(o, ctx, CallFor(ctx, OpFile, name).Key(), func() ([]byte, error) { return o.r.ReadFile(ctx, name) })
	return bytes.Clone(data), err
}

// Glob implements Reader.
func (o *Cached) Glob(ctx context.Context, pattern string) ([]string, error) {
	found, err := ask(o, ctx, CallFor(ctx, OpGlob, pattern).Key(), func() ([]string, error) { return o.r.Glob(ctx, pattern) })
	return slices.Clone(found), err
}

// Stat implements Reader.
func (o *Cached) Stat(ctx context.Context, name string) (Stat, error) {
	return ask(o, ctx, CallFor(ctx, OpStat, name).Key(), func() (Stat, error) { return o.r.Stat(ctx, name) })
}

// Readlink implements Reader.
func (o *Cached) Readlink(ctx context.Context, name string) (string, error) {
	return ask(o, ctx, CallFor(ctx, OpLink, name).Key(), func() (string, error) { return o.r.Readlink(ctx, name) })
}

// Statfs implements Reader.
func (o *Cached) Statfs(ctx context.Context, name string) (Statfs, error) {
	return ask(o, ctx, CallFor(ctx, OpStatfs, name).Key(), func() (Statfs, error) { return o.r.Statfs(ctx, name) })
}

// Output implements Reader.
func (o *Cached) Output(ctx context.Context, argv ...string) ([]byte, error) {
	out, err := ask(o, ctx, Call{OpRun, argv}.Key(), func() ([]byte, error) { return o.r.Output(ctx, argv...) })
	return bytes.Clone(out), err
}

// Query implements Reader.
func (o *Cached) Query(ctx context.Context, t Target, query string) (Rows, error) {
	return ask(o, ctx, Call{OpQuery, []string{t.Name, query}}.Key(), func() (Rows, error) { return o.r.Query(ctx, t, query) })
}
