package writelog

import (
	"fmt"
	"io"
)

// Replay writes what a cut kept to an image of a disk of so many bytes. The
// image must hold what the disk held when the log began. A discard that was
// kept leaves zeros, as on a file that QEMU punches holes into.
func (l *Log) Replay(log io.ReaderAt, image io.WriterAt, size int64, c Cut) error {
	if err := l.fits(c); err != nil {
		return err
	}
	r := replay{log: log, image: image, sector: l.SectorSize, size: size}
	for i := range l.Entries[:c.loose()] {
		if e := &l.Entries[i]; e.writes() {
			if err := r.apply(e, 0, e.Sectors); err != nil {
				return fmt.Errorf("replay entry %d: %w", i, err)
			}
		}
	}
	for _, p := range c.Parts {
		if err := r.apply(&l.Entries[p.Entry], p.From, p.Count); err != nil {
			return fmt.Errorf("replay entry %d: %w", p.Entry, err)
		}
	}
	return nil
}

// fits says whether a cut is one of this log.
func (l *Log) fits(c Cut) error {
	if c.End < 0 || c.End > len(l.Entries) || c.Flush < -1 || c.Flush >= c.End {
		return fmt.Errorf("replay: %s does not fit a log of %d entries", c, len(l.Entries))
	}
	last := c.loose()
	for _, p := range c.Parts {
		if p.Entry < last || p.Entry >= c.End {
			return fmt.Errorf("replay: a part of entry %d is out of order", p.Entry)
		}
		last = p.Entry
		if e := &l.Entries[p.Entry]; p.From < 0 || p.Count < 0 || p.From > e.Sectors || p.Count > e.Sectors-p.From {
			return fmt.Errorf("replay: entry %d has %d sectors, and not %d from %d", p.Entry, e.Sectors, p.Count, p.From)
		}
	}
	return nil
}

type replay struct {
	log          io.ReaderAt
	image        io.WriterAt
	sector, size int64
	buffer       []byte
}

// apply writes some sectors of an entry.
func (r *replay) apply(e *Entry, from, count int64) error {
	to, left := (e.Sector+from)*r.sector, count*r.sector
	if to > r.size || left > r.size-to {
		return fmt.Errorf("%s of %d bytes at %d is beyond the end of the disk, %d", e.Flags, left, to, r.size)
	}
	if n := min(copySize, left); int64(len(r.buffer)) < n {
		r.buffer = make([]byte, n)
	}
	if e.Flags&Discard != 0 {
		clear(r.buffer)
	}
	for at := e.Data + from*r.sector; left > 0; {
		part := r.buffer[:min(copySize, left)]
		if e.Flags&Discard == 0 {
			if err := readFull(r.log, part, at); err != nil {
				return err
			}
		}
		if _, err := r.image.WriteAt(part, to); err != nil {
			return fmt.Errorf("write the image: %w", err)
		}
		n := int64(len(part))
		at, to, left = at+n, to+n, left-n
	}
	return nil
}
