package observe

import (
	"fmt"
	"sync"

	"plumb/internal/stack"
)

// atATime bounds how many things of one kind are read side by side.
const atATime = 8

// Each looks at several servers as [EachOf] does.
func Each[T any](servers []T, look func(T) stack.Observation) stack.Observation {
	return EachOf("looking at a server", servers, look)
}

// EachOf reads several things side by side, so that one that does not answer
// keeps no other waiting, and joins what was seen in their order. What names
// the work, before the name of a thing that has one.
func EachOf[T any](what string, all []T, look func(T) stack.Observation) stack.Observation {
	observations := make([]stack.Observation, len(all))
	slots := make(chan struct{}, atATime)
	var wg sync.WaitGroup
	for i, one := range all {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			Guard(what+nameOf(one), &observations[i], func() { observations[i] = look(one) })
		})
	}
	wg.Wait()
	var joined stack.Observation
	for _, o := range observations {
		joined.Things = append(joined.Things, o.Things...)
		joined.Roles = append(joined.Roles, o.Roles...)
		joined.Gaps = append(joined.Gaps, o.Gaps...)
	}
	return joined
}

func nameOf(one any) string {
	switch x := one.(type) {
	case string:
		return " " + x
	case fmt.Stringer:
		return " " + x.String()
	}
	return ""
}
