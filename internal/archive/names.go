package archive

import (
	"fmt"
	"strconv"
	"strings"

	"plumb/internal/backup/store"
)

// Where the objects of an archive are:
//
//	archive/SERVER/SERIES/FILE/FROM-TO/entry
//	archive/SERVER/SERIES/FILE/FROM-TO/000000-HASH.zst.age
//
// The hash is of the object itself, so that a try of which nobody heard again cannot put
// another in its place.

// Prefix is before the names of all objects of archives.
const Prefix = "archive/"

const entryName = "/entry"

// folder is before the names of all pieces of a file.
func (p Piece) folder() string { return Prefix + p.Server + "/" + p.Series + "/" + p.File + "/" }

// stem is before the names of all objects of a piece.
func (p Piece) stem() string { return p.folder() + fmt.Sprintf("%016d-%016d", p.From, p.To) }

// Name is the object that is its entry.
func (p Piece) Name() string { return p.stem() + entryName }

func (p Piece) chunk(n int, sha256 string) string {
	return fmt.Sprintf("%s/%06d-%s.zst.age", p.stem(), n, sha256[:16])
}

// check says what is wrong with a piece. Its names are those of objects, and of files where it is restored.
func (p Piece) check() error {
	for _, name := range []string{p.Server, p.Series, p.File} {
		if strings.Contains(name, "/") || len(name) > 128 {
			return fmt.Errorf("%q is no name of a server, series or file", name)
		}
		if err := store.Check(name); err != nil {
			return err
		}
	}
	if p.From < 0 || p.To < p.From || p.To > mostFile {
		return fmt.Errorf("it is from %d to %d", p.From, p.To)
	}
	return nil
}

// mostFile is how long a file of a log may be: more than any server writes.
const mostFile = 1e15

// ofEntry gives the piece whose entry an object is.
func ofEntry(name string) (p Piece, is bool) {
	parts := strings.Split(name, "/")
	if len(parts) != 6 || parts[0]+"/" != Prefix || "/"+parts[5] != entryName {
		return p, false
	}
	from, to, _ := strings.Cut(parts[4], "-")
	p = Piece{Server: parts[1], Series: parts[2], File: parts[3]}
	var err, err2 error
	p.From, err = strconv.ParseInt(from, 10, 64)
	p.To, err2 = strconv.ParseInt(to, 10, 64)
	return p, err == nil && err2 == nil && p.check() == nil && p.Name() == name
}
