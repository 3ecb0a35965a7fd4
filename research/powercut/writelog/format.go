package writelog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Numbers of the format.
const (
	magic     = 0x6a736677736872
	version   = 1
	superSize = 28 // magic, version, entries (8 each), sector size (4)
	entrySize = 32 // sector, sectors, flags, length of data (8 each)
)

// Bounds. A sector of more than 64 KiB, a disk of more than 64 TiB or a longer
// log than this is a damaged one, or one that wants another program.
const (
	minSector  = 512
	maxSector  = 64 << 10
	maxDisk    = 64 << 40
	maxEntries = 1 << 22
)

// Flags says what an entry was.
type Flags uint64

// The flags of dm-log-writes.
const (
	Flush    Flags = 1 << iota // what was complete before it is on the medium
	FUA                        // it is itself on the medium
	Discard                    // no data; the sectors' content is given up
	Mark                       // text of a person, no write
	Metadata                   // the write was the filesystem's own; Linux only
)

const allFlags = Flush | FUA | Discard | Mark | Metadata

// String names the flags, as in "flush|fua".
func (f Flags) String() string {
	var all []string
	for i, name := range []string{"flush", "fua", "discard", "mark", "metadata"} {
		if f&(1<<i) != 0 {
			all = append(all, name)
		}
	}
	if len(all) == 0 {
		return "write"
	}
	return strings.Join(all, "|")
}

// ErrNoLog says that a file is no log of writes, or a damaged one.
var ErrNoLog = errors.New("not a log of dm-log-writes or blklogwrites")

// Super is the first sector of a log.
type Super struct {
	Entries    uint64 // how many the log has, or a little fewer or more: see the package
	SectorSize int64  // bytes; of all sectors, those of the disk and those of the log
}

// ParseSuper reads the beginning of a log.
func ParseSuper(data []byte) (Super, error) {
	if len(data) < superSize {
		return Super{}, fmt.Errorf("super block of %d bytes: %w", len(data), ErrNoLog)
	}
	if got := binary.LittleEndian.Uint64(data); got != magic {
		return Super{}, fmt.Errorf("super block begins with %#x: %w", got, ErrNoLog)
	}
	if got := binary.LittleEndian.Uint64(data[8:]); got != version {
		return Super{}, fmt.Errorf("super block of version %d: %w", got, ErrNoLog)
	}
	s := Super{Entries: binary.LittleEndian.Uint64(data[16:]), SectorSize: int64(binary.LittleEndian.Uint32(data[24:]))}
	if s.SectorSize < minSector || s.SectorSize > maxSector || s.SectorSize&(s.SectorSize-1) != 0 {
		return Super{}, fmt.Errorf("super block with sectors of %d bytes: %w", s.SectorSize, ErrNoLog)
	}
	return s, nil
}

// Entry is one write, flush, discard or mark.
type Entry struct {
	At      int64 // where it stands in the log, in bytes
	Sector  int64 // the first of the disk that it touched
	Sectors int64 // how many
	Flags   Flags
	Data    int64  // where its data begin in the log, in bytes; 0 when it has none
	Mark    string // the text of a mark
	// Doubtful entries are the last of a log whose keeper was killed: their
	// data may be there only in part. They are never kept.
	Doubtful bool
}

// writes says whether replaying the entry changes the disk.
func (e *Entry) writes() bool { return e.Sectors > 0 && e.Flags&Mark == 0 }

// logged is how many sectors of the log its data take.
func (e *Entry) logged() int64 {
	if e.Flags&Discard != 0 {
		return 0
	}
	return e.Sectors
}

// ParseEntry reads the sector that describes an entry. An empty sector is no
// entry, and no error. At and Data are not set: only the reader of the log knows them.
func ParseEntry(data []byte) (e Entry, empty bool, err error) {
	if len(data) < minSector || len(data) > maxSector {
		return e, false, fmt.Errorf("entry in a sector of %d bytes: %w", len(data), ErrNoLog)
	}
	if zero(data) {
		return e, true, nil
	}
	sector, sectors := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])
	flags, length := binary.LittleEndian.Uint64(data[16:]), binary.LittleEndian.Uint64(data[24:])
	most := uint64(maxDisk / len(data))
	switch {
	case flags&^uint64(allFlags) != 0:
		return e, false, fmt.Errorf("entry with flags %#x: %w", flags, ErrNoLog)
	case sector > most || sectors > most || sector+sectors > most:
		return e, false, fmt.Errorf("entry of %d sectors at %d: %w", sectors, sector, ErrNoLog)
	}
	e = Entry{Sector: int64(sector), Sectors: int64(sectors), Flags: Flags(flags)}
	rest := data[entrySize:]
	if e.Flags&Mark != 0 {
		if length > uint64(len(rest)) {
			return e, false, fmt.Errorf("mark of %d bytes: %w", length, ErrNoLog)
		}
		e.Mark, rest = string(rest[:length]), rest[length:]
	}
	if !zero(rest) { // both writers fill with zeros: this is data taken for an entry
		return e, false, fmt.Errorf("entry with something behind it in its sector: %w", ErrNoLog)
	}
	return e, false, nil
}

func zero(data []byte) bool {
	for _, b := range data {
		if b != 0 {
			return false
		}
	}
	return true
}
