package writelog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Log is what a log holds: where everything is, not the data, which stay in
// the file.
type Log struct {
	SectorSize int64 // bytes
	Counted    uint64
	Entries    []Entry
	End        int64 // where the last of them ends in the log, in bytes
	// Hole says that something stands behind the place where the entries end:
	// one of them is missing, and those after it cannot be found. What was
	// promised by then may rest on a flush among them.
	Hole bool
}

// Read finds the entries of a log of so many bytes.
func Read(log io.ReaderAt, size int64) (*Log, error) {
	head := make([]byte, superSize)
	if err := readFull(log, head, 0); err != nil {
		return nil, fmt.Errorf("read the super block: %w", err)
	}
	super, err := ParseSuper(head)
	if err != nil {
		return nil, err
	}
	l := &Log{SectorSize: super.SectorSize, Counted: super.Entries, End: super.SectorSize}
	if err := l.walk(log, size); err != nil {
		return nil, err
	}
	return l, l.doubt(log)
}

// walk goes from entry to entry until there is none.
func (l *Log) walk(log io.ReaderAt, size int64) error {
	sector := make([]byte, l.SectorSize)
	for at := l.SectorSize; at+l.SectorSize <= size; {
		if err := readFull(log, sector, at); err != nil {
			return fmt.Errorf("read entry %d: %w", len(l.Entries), err)
		}
		e, empty, err := ParseEntry(sector)
		counted := uint64(len(l.Entries)) < l.Counted
		switch {
		case err != nil && counted:
			return fmt.Errorf("read entry %d of %d, at byte %d: %w", len(l.Entries), l.Counted, at, err)
		case err != nil || empty:
			l.Hole, err = l.anything(log, at, size)
			return err
		case len(l.Entries) == maxEntries:
			return fmt.Errorf("read the log: it has more than %d entries", maxEntries)
		}
		e.At = at
		at += l.SectorSize
		if e.logged() > (size-at)/l.SectorSize { // its data were not all written: the end
			return nil
		}
		if e.logged() > 0 {
			e.Data = at
		}
		at += e.logged() * l.SectorSize
		l.Entries, l.End = append(l.Entries, e), at
	}
	return nil
}

// anything says whether a log has anything but zeros from a place on. It looks
// at no more than lookAhead bytes: a writer that goes on writes nearby.
func (l *Log) anything(log io.ReaderAt, at, size int64) (bool, error) {
	end := min(size, at+lookAhead)
	block := make([]byte, min(copySize, end-at))
	for at < end {
		n := min(copySize, end-at)
		if err := readFull(log, block[:n], at); err != nil {
			return false, fmt.Errorf("look behind the last entry: %w", err)
		}
		if !zero(block[:n]) {
			return true, nil
		}
		at += n
	}
	return false, nil
}

// doubt marks the entries whose data may be there only in part.
func (l *Log) doubt(log io.ReaderAt) error {
	last := make([]byte, l.SectorSize)
	for i := l.LastFlush(len(l.Entries)) + 1; i < len(l.Entries); i++ {
		e := &l.Entries[i]
		if e.logged() == 0 {
			continue
		}
		if err := readFull(log, last, e.Data+(e.logged()-1)*l.SectorSize); err != nil {
			return fmt.Errorf("read the data of entry %d: %w", i, err)
		}
		e.Doubtful = zero(last)
	}
	return nil
}

// LastFlush is the last flush among the first so many entries, or -1.
func (l *Log) LastFlush(end int) int {
	for i := min(end, len(l.Entries)) - 1; i >= 0; i-- {
		if l.Entries[i].Flags&Flush != 0 {
			return i
		}
	}
	return -1
}

// Before counts the entries that stand in the first so many bytes of the log,
// if only in part. Whoever sees the log of a running QEMU grow knows by it what
// was complete by then: an entry is in the log before the guest hears of it.
func (l *Log) Before(size int64) int {
	n, _ := slices.BinarySearchFunc(l.Entries, size, func(e Entry, size int64) int { return cmp.Compare(e.At, size) })
	return n
}

// Flushes lists the entries that are flushes.
func (l *Log) Flushes() (all []int) {
	for i := range l.Entries {
		if l.Entries[i].Flags&Flush != 0 {
			all = append(all, i)
		}
	}
	return all
}

// Sizes of what is read or written at a time.
const (
	copySize  = 1 << 20
	lookAhead = 256 << 20
)

// readFull fills a buffer. A file that ends early is no log.
func readFull(log io.ReaderAt, into []byte, at int64) error {
	n, err := log.ReadAt(into, at)
	if n == len(into) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return fmt.Errorf("%d of %d bytes at %d: %w", n, len(into), at, ErrNoLog)
	}
	return err
}
