package pitr

import (
	"fmt"
	"regexp"
	"strconv"

	"plumb/internal/archive"
	"plumb/internal/backup/manifest"
	"plumb/internal/engine/postgres/wal"
)

var _ archive.Product = Engine{}

// numbered are the names that tell a place: those of segments, of parts of them, and of what says where a base began.
var numbered = regexp.MustCompile(`^([0-9A-F]{8})([0-9A-F]{8})([0-9A-F]{8})(?:\.partial|\.[0-9A-F]{8}\.backup)?$`)

// Places implements archive.Product. A history has no place: whatever is pruned, it stays, for the way to a timeline is
// known from it alone.
func (Engine) Places(log []archive.Piece) []archive.Place {
	places := make([]archive.Place, len(log))
	usual := sizeOf(log)
	for i, p := range log {
		m := numbered.FindStringSubmatch(p.File)
		size := uint64(p.To)
		if m != nil && label.MatchString(p.File) {
			size = usual
		}
		if m == nil || p.Series != Series || p.From != 0 || !wal.IsSize(size) {
			continue
		}
		timeline, _ := strconv.ParseUint(m[1], 16, 31)
		_, at, _ := whole(m[1]+m[2]+m[3], size)
		places[i] = place(at+size-1, int(timeline))
	}
	return places
}

// sizeOf is how large the segments of a log are; 0 where it has none.
func sizeOf(log []archive.Piece) uint64 {
	for _, p := range log {
		if _, _, is := whole(p.File, uint64(p.To)); is && p.Series == Series {
			return uint64(p.To)
		}
	}
	return 0
}

// place is where a byte of the log is. Places are compared without their timelines: where one parts from another is in
// a history, which who prunes cannot open.
func place(at uint64, timeline int) archive.Place {
	return archive.Place{Key: fmt.Sprintf("%016X", at), Text: wal.Text(at), Line: timeline}
}

// Begins implements archive.Product. A segment of an earlier timeline than that of the base has another past there. One of a later timeline
// may have the place: it begins with what the timelines have in common.
func (Engine) Begins(m manifest.Manifest, log []archive.Piece) (at archive.Place, in []archive.Piece, err error) {
	system, err := strconv.ParseUint(systemOf(m), 10, 64)
	if err != nil {
		return at, nil, fmt.Errorf("of which server it is is %q", systemOf(m))
	}
	if len(log) == 0 || log[0].Server != Server(system) {
		return at, nil, nil
	}
	from, of := factStart, factTimeline
	if m.Point != "" {
		from, of = factPlace, factLine
	}
	start, ok := wal.Place(m.Facts[from])
	timeline, err := strconv.ParseUint(m.Facts[of], 10, 31)
	if m.Facts[of] == "" && m.Point != "" { // former versions did not say: then what later timelines have stays
		timeline, err = 0, nil
	}
	if !ok || err != nil {
		return at, nil, fmt.Errorf("where it begins is %q of timeline %q", m.Facts[from], m.Facts[of])
	}
	for _, p := range log {
		size := uint64(p.To)
		if of, first, is := whole(p.File, size); is && of >= int(timeline) && wal.IsSize(size) && p.Series == Series && first <= start && start-first < size {
			in = append(in, p)
		}
	}
	return place(start, int(timeline)), in, nil
}

// Alone implements archive.Product. A point has the log that it needs. What pg_basebackup -X fetch gives has the log that it needs, and what -X none gives has not.
func (Engine) Alone(m manifest.Manifest) (is, known bool) {
	if m.Point != "" {
		return true, true
	}
	has := m.Facts[factLog]
	return has == logIncluded, has != ""
}
