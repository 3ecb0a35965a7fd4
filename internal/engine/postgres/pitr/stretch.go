package pitr

import (
	"fmt"

	"plumb/internal/archive"
	"plumb/internal/engine/postgres/wal"
)

// Stretches implements archive.Product.
func (Engine) Stretches(all []archive.Piece) (out []archive.Stretch) {
	var next string // the file that joins on
	var server string
	for _, p := range all {
		size := uint64(p.To)
		timeline, at, is := segmentOf(p)
		if !is {
			continue
		}
		if len(out) == 0 || server != p.Server || p.File != next {
			s := archive.Stretch{Server: p.Server, Series: p.Series, From: text(timeline, at)}
			if next != "" && server == p.Server && next[:8] == p.File[:8] {
				s.Hole = next
			}
			out = append(out, s)
		}
		s := &out[len(out)-1]
		s.To = text(timeline, at+size)
		s.Pieces, s.Bytes = s.Pieces+1, s.Bytes+p.To
		server, next = p.Server, wal.Name(timeline, at+size, size)
	}
	return out
}

func text(timeline int, at uint64) string {
	return fmt.Sprintf("%s of timeline %d", wal.Text(at), timeline)
}
