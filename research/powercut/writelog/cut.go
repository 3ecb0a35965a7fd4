package writelog

import (
	"fmt"
	"math/rand/v2"
)

// Cut is one power cut: what of a log reached the medium.
type Cut struct {
	End   int    // entries from here on never happened
	Flush int    // the last flush before End, or -1: all before it is kept
	Parts []Part // what is kept of what followed that flush, in order
	// Of the writes after the flush:
	Whole, Torn, Lost int
}

// Part is some sectors of an entry that are kept, counted from its first.
type Part struct {
	Entry       int
	From, Count int64
}

// All is the cut that loses nothing: what the disk would hold had it been
// switched off in peace. Doubtful entries are kept too.
func (l *Log) All() Cut {
	c := Cut{End: len(l.Entries), Flush: l.LastFlush(len(l.Entries))}
	for i := c.loose(); i < c.End; i++ {
		if e := &l.Entries[i]; e.writes() {
			c.keep(i, e.Sectors)
		}
	}
	return c
}

// loose is the first entry that the flush does not cover. That is the flush
// itself, since one of Linux can carry data, which it does not cover.
func (c *Cut) loose() int { return max(c.Flush, 0) }

func (c *Cut) keep(entry int, sectors int64) {
	c.Parts = append(c.Parts, Part{Entry: entry, Count: sectors})
	c.Whole++
}

// Draw cuts the power when so many entries were complete. The same seed gives
// the same cut.
func (l *Log) Draw(end int, seed uint64) (Cut, error) { return l.draw(end, seed, -1, -1) }

// DrawTorn is Draw with two fates that are no chance: of one write nothing is
// kept, and of another its first half. A disk may do so with any two that no
// flush came after.
func (l *Log) DrawTorn(end int, seed uint64, lost, torn int) (Cut, error) {
	for _, i := range []int{lost, torn} {
		if i < max(0, l.LastFlush(end)) || i >= end || !l.Entries[i].writes() || l.Entries[i].Flags&FUA != 0 || l.Entries[i].Doubtful {
			return Cut{}, fmt.Errorf("tear entry %d in a cut after %d: it is no write that a disk may tear", i, end)
		}
	}
	return l.draw(end, seed, lost, torn)
}

func (l *Log) draw(end int, seed uint64, lost, torn int) (Cut, error) {
	if end < 0 || end > len(l.Entries) {
		return Cut{}, fmt.Errorf("cut after entry %d: the log has %d", end, len(l.Entries))
	}
	d := drawer{rng: rand.New(rand.NewPCG(seed, 0x706c756d62))}
	c := Cut{End: end, Flush: l.LastFlush(end)}
	d.choose(l.optional(c))
	for i := c.loose(); i < end; i++ {
		e := &l.Entries[i]
		switch {
		case !e.writes():
		case e.Flags&FUA != 0:
			c.keep(i, e.Sectors)
		case e.Doubtful || i == lost:
			c.Lost++
		case i == torn:
			c.Torn++
			c.Parts = append(c.Parts, Part{Entry: i, Count: e.Sectors / 2})
		default:
			d.fate(&c, i, e.Sectors)
		}
	}
	return c, nil
}

// optional counts the writes of a cut that nothing promised to keep.
func (l *Log) optional(c Cut) (n int) {
	for i := c.loose(); i < c.End; i++ {
		if e := &l.Entries[i]; e.writes() && e.Flags&FUA == 0 && !e.Doubtful {
			n++
		}
	}
	return n
}

// drawer decides about the writes that nothing promised to keep.
type drawer struct {
	rng   *rand.Rand
	way   way
	keeps float64 // chance that a write is kept, where each has its own
	tears float64 // chance that a kept one is torn
	first int     // how many are kept, where they are kept in order
	seen  int
}

// way is how a cache lets go. Real ones do all of these, and a test that
// knows only "each with chance one half" never meets the ends.
type way int

const (
	each       way = iota // each write has its own luck
	inOrder               // the first ones are kept, the next is torn
	none                  // all are lost
	everything            // all are kept, as by a disk without a cache
	ways
)

// choose draws how this cut goes, for so many writes.
func (d *drawer) choose(writes int) {
	d.way = max(each, way(d.rng.IntN(int(ways)+2))-2) // each of them three times as often
	d.keeps, d.tears = d.rng.Float64(), d.rng.Float64()/2
	d.first = d.rng.IntN(writes + 1)
}

// fate decides about one write.
func (d *drawer) fate(c *Cut, entry int, sectors int64) {
	kept, torn := d.rng.Float64() < d.keeps, d.rng.Float64() < d.tears
	switch d.way {
	case inOrder:
		kept, torn = d.seen <= d.first, d.seen == d.first
	case none:
		kept = false
	case everything:
		kept, torn = true, false
	}
	d.seen++
	switch {
	case !kept:
		c.Lost++
	case torn && sectors > 1:
		c.Torn++
		c.Parts = d.tear(c.Parts, entry, sectors)
	default:
		c.keep(entry, sectors)
	}
}

// mostPieces bounds how often one write is torn.
const mostPieces = 64

// tear keeps some sectors of a write and loses some: its beginning, its end,
// or pieces, as a disk does that writes it in an order of its own.
func (d *drawer) tear(parts []Part, entry int, sectors int64) []Part {
	n := 1 + d.rng.Int64N(sectors-1)
	switch d.rng.IntN(3) {
	case 0:
		return append(parts, Part{Entry: entry, Count: n})
	case 1:
		return append(parts, Part{Entry: entry, From: sectors - n, Count: n})
	}
	piece := max(1, (sectors+mostPieces-1)/mostPieces)
	before := len(parts)
	for from := int64(0); from < sectors; from += piece {
		if d.rng.IntN(2) == 0 {
			parts = append(parts, Part{Entry: entry, From: from, Count: min(piece, sectors-from)})
		}
	}
	if len(parts) == before || sectors == total(parts[before:]) { // torn is neither none nor all
		return append(parts[:before], Part{Entry: entry, Count: n})
	}
	return parts
}

func total(parts []Part) (sectors int64) {
	for _, p := range parts {
		sectors += p.Count
	}
	return sectors
}

// String says in a line what was cut.
func (c Cut) String() string {
	flush := "no flush"
	if c.Flush >= 0 {
		flush = fmt.Sprintf("flush %d", c.Flush)
	}
	return fmt.Sprintf("cut after entry %d, %s before it; of the writes since %d whole, %d torn, %d lost", c.End, flush, c.Whole, c.Torn, c.Lost)
}
