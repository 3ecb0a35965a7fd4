// Package archives reads what the services of plumb archive on this host say of themselves: whether they run, and what is
// wrong. It asks no store.
//
// Where none ever ran there is nothing of this kind, and so no rule about it: how else a log is kept cannot be seen from here.
package archives

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// Kind of the things: one for each service, named like it.
const Kind = "archives"

// Probe reads what the services say.
type Probe struct {
	State string // where they say it; "" for the usual directory
}

// Name implements observe.Probe.
func (Probe) Name() string { return "archives" }

// Cost implements observe.Probe. Each service has a file.
func (Probe) Cost() observe.Cost {
	return observe.Cost{Every: time.Minute, Once: observe.Requests{Files: 1}, Each: map[string]observe.Requests{Kind: {Files: 1}}}
}

// Collect implements observe.Probe. What could not be read of one hides no other.
func (p Probe) Collect(ctx context.Context, h host.Reader, _ *stack.Stack) (obs stack.Observation, err error) {
	state := cmp.Or(p.State, backup.Directory)
	all, err := archive.Statuses(ctx, h, state)
	for _, s := range all {
		source := archive.StatusFile(state, s.Name)
		t := obs.New(Kind, s.Name)
		t.Set("service", stack.Text(s.Name), source)
		t.Set("to", stack.Text(s.To), source)
		wrong := []string{}
		for _, one := range s.Trouble(h.About().Taken, archive.LongestLag) {
			wrong = append(wrong, strings.Join(strings.Fields(one), " "))
		}
		t.Set("troubles", stack.List(wrong), source)
	}
	if errors.Is(err, host.ErrNotOnTape) { // of a Plumb that did not look
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("read what the services of plumb archive say: %w", err)
	}
	return obs, err
}
