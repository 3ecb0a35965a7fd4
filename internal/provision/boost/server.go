package boost

import (
	"fmt"

	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/stack"
)

// Setting is a value for the time of a load, and why.
type Setting struct {
	Knob string
	To   stack.Value
	Why  string // of the server's documentation
	Kept string // why it stays as it is; then To counts for nothing
}

// Loader knows how one kind of server is made ready for a bulk load. It is pure.
type Loader interface {
	Kind() string
	// Settings gives what the documentation of that version names, is safe to take back while
	// the server runs, and can damage nothing.
	Settings(s *stack.Stack, server *stack.Thing) []Setting
	// Loss says what a crash loses meanwhile.
	Loss(server *stack.Thing) []string
	// After are the statements that should follow a load.
	After() []string
}

// planServer plans a load into a server.
func planServer(s *stack.Stack, name string, loaders []Loader, o Options) (Plan, error) {
	ref, err := stack.ParseRef(name)
	t := s.Find(ref)
	if err != nil || t == nil {
		return Plan{}, hint.With(fmt.Errorf("there is no server %s on this host", name), "plumb stack lists them")
	}
	for _, l := range loaders {
		if l.Kind() == ref.Kind {
			return server(s, t, l, o)
		}
	}
	return Plan{}, hint.With(fmt.Errorf("%s has no settings for a load that can be restored while it runs", ref), "plumb boost DATASET speeds up the dataset below it")
}

func server(s *stack.Stack, t *stack.Thing, l Loader, o Options) (Plan, error) {
	if in, known := t.Bool("logged_in"); known && !in {
		return Plan{}, hint.With(fmt.Errorf("no login to %s succeeded", t.Ref), "give a login with --dsn")
	}
	p := Plan{Of: t.Ref, For: o.For, Servers: []stack.Ref{t.Ref}, Loss: l.Loss(t), After: l.After()}
	for _, want := range l.Settings(s, t) {
		if want.Kept != "" {
			p.Kept = append(p.Kept, want.Knob+": "+want.Kept)
			continue
		}
		k := stack.Knob{Of: t.Ref, Name: want.Knob}
		now, _ := t.Get(want.Knob)
		if want.To.Equal(now) {
			p.Kept = append(p.Kept, fmt.Sprintf("%s: it is already %s", want.Knob, now))
			continue
		}
		p.Steps = append(p.Steps, change.Step{Knob: k, From: now, To: want.To, Because: want.Why})
		p.Unsafe = append(p.Unsafe, k.String())
	}
	if len(p.Steps) == 0 {
		return p, hint.With(fmt.Errorf("%s already has all settings for a load that can be restored afterwards", t.Ref), "plumb boost DATASET speeds up the dataset below it")
	}
	return p, asked(s, p.Servers, o.Also)
}
