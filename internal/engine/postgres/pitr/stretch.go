package pitr

import (
	"fmt"
	"strconv"

	"plumb/internal/archive"
	"plumb/internal/engine/postgres/wal"
)

// Stretches implements archive.Stretcher.
func (Engine) Stretches(all []archive.Piece) (out []archive.Stretch) {
	var next string // the file that joins on
	var server string
	for _, p := range all {
		m := segment.FindStringSubmatch(p.File)
		if p.Series != Series || m == nil || m[4] != "" || p.From != 0 || p.To <= 0 {
			continue
		}
		timeline, _ := strconv.ParseUint(m[1], 16, 32)
		high, _ := strconv.ParseUint(m[2], 16, 32)
		low, _ := strconv.ParseUint(m[3], 16, 32)
		size := uint64(p.To)
		at := high<<32 + low*size
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
		server, next = p.Server, wal.Name(int(timeline), at+size, size)
	}
	return out
}

func text(timeline, at uint64) string {
	return fmt.Sprintf("%s of timeline %d", wal.Text(at), timeline)
}
