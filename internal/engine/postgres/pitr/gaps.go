package pitr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"plumb/internal/archive"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/engine/postgres/wal"
)

// Gaps implements archive.Gaps: a segment that is not in the archive, while an earlier and a later one of its timeline are.
type Gaps struct {
	mu   sync.Mutex
	next map[string]string // the file that joins on, by server and timeline
}

var _ archive.Gaps = (*Gaps)(nil)

// Joins implements archive.Gaps. Segments up to the last one were handed over before, as a standby does that archives, too.
func (g *Gaps) Joins(p archive.Piece) bool {
	size := uint64(p.To)
	timeline, at, is := segmentOf(p)
	if !is {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	of := p.Server + "/" + p.File[:8]
	next := g.next[of]
	if p.File < next {
		return true
	}
	if g.next == nil {
		g.next = map[string]string{}
	}
	g.next[of] = wal.Name(timeline, at+size, size)
	return p.File == next
}

// Base implements archive.Gaps.
func (*Gaps) Base(server string, m manifest.Manifest) bool {
	system, err := strconv.ParseUint(systemOf(m), 10, 64)
	return err == nil && Server(system) == server
}

// Breaks implements archive.Gaps. That the beginning of a log was pruned is no gap.
func (g *Gaps) Breaks(ctx context.Context, k *archive.Keeper) (map[string][]archive.Break, error) {
	shelf, err := k.OwnShelf()
	if err != nil {
		return nil, err
	}
	all, err := shelf.List(ctx, "")
	if err != nil {
		return nil, err
	}
	found := map[string][]archive.Break{}
	for _, log := range archive.Logs(all) {
		server := log[0].Server
		if sizeOf(log) == 0 { // it is no WAL
			continue
		}
		begins, err := shelf.Beginning(ctx, server)
		if err != nil {
			return nil, err
		}
		kept, _ := archive.Since(Engine{}, log, begins.Gone)
		holes := slices.DeleteFunc(Engine{}.Stretches(kept), func(s archive.Stretch) bool { return s.Hole == "" })
		for _, s := range holes[max(0, len(holes)-archive.MostBreaks):] {
			b, is, err := breakAt(ctx, shelf, kept, s.Hole)
			if err != nil {
				return nil, err
			}
			if is {
				found[server] = append(found[server], b)
			}
		}
	}
	return found, nil
}

// breakAt tells of a segment that is missing in a log. It was noticed when the next one was kept. What nobody signed who is trusted is no
// next one: anybody who may write to the store can have put it there.
func breakAt(ctx context.Context, shelf archive.Shelf, log []archive.Piece, missing string) (b archive.Break, is bool, err error) {
	came := false // while the rest was listed
	err = shelf.Store.List(ctx, archive.Piece{Server: log[0].Server, Series: Series, File: missing}.Folder(), func(i store.Info) error {
		_, entry, _ := archive.Object(i.Name)
		came = came || entry
		return nil
	})
	if err != nil || came {
		return b, false, err
	}
	tries := 0
	for _, p := range log {
		if _, _, is := segmentOf(p); !is || p.File <= missing || p.File[:8] != missing[:8] { // of its timeline
			continue
		}
		if tries++; tries > archive.MostDoubts {
			break
		}
		e, err := shelf.Entry(ctx, p)
		if errors.Is(err, archive.ErrUnbelieved) || errors.Is(err, store.ErrNotFound) {
			continue
		}
		return archive.Break{At: e.Kept, Why: fmt.Sprintf("%s of %s is not in the archive, and %s is: archiving was off, or a file was removed", missing, p.Server, p.File)}, err == nil, err
	}
	return b, false, nil
}
