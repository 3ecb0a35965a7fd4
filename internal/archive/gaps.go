package archive

import (
	"context"
	"slices"

	"plumb/internal/backup/manifest"
)

// Gaps finds what is missing in logs that servers hand over. A server hands over what it has, and knows nothing of what it did not keep:
// archiving was off for a while, or a file was removed.
type Gaps interface {
	// Joins is told of each piece that was kept, and tells whether nothing can be missing before it.
	Joins(p Piece) bool
	// Breaks gives for each server where something is missing in all that the archive has of its log, oldest first.
	Breaks(ctx context.Context, k *Keeper) (map[string][]Break, error)
	// Base tells whether a backup is a base of a server.
	Base(server string, m manifest.Manifest) bool
}

// joined looks whether a piece that was kept joins on, and has the archive looked through where it does not.
func (in *Inlet) joined(p Piece) {
	if in.Gaps == nil || in.Gaps.Joins(p) {
		return
	}
	select {
	case in.torn <- struct{}{}:
	default: // it is looked through anyway
	}
}

// gaps tells what is missing in the logs that are handed over: what is so when the service begins, and whenever a piece does not join on.
// All that the archive has is listed for that, and nobody who hands over waits meanwhile. What is missing is looked for again and again: it
// may have come late, and a base that begins behind it makes up for it.
func (s *Service) gaps(ctx context.Context, in *Inlet) {
	of := map[string]*breaks{}
	told, newest := 0, Break{}
	for ctx.Err() == nil {
		found, err := s.look(ctx, in)
		var left []Break
		for server, all := range found {
			if of[server] == nil {
				of[server] = &breaks{}
			}
			left = append(left, s.broken(ctx, in.Name, func(m manifest.Manifest) bool { return in.Gaps.Base(server, m) }, of[server], all)...)
		}
		if err != nil && ctx.Err() == nil {
			s.Say(in.Name + ": look for gaps: " + err.Error())
		}
		slices.SortFunc(left, func(a, b Break) int { return a.At.Compare(b.At) })
		if err == nil && len(left)+told > 0 { // or what was found before holds
			if told = len(left); told > 0 && left[told-1] != newest {
				newest = left[told-1]
				s.Say(in.Name + ": the log broke off: " + newest.Why)
			}
			s.tell(ctx, in.Name, nil, func(one *Source) { one.broke(left) })
		}
		s.waitTorn(ctx, in, told > 0 || err != nil)
	}
}

// waitTorn waits until a piece did not join on, or it is time to look again.
func (s *Service) waitTorn(ctx context.Context, in *Inlet, again bool) {
	if again {
		var end func()
		ctx, end = context.WithTimeout(ctx, lookAgain)
		defer end()
	}
	select {
	case <-ctx.Done():
	case <-in.torn:
	}
}

// look looks all through that the archive has, which takes as long as it takes to list it.
func (s *Service) look(ctx context.Context, in *Inlet) (map[string][]Break, error) {
	ctx, cancel := context.WithTimeout(ctx, lookAgain)
	defer cancel()
	return in.Gaps.Breaks(ctx, s.Keeper)
}
