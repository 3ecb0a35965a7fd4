package archive

import (
	"fmt"
	"strconv"
	"strings"

	"plumb/internal/backup/store"
)

// Where the objects of an archive are:
//
//	archive/SERVER/begins
//	archive/SERVER/SERIES/FILE/FROM-TO/entry
//	archive/SERVER/SERIES/FILE/FROM-TO/000000-HASH.zst.age
//
// The hash is of the object itself, so that a try of which nobody heard again cannot put
// another in its place.

// Prefix is before the names of all objects of archives.
const Prefix = "archive/"

const (
	entryName = "/entry"
	chunkEnd  = ".zst.age"
)

// Folder is before the names of all pieces of a file.
func (p Piece) Folder() string { return Prefix + p.Server + "/" + p.Series + "/" + p.File + "/" }

// stem is before the names of all objects of a piece.
func (p Piece) stem() string { return p.Folder() + fmt.Sprintf("%016d-%016d", p.From, p.To) }

// Name is the object that is its entry.
func (p Piece) Name() string { return p.stem() + entryName }

func (p Piece) chunk(n int, sha256 string) string {
	return fmt.Sprintf("%s/%06d-%s%s", p.stem(), n, sha256[:16], chunkEnd)
}

// check says what is wrong with a piece. Its names are those of objects, and of files where it is restored.
func (p Piece) check() error {
	for _, name := range []string{p.Server, p.Series, p.File} {
		if strings.Contains(name, "/") || len(name) > 128 {
			return fmt.Errorf("%q is not the name of a server, series or file", name)
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

// Object gives the piece that an object of an archive is of, and whether it is its entry. All others belong to
// somebody else.
func Object(name string) (p Piece, entry, is bool) {
	parts := strings.Split(name, "/")
	if len(parts) != 6 || parts[0]+"/" != Prefix {
		return p, false, false
	}
	from, to, _ := strings.Cut(parts[4], "-")
	p = Piece{Server: parts[1], Series: parts[2], File: parts[3]}
	var err, err2 error
	p.From, err = strconv.ParseInt(from, 10, 64)
	p.To, err2 = strconv.ParseInt(to, 10, 64)
	if err != nil || err2 != nil || p.check() != nil || !strings.HasPrefix(name, p.stem()+"/") {
		return Piece{}, false, false
	}
	entry = "/"+parts[5] == entryName
	return p, entry, entry || isChunk(parts[5])
}

// isChunk tells whether an object of a piece has the name of one that holds a part of it.
func isChunk(last string) bool {
	number, rest, _ := strings.Cut(last, "-")
	hash, is := strings.CutSuffix(rest, chunkEnd)
	return is && len(number) == 6 && strings.Trim(number, "0123456789") == "" && len(hash) == 16 && strings.Trim(hash, "0123456789abcdef") == ""
}

// ofEntry gives the piece whose entry an object is.
func ofEntry(name string) (Piece, bool) {
	p, entry, _ := Object(name)
	return p, entry
}
