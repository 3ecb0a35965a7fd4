package pitr

import (
	"fmt"
	"strconv"

	"plumb/internal/archive"
	"plumb/internal/backup/manifest"
)

var _ archive.Product = Engine{}

// Places implements archive.Product. Files stay or go whole: whether a file is the one in which a base ends is known
// from its beginning.
func (Engine) Places(log []archive.Piece) []archive.Place {
	places := make([]archive.Place, len(log))
	for i, p := range log {
		if isSeries(p.Series) {
			places[i] = place(p)
		}
	}
	return places
}

// place is where a file is in the log, as order has it.
func place(p archive.Piece) archive.Place {
	return archive.Place{Key: p.Series + "/" + fmt.Sprintf("%03d", len(p.File)) + "/" + p.File, Text: p.File}
}

// Begins implements archive.Product. A base says the name of a file and not in which series that is, nor whose log it is:
// so it is taken to begin in the first file of that name in the log of each server.
func (Engine) Begins(m manifest.Manifest, log []archive.Piece) (at archive.Place, in []archive.Piece, err error) {
	file, offset := stood(m)
	if _, err := strconv.ParseInt(offset, 10, 64); err != nil {
		return at, nil, fmt.Errorf("where in %q it begins is %q", file, offset)
	}
	for _, p := range log {
		if !isSeries(p.Series) || p.File != file {
			continue
		}
		if len(in) == 0 || place(p).Key < at.Key {
			at = place(p)
		}
		in = append(in, p)
	}
	return at, in, nil
}

// Alone implements archive.Product. A base has the redo log that it needs.
func (Engine) Alone(manifest.Manifest) (is, known bool) { return true, true }
