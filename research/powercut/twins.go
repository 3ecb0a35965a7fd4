package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"io"
	"strings"

	"plumb/research/powercut/writelog"
)

// exposure counts what a doublewrite buffer is there to prevent: pages of
// InnoDB that a log wrote to two places with no flush between. Both the copy
// and the page were then in the disk's cache alone, and a power cut could
// tear both.
type exposure struct {
	Pages   int `json:"pages"`   // that were written to two places, each counted once for each pair
	Exposed int `json:"exposed"` // of these without a flush between
	// Spans are the stretches of the log between two flushes that have such pages, of all.
	Spans int `json:"spans"`
	Of    int `json:"of"`
}

// twins are the entries that wrote the copy and the page itself, in that order.
type twins struct{ first, second int }

// innodbPage is the size of a page, which all our servers have.
const innodbPage = 16 << 10

// wholePage says whether some bytes are a page of InnoDB: both its ends have the
// same log position. It ends a page of MySQL; with MariaDB's full_crc32, which
// is the default there, a checksum comes after it.
func wholePage(b []byte) bool {
	const end = innodbPage
	return len(b) == end && binary.BigEndian.Uint32(b[20:]) != 0 && (bytes.Equal(b[20:24], b[end-4:]) || bytes.Equal(b[20:24], b[end-8:end-4]))
}

// pagePlace is where a page was last written.
type pagePlace struct {
	entry  int
	sector int64
	flush  int // how many flushes came before
}

// findTwins looks through a log for pages that were written twice.
func findTwins(l *writelog.Log, log io.ReaderAt) (e *exposure, all []twins, err error) {
	e = &exposure{}
	seed := maphash.MakeSeed()
	seen := map[uint64]pagePlace{}
	block := make([]byte, innodbPage)
	flushes, marked := 0, -1
	for i := range l.Entries {
		entry := &l.Entries[i]
		if entry.Flags&writelog.Flush != 0 {
			flushes++
		}
		if entry.Flags&(writelog.Discard|writelog.Mark) != 0 || entry.Doubtful {
			continue
		}
		for from := int64(0); from+innodbPage/l.SectorSize <= entry.Sectors; from += innodbPage / l.SectorSize {
			if _, err := log.ReadAt(block, entry.Data+from*l.SectorSize); err != nil {
				return nil, nil, fmt.Errorf("read the data of entry %d: %w", i, err)
			}
			if !wholePage(block) {
				continue
			}
			key, here := maphash.Bytes(seed, block), pagePlace{i, entry.Sector + from, flushes}
			if before, ok := seen[key]; ok && before.sector != here.sector {
				e.Pages++
				if before.flush == flushes {
					e.Exposed++
					all = append(all, twins{before.entry, i})
					if marked != flushes {
						marked = flushes
						e.Spans++
					}
				}
			}
			seen[key] = here
		}
	}
	e.Of = flushes + 1
	return e, all, nil
}

// countTwins prints what a log by hand has.
func countTwins(name string, out io.Writer) error {
	l, log, err := openLog(name)
	defer log.Close() // also of none
	if err != nil {
		return err
	}
	e, _, err := findTwins(l, log)
	if err == nil {
		fmt.Fprintln(out, e)
	}
	return err
}

// String says it for a person.
func (e *exposure) String() string {
	return fmt.Sprintf("%d of %d pages, in %d of %d stretches", e.Exposed, e.Pages, e.Spans, e.Of)
}

// exposures says for each row what its logs had: see exposure.
func exposures(rows []row, all []trial) string {
	var b strings.Builder
	for _, r := range rows {
		var sum exposure
		logs := 0
		for _, t := range all {
			if e := t.Exposure; e != nil && t.Row == r.name && t.Hash == r.hash() {
				logs++
				sum.Pages, sum.Exposed, sum.Spans, sum.Of = sum.Pages+e.Pages, sum.Exposed+e.Exposed, sum.Spans+e.Spans, sum.Of+e.Of
			}
		}
		if logs > 0 {
			fmt.Fprintf(&b, "* %s: %s of %d logs\n", r.title(), &sum, logs)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\nPages that were in the disk's cache together with their doublewrite copy, in the stretches of a log between two flushes:\n\n" + b.String()
}
