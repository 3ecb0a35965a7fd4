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
}

type question struct {
	done   chan struct{} // closed when the answer is there
	answer any
	err    error
	void   bool // the one who asked gave up, and there is no answer
}

var _ Reader = (*Cached)(nil)

// NewCached remembers what r answers.
func NewCached(r Reader) *Cached {
	return &Cached{r: r, about: r.About(), asked: map[string]*question{}}
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
	if ctx.Err() != nil { // our own end says nothing about the machine
		o.mu.Lock()
		delete(o.asked, key)
		o.mu.Unlock()
		return answer, err
	}
	q.answer, q.err, q.void = answer, err, false
	return answer, err
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
