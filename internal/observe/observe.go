// Package observe reads a host into a stack: probes look in parallel, each
// adds what it saw, and one that fails leaves a gap and hides nothing.
//
// The package knows no product. Probes for servers, filesystems and kernels
// are in engine, storage and system; cli lists them in order.
package observe

import (
	"context"
	"fmt"
	"sync"

	"plumb/internal/host"
	"plumb/internal/stack"
)

// Probe looks at one part of a host. Look may return a partial sight together
// with an error: the sight is kept and the error becomes a gap. What it can
// say more precisely it puts into the sight's gaps itself. seen is what the
// earlier phases saw and must not be changed.
type Probe interface {
	Name() string
	Look(ctx context.Context, h host.Reader, seen *stack.Stack) (stack.Sight, error)
}

// Host reads everything the probes see. Probes of one phase run in parallel
// and see what the earlier phases saw.
func Host(ctx context.Context, h host.Reader, phases ...[]Probe) *stack.Stack {
	about := h.About()
	s := &stack.Stack{TakenAt: about.Taken, Root: about.Root}
	for _, probes := range phases {
		for i, sight := range lookAll(ctx, h, s, probes) {
			s.Add(probes[i].Name(), sight)
		}
	}
	Place(ctx, h, s)
	return s
}

func lookAll(ctx context.Context, h host.Reader, seen *stack.Stack, probes []Probe) []stack.Sight {
	sights := make([]stack.Sight, len(probes))
	var wg sync.WaitGroup
	for i, p := range probes {
		wg.Go(func() { sights[i] = look(ctx, h, seen, p) })
	}
	wg.Wait()
	return sights
}

// look runs one probe. A panic in a probe is our bug, but it must not cost a
// person the rest of the check, so it becomes a gap that says so.
func look(ctx context.Context, h host.Reader, seen *stack.Stack, p Probe) (sight stack.Sight) {
	defer func() {
		if r := recover(); r != nil {
			sight.Gap(stack.Ref{}, fmt.Sprintf("the probe %s broke: %v", p.Name(), r),
				"this is a bug in Plumb: please report it with `plumb capture`")
		}
	}()
	sight, err := p.Look(ctx, h, seen)
	if err != nil {
		sight.Gap(stack.Ref{}, err.Error(), "")
	}
	return sight
}
