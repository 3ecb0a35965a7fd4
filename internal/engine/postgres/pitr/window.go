package pitr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/archive"
	"plumb/internal/engine/postgres/wal"
	"plumb/internal/hint"
)

// stretch is the part of a way that lies on one timeline.
type stretch struct {
	timeline int
	from     uint64 // where it parted from the one before; 0 of the first
}

var parted = regexp.MustCompile(`^\s*([0-9]{1,10})\s+([0-9A-F]{1,8})/([0-9A-F]{1,8})(\s|$)`)

// readHistory reads which timelines led to one.
func readHistory(timeline int, text []byte) (all []stretch, err error) {
	begins := uint64(0)
	for line := range bytes.Lines(text) {
		if rest := bytes.TrimSpace(line); len(rest) == 0 || rest[0] == '#' {
			continue
		}
		m := parted.FindSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("the history of timeline %d has a line that is not understood", timeline)
		}
		of, _ := strconv.Atoi(string(m[1]))
		at, ok := wal.Place(string(m[2]) + "/" + string(m[3]))
		if !ok || len(all) > 0 && (of <= all[len(all)-1].timeline || at < begins) || of >= timeline {
			return nil, fmt.Errorf("the history of timeline %d is not in order", timeline)
		}
		all, begins = append(all, stretch{of, begins}), at
	}
	return append(all, stretch{timeline, begins}), nil
}

// window is what an archive has of a server's log.
type window struct {
	segments  map[string]archive.Piece // a whole one, or what there is of the last of a timeline: PostgreSQL calls that partial
	histories map[int]archive.Piece
	ways      map[int][]stretch // that the histories tell
	size      uint64            // of a segment
	way       []stretch
}

var errNoWAL = errors.New("the archive has no WAL of the server")

// newWindow sorts the pieces of a server.
func newWindow(all []archive.Piece) (*window, error) {
	w := &window{segments: map[string]archive.Piece{}, histories: map[int]archive.Piece{}}
	var first archive.Piece
	for _, p := range all {
		name := nameOf(p)
		_, _, is := whole(name, uint64(p.To))
		switch {
		case p.Series != Series || p.From != 0:
		case is && !wal.IsSize(uint64(p.To)): // a name in the store can say anything
		case is:
			if w.size == 0 {
				first = p
			}
			if p.To != first.To {
				return nil, sizes(first, p)
			}
			w.size = uint64(p.To)
			if _, is := w.segments[name]; !is || name == p.File { // a whole one has more than a partial one
				w.segments[name] = p
			}
		case history.MatchString(p.File):
			n, err := strconv.ParseUint(p.File[:8], 16, 31)
			if err == nil {
				w.histories[int(n)] = p
			}
		}
	}
	if w.size == 0 {
		return nil, errNoWAL
	}
	return w, nil
}

// sizes is the error of an archive in which not all segments are of one size, as the names of two objects say.
func sizes(one, other archive.Piece) error {
	return hint.With(fmt.Errorf("a segment has %d bytes by its name (%s), and another has %d (%s)", one.To, one.Name(), other.To, other.Name()),
		"all segments of a server have one size: one of the two was put there by somebody else, and has to be removed")
}

// partial is how the name of a segment ends that was the last of its timeline when another was begun in it.
const partial = ".partial"

// nameOf is what a server calls a segment that it reads.
func nameOf(p archive.Piece) string { return strings.TrimSuffix(p.File, partial) }

// newest is the newest timeline that the archive knows of.
func (w *window) newest() (newest int) {
	for n := range w.histories {
		newest = max(newest, n)
	}
	return max(newest, 1)
}

// read reads all histories: a restored server gets each of them, so that one that is damaged or forged is found before
// anything is written.
func (w *window) read(ctx context.Context, s archive.Shelf) error {
	w.ways = map[int][]stretch{}
	for _, timeline := range slices.Sorted(maps.Keys(w.histories)) {
		text, err := contents(ctx, s, w.histories[timeline])
		if err != nil {
			return err
		}
		if w.ways[timeline], err = readHistory(timeline, text); err != nil {
			return err
		}
	}
	return nil
}

// follow takes the way that leads to a timeline, and on which a base lies as a whole, up to its end.
func (w *window) follow(timeline, base int, end uint64) error {
	w.way = []stretch{{timeline, 0}}
	if way, known := w.ways[timeline]; known {
		w.way = way
	} else if timeline != base {
		return fmt.Errorf("there is a gap: %08X.history is not in the archive", timeline)
	}
	at := slices.IndexFunc(w.way, func(one stretch) bool { return one.timeline == base })
	if at < 0 || at+1 < len(w.way) && end > w.way[at+1].from {
		return hint.With(fmt.Errorf("timeline %d does not branch off after the base backup, which ends at %s of timeline %d", timeline, wal.Text(end), base),
			fmt.Sprintf("--timeline %d follows that of the base", base))
	}
	return nil
}

func contents(ctx context.Context, s archive.Shelf, p archive.Piece) ([]byte, error) {
	if p.To > mostText {
		return nil, fmt.Errorf("%s has %d bytes, and %d is the most", p.File, p.To, mostText)
	}
	e, err := s.Entry(ctx, p)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = s.Read(ctx, e, &text)
	return text.Bytes(), err
}

// at gives the segment that holds a place, or the name of the one that is missing: of the newest timeline that can
// have it, as the server itself looks for it.
func (w *window) at(where uint64) (p archive.Piece, missing string, is bool) {
	first := where / w.size * w.size
	for _, one := range slices.Backward(w.way) {
		if first < one.from/w.size*w.size {
			continue
		}
		name := wal.Name(one.timeline, first, w.size)
		if missing == "" {
			missing = name
		}
		if p, is = w.segments[name]; is || one.from <= first {
			break // the older have nothing of it
		}
	}
	return p, missing, is
}

// course is the log that an archive has from a place on, without a gap.
type course struct {
	pieces  []archive.Piece
	missing string // the segment that would be next
	hole    bool   // something comes behind that one
	until   uint64 // where the timeline of the last piece was left: what that has behind it is of no use; 0 for all of it
}

// run gives the course from a place on. Where the archive has the segment in which a timeline was left, and not that of the next
// one, it ends: what the old timeline wrote behind that place is of another past.
func (w *window) run(start uint64) (c course) {
	last := uint64(0)
	for name := range w.segments {
		_, at, _ := whole(name, w.size)
		if p, _, is := w.at(at); is && nameOf(p) == name { // it is on the way
			last = max(last, at)
		}
	}
	for at := start / w.size * w.size; ; at += w.size {
		p, name, is := w.at(at)
		if is {
			c.pieces = append(c.pieces, p)
			c.until = w.left(nameOf(p), at)
		}
		if !is || c.until > 0 {
			c.missing, c.hole = name, at < last
			return c
		}
	}
}

// left is where the way leaves the timeline of a segment within it; 0 where it does not.
func (w *window) left(name string, at uint64) uint64 {
	timeline, _, _ := whole(name, w.size)
	i := slices.IndexFunc(w.way, func(one stretch) bool { return one.timeline == timeline })
	if i+1 < len(w.way) && w.way[i+1].from < at+w.size {
		return w.way[i+1].from
	}
	return 0
}
