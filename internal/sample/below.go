package sample

import "plumb/internal/stack"

// Below gives all that servers' files lie on, down to the disks: filesystems,
// datasets, pools, block devices.
func Below(s *stack.Stack) map[stack.Ref]bool {
	seen := map[stack.Ref]bool{}
	for _, r := range s.Roles {
		if fs := s.Find(r.Filesystem); fs != nil {
			below(s, fs, seen)
		}
	}
	return seen
}

// downwards are the links from a thing to what it lies on.
var downwards = []string{"block", "dataset", "pool", "on", "disks", "log_disks", "special_disks", "cache_disks", "backing"}

func below(s *stack.Stack, t *stack.Thing, seen map[stack.Ref]bool) {
	if seen[t.Ref] { // also of a circle, of which a foreign tape can tell
		return
	}
	seen[t.Ref] = true
	for _, link := range downwards {
		next, _ := s.Follow(t, link)
		for _, n := range next {
			below(s, n, seen)
		}
	}
}
