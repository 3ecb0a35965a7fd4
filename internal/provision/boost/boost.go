// Package boost makes a load faster for a while: a dataset on which nothing waits for the disk,
// or a server with the settings that its documentation names for bulk loads. What was before
// comes back by itself, whatever ends the load.
//
// It is a change in the journal that is a loan: it ends with this process. Before the first
// value is set somebody else is ready to give it back: a process of its own, and at the next boot
// a unit. Nothing is set that can damage data; what a crash meanwhile loses is said beforehand.
package boost

import (
	"time"

	"plumb/internal/change"
	"plumb/internal/product"
	"plumb/internal/stack"
)

// Plan is what is set for a while.
type Plan struct {
	Of    stack.Ref     // the dataset or the server
	For   time.Duration // at most
	Steps []change.Step
	// Unsafe are the knobs that get a less durable value, as that is what is asked for.
	Unsafe []string

	Loss    []string    // what a crash meanwhile loses, in sentences
	Below   []string    // other datasets that the value reaches
	Servers []stack.Ref // those that keep something there
	Kept    []string    // settings that stay as they are, and why
	After   []string    // what to do once the load is over, as statements
}

// Options say what somebody has asked for by name.
type Options struct {
	For  time.Duration
	Also []string // servers that may lose commits too, or that others count on: mariadb:3306
}

// Of plans a load into what somebody names: a dataset, or a server as plumb stack calls it. A dataset may have such a name too.
func Of(s *stack.Stack, name string, loaders []Loader, o Options) (Plan, error) {
	ref, err := stack.ParseRef(name)
	if err != nil || s.Find(stack.Ref{Kind: "dataset", Name: name}) != nil || !product.IsServer(ref.Kind) && product.OfFlavor(ref.Kind).Kind == "" {
		return planDataset(s, name, o)
	}
	return planServer(s, name, loaders, o)
}
