// Package pitr is how PostgreSQL is archived and brought to a moment: what may be handed over as a file of its
// log, where a base backup begins, which files lead from there to the moment, and how a server is told to
// replay them.
package pitr

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"plumb/internal/archive"
	"plumb/internal/engine/postgres/wal"
	"plumb/internal/hint"
)

// Series is the one in which the log of a server is.
const Series = "wal"

// Server is what a server is called in the archive.
func Server(system uint64) string { return "postgres-" + strconv.FormatUint(system, 10) }

var (
	segment = regexp.MustCompile(`^([0-9A-F]{8})([0-9A-F]{8})([0-9A-F]{8})(\.partial)?$`)
	history = regexp.MustCompile(`^([0-9A-F]{8})\.history$`)
	label   = regexp.MustCompile(`^[0-9A-F]{24}\.[0-9A-F]{8}\.backup$`)
)

// IsFile tells whether a server archives files of such a name.
func IsFile(name string) bool {
	return segment.MatchString(name) || history.MatchString(name) || label.MatchString(name)
}

// whole tells of a whole segment of a timeline where it begins. All are of one size.
func whole(file string, size uint64) (timeline int, at uint64, is bool) {
	if len(file) != 24 || strings.Trim(file, "0123456789ABCDEF") != "" { // who prunes asks it of each segment for each base
		return 0, 0, false
	}
	of, _ := strconv.ParseUint(file[:8], 16, 32)
	high, _ := strconv.ParseUint(file[8:16], 16, 32)
	low, _ := strconv.ParseUint(file[16:], 16, 32)
	return int(of), high<<32 + low*size, true
}

// segmentOf tells of a piece that is a whole segment of the log where it begins. A name in the store can say anything.
func segmentOf(p archive.Piece) (timeline int, at uint64, is bool) {
	timeline, at, is = whole(p.File, uint64(p.To))
	return timeline, at, is && p.Series == Series && p.From == 0 && wal.IsSize(uint64(p.To))
}

const mostText = 1 << 20 // bytes of a history or a label

// Check says what is wrong with a file that is handed over by a server, of which this is the beginning.
func Check(name string, size int64, system uint64, head []byte) error {
	m := segment.FindStringSubmatch(name)
	if m == nil {
		return checkText(name, size, head)
	}
	h, err := wal.ReadHead(head)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	timeline, _ := strconv.ParseUint(m[1], 16, 32)
	switch {
	case h.System != system:
		return hint.With(fmt.Errorf("%s belongs to the server %d, but was passed on as one of %d", name, h.System, system), "archive_command runs in the data directory of its server: --data names another")
	case int64(h.Size) != size:
		return fmt.Errorf("%s has %d bytes, and says that it has %d", name, size, h.Size)
	case wal.Name(int(timeline), h.At, h.Size) != m[1]+m[2]+m[3] || uint64(h.Timeline) > timeline:
		return fmt.Errorf("%s says that it is %s", name, wal.Name(h.Timeline, h.At, h.Size))
	}
	return nil
}

func checkText(name string, size int64, head []byte) error {
	switch {
	case !IsFile(name):
		return hint.With(fmt.Errorf("%q is not a file that PostgreSQL archives", name), "archive_command is: plumb archive push %p")
	case size > mostText:
		return fmt.Errorf("%s has %d bytes, and %d is the most", name, size, mostText)
	case bytes.IndexByte(head, 0) >= 0:
		return errors.New(name + " is not text")
	}
	return nil
}
