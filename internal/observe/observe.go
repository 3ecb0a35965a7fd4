// Package observe reads a host into a stack: probes look in parallel, each
// adds what it saw, and one that fails leaves a gap and hides nothing.
//
// The package knows no product. Probes for servers, filesystems and kernels
// are in engine, storage and system; cli lists them in order.
package observe

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"plumb/internal/host"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// Probe looks at one part of a host. Collect may return a part of what there is
// together with an error: the part is kept and the error becomes a gap. What it
// can say more precisely it puts into the gaps of the observation itself. seen is what the
// earlier phases saw and must not be changed.
type Probe interface {
	Name() string
	// Cost tells what Collect asks for, and how often it may be asked.
	Cost() Cost
	Collect(ctx context.Context, h host.Reader, seen *stack.Stack) (stack.Observation, error)
}

// Host reads everything the probes see. Probes of one phase run in parallel
// and see what the earlier phases saw. A phase may take half of the time that
// is left, so that one that hangs leaves time to those after it.
func Host(ctx context.Context, h host.Reader, phases ...[]Probe) *stack.Stack {
	about := h.About()
	s := &stack.Stack{TakenAt: about.Taken, Root: about.Root}
	for _, probes := range phases {
		observations, late := collectAll(ctx, h, s, probes)
		if late { // a probe that was left behind may still read what it was shown
			s = s.Clone()
		}
		for i, obs := range observations {
			s.Add(probes[i].Name(), obs)
		}
	}
	placeRoles(ctx, h, s)
	return s
}

func collectAll(ctx context.Context, h host.Reader, seen *stack.Stack, probes []Probe) (observations []stack.Observation, late bool) {
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	observations = make([]stack.Observation, len(probes))
	lates := make([]bool, len(probes))
	var wg sync.WaitGroup
	for i, p := range probes {
		wg.Go(func() { observations[i], lates[i] = collectInTime(ctx, h, seen, p) })
	}
	wg.Wait()
	return observations, slices.Contains(lates, true)
}

// grace is what a probe gets after its time to come to an end with what it
// has seen.
const grace = 500 * time.Millisecond

// collectInTime runs one probe. One that does not end is left behind, and what it
// finds later is dropped.
func collectInTime(ctx context.Context, h host.Reader, seen *stack.Stack, p Probe) (obs stack.Observation, late bool) {
	began := time.Now()
	done := make(chan stack.Observation, 1)
	go func() { done <- collect(ctx, h, seen, p) }()
	select {
	case obs := <-done:
		return obs, false
	case <-ctx.Done():
	}
	select {
	case obs := <-done:
		return obs, false
	case <-time.After(grace):
	}
	obs.Gap(stack.Ref{}, fmt.Sprintf("the probe %s did not end in %s; its results are not shown", p.Name(), units.Span(time.Since(began))),
		"something that it reads hangs; --timeout 2m gives it longer")
	return obs, true
}

// collect runs one probe.
func collect(ctx context.Context, h host.Reader, seen *stack.Stack, p Probe) (obs stack.Observation) {
	Guard("the probe "+p.Name(), &obs, func() {
		var err error
		if obs, err = p.Collect(ctx, h, seen); err != nil {
			obs.Gap(stack.Ref{}, err.Error(), "")
		}
	})
	return obs
}

// Guard runs a part of a probe. A panic is our bug, but it must not cost a
// person the rest of the check, so it becomes a gap that says so. Every
// goroutine of a probe needs a guard of its own: a panic ends the program
// unless the goroutine it is in recovers.
func Guard(what string, obs *stack.Observation, look func()) {
	defer func() {
		if r := recover(); r != nil {
			obs.Gap(stack.Ref{}, fmt.Sprintf("%s broke: %v", what, r), "this is a bug in Plumb: please report it with `plumb capture`")
		}
	}()
	look()
}
