package check

import (
	"context"
	"runtime"

	"plumb/internal/stack"
)

// Result is what came of one of many machines.
type Result struct {
	Name   string
	Report Report
	Err    error
}

// Each judges many machines in parallel. The results come in the order of the
// names; at most two for each CPU are held at a time, so that thousands fit.
func (k Knowledge) Each(ctx context.Context, names []string, read func(ctx context.Context, name string) (*stack.Stack, error)) <-chan chan Result {
	results := make(chan chan Result, runtime.NumCPU())
	slots := make(chan struct{}, runtime.NumCPU())
	go func() {
		defer close(results)
		for _, name := range names {
			if ctx.Err() != nil {
				return
			}
			one := make(chan Result, 1)
			results <- one
			slots <- struct{}{}
			go func() {
				defer func() { <-slots }()
				one <- k.one(ctx, name, read)
			}()
		}
	}()
	return results
}

func (k Knowledge) one(ctx context.Context, name string, read func(ctx context.Context, name string) (*stack.Stack, error)) Result {
	s, err := read(ctx, name)
	if err != nil {
		return Result{Name: name, Err: err}
	}
	r := k.Judge(s)
	r.From = name
	return Result{Name: name, Report: r}
}
