package pitr

import (
	"slices"
	"strconv"

	"plumb/internal/archive"
	"plumb/internal/backup/manifest"
	"plumb/internal/engine/mysql/binlog"
)

// Engine knows bases and logs of MariaDB and MySQL.
type Engine struct{}

// Stretches implements archive.Product.
func (Engine) Stretches(all []archive.Piece) (out []archive.Stretch) {
	for _, series := range bySeries(all) {
		end := archive.Piece{}
		for i, p := range series {
			switch {
			case i > 0 && p.File == end.File && p.From <= end.To && p.To <= end.To:
				continue // kept twice
			case i > 0 && (p.File == end.File && p.From <= end.To || p.From == 0 && binlog.Follows(end.File, p.File)):
			default:
				s := archive.Stretch{Server: p.Server, Series: p.Series, From: at(p.File, p.From)}
				if i > 0 {
					s.Hole = "what comes after " + at(end.File, end.To)
				}
				out = append(out, s)
			}
			s := &out[len(out)-1]
			s.To = at(p.File, p.To)
			s.Pieces, s.Bytes = s.Pieces+1, s.Bytes+p.To-p.From
			end = p
		}
	}
	return out
}

func at(file string, place int64) string { return file + ":" + strconv.FormatInt(place, 10) }

// bySeries sorts the pieces of binary logs: each series as it was written.
func bySeries(all []archive.Piece) (out [][]archive.Piece) {
	for _, p := range all {
		if !isSeries(p.Series) {
			continue
		}
		if n := len(out); n > 0 && out[n-1][0].Server == p.Server && out[n-1][0].Series == p.Series {
			out[n-1] = append(out[n-1], p)
		} else {
			out = append(out, []archive.Piece{p})
		}
	}
	for _, one := range out {
		slices.SortFunc(one, order)
	}
	return out
}

// isSeries tells whether a series is one of binary logs: those are called by when they began.
func isSeries(name string) bool { return manifest.IsID(name) }
