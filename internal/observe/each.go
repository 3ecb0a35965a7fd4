package observe

import (
	"sync"

	"plumb/internal/stack"
)

// atATime bounds how many servers of one kind are looked at side by side.
const atATime = 8

// Each looks at several servers side by side, so that one that does not answer
// keeps no other waiting, and joins what was seen in their order.
func Each[T any](servers []T, look func(T) stack.Observation) stack.Observation {
	observations := make([]stack.Observation, len(servers))
	slots := make(chan struct{}, atATime)
	var wg sync.WaitGroup
	for i, s := range servers {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			Guard("looking at a server", &observations[i], func() { observations[i] = look(s) })
		})
	}
	wg.Wait()
	var all stack.Observation
	for _, s := range observations {
		all.Things = append(all.Things, s.Things...)
		all.Roles = append(all.Roles, s.Roles...)
		all.Gaps = append(all.Gaps, s.Gaps...)
	}
	return all
}
