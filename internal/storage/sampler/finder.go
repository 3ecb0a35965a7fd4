package sampler

import (
	"errors"
	"io/fs"
	"slices"

	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/product"
	"plumb/internal/sample"
	"plumb/internal/stack"
)

// roomBytes is how much is read for a server at a time.
const roomBytes = 8 << 20

// maxOfKind bounds the pools, filesystems and drives that are read.
const maxOfKind = 64

// Finder makes the sources of the storage.
type Finder struct{}

// Sources implements sample.Finder.
func (Finder) Sources(s *stack.Stack) []sample.Source {
	if s.Host() == nil {
		return nil // a server elsewhere: nothing of its machine can be seen
	}
	locals := localsOf(s)
	out := devices(s)
	out = append(out, drives(s)...)
	out = append(out, zfsSources(s)...)
	out = append(out, filesystems(s, locals)...)
	return append(out, spaces(s, locals)...)
}

// localsOf gives the servers' processes by their numbers.
func localsOf(s *stack.Stack) map[int]observe.Local {
	out := map[int]observe.Local{}
	for _, kind := range product.Kinds() {
		for _, l := range observe.Locals(s, kind) {
			out[l.PID] = l
		}
	}
	return out
}

// held gives the filesystems on which servers keep something, in order.
func held(s *stack.Stack) []*stack.Thing {
	var out []*stack.Thing
	for _, r := range s.Roles {
		if t := s.Find(r.Filesystem); t != nil && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

func first(things []*stack.Thing) []*stack.Thing { return things[:min(len(things), maxOfKind)] }

func hintFor(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "run as root"
	case errors.Is(err, host.ErrNoCommand):
		return "install it, or add its directory to PATH"
	}
	return ""
}
