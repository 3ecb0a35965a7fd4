package manifest

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Where the objects of a backup are. Names follow from numbers, never from what a manifest
// says, so that no manifest can name an object of another.

// Prefix is before the names of all backups.
const Prefix = "backups/"

// Name is the object that is the manifest of a backup, or its stone.
func Name(id string) string { return Prefix + id + "/manifest" }

// Folder is before the names of all objects of a backup.
func Folder(id string) string { return Prefix + id + "/" }

// ClaimName is the object by which a run that makes a backup says that it is alive.
func ClaimName(id string) string { return Folder(id) + "claim" }

// ProofName is the object that says that a server was started on the backup.
func ProofName(id string) string { return Folder(id) + "proof" }

// HoldName is the object by which somebody says that a backup must stay.
func HoldName(id, owner string) string { return Folder(id) + holds + owner }

const holds = "hold-"

// Holder is who holds the backup that an object is of; "" when the object is no hold.
func Holder(name string) string {
	_, rest := Split(name)
	owner, is := strings.CutPrefix(rest, holds)
	if !is || strings.Contains(owner, "/") {
		return ""
	}
	return owner
}

// PartName is the object that is a list of chunks.
func PartName(id string, stream, part int) string {
	return fmt.Sprintf("%s%d/list-%06d", Folder(id), stream, part)
}

// ChunkName is the object that is a chunk. In the order of their names they are in the order of the stream.
func ChunkName(id string, stream int, chunk int64) string {
	return fmt.Sprintf("%s%d/%09d.zst.age", Folder(id), stream, chunk)
}

// OfManifest gives the backup whose manifest an object is; "" when it is none.
func OfManifest(name string) string {
	if id, rest := Split(name); rest == "manifest" {
		return id
	}
	return ""
}

// Split gives the backup that an object is of, and its name there; two empty ones when it is of none.
func Split(name string) (id, rest string) {
	below, is := strings.CutPrefix(name, Prefix)
	id, rest, whole := strings.Cut(below, "/")
	if !is || !whole || !IsID(id) {
		return "", ""
	}
	return id, rest
}

// Ours tells whether an object of a backup has a name that Plumb gives one, and is not its manifest. All
// others belong to somebody else.
func Ours(name string) bool {
	id, rest := Split(name)
	if id == "" {
		return false
	}
	stream, chunk, part, is := numbers(rest)
	switch {
	case rest == "claim", rest == "proof", Holder(name) != "":
		return true
	case !is:
		return false
	case chunk >= 0:
		return name == ChunkName(id, stream, chunk)
	}
	return name == PartName(id, stream, part)
}

// numbers reads those of a chunk or a list of chunks; the one that it is not is -1.
func numbers(rest string) (stream int, chunk int64, part int, is bool) {
	first, last, whole := strings.Cut(rest, "/")
	stream, err := strconv.Atoi(first)
	if !whole || err != nil || stream < 0 {
		return 0, 0, 0, false
	}
	if number, is := strings.CutSuffix(last, ".zst.age"); is {
		chunk, err = strconv.ParseInt(number, 10, 64)
		return stream, chunk, -1, err == nil && chunk >= 0
	}
	number, is := strings.CutPrefix(last, "list-")
	part, err = strconv.Atoi(number)
	return stream, -1, part, is && err == nil && part >= 0
}

// Names tells whether a backup needs an object of its own.
func (m Manifest) Names(name string) bool {
	id, rest := Split(name)
	if id != m.ID {
		return false
	}
	if rest == "manifest" || rest == "proof" || Holder(name) != "" {
		return true
	}
	stream, chunk, part, is := numbers(rest)
	if !is || stream >= len(m.Streams) {
		return false
	}
	s := m.Streams[stream]
	if chunk >= 0 {
		return chunk < s.Chunks() && name == ChunkName(id, stream, chunk)
	}
	return part < len(s.Parts) && name == PartName(id, stream, part)
}

// All gives the names of the objects that a backup needs, but for its proof and holds; that of the manifest comes last.
func (m Manifest) All() iter.Seq[string] {
	return func(give func(string) bool) {
		for name := range m.Sent() {
			if !give(name) {
				return
			}
		}
		give(Name(m.ID))
	}
}

// Sent gives the names of the objects that are there before the manifest is.
func (m Manifest) Sent() iter.Seq[string] {
	return func(give func(string) bool) {
		for number, s := range m.Streams {
			for part := range s.Parts {
				if !give(PartName(m.ID, number, part)) {
					return
				}
			}
			for chunk := range s.Chunks() {
				if !give(ChunkName(m.ID, number, chunk)) {
					return
				}
			}
		}
	}
}

// Chunks counts the chunks of a stream.
func (s Stream) Chunks() int64 {
	if s.Chunk <= 0 {
		return 0
	}
	return (s.Bytes + s.Chunk - 1) / s.Chunk
}

// Bytes counts those of all streams of a backup.
func (m Manifest) Bytes() (bytes int64) {
	for _, s := range m.Streams {
		bytes += s.Bytes
	}
	return bytes
}

// Objects counts what a backup needs, but for its proof and holds.
func (m Manifest) Objects() int64 {
	n := int64(1)
	for _, s := range m.Streams {
		n += s.Chunks() + int64(len(s.Parts))
	}
	return n
}

// Bases are the backups that must be restored before; none for a full one.
func (m Manifest) Bases() (all []string) {
	for _, s := range m.Streams {
		if s.Base != nil && !slices.Contains(all, s.Base.Backup) {
			all = append(all, s.Base.Backup)
		}
	}
	return all
}

// Provable tells whether a server can be started on it: it is of a point, or a base that was seen to be one as it went by.
func (m Manifest) Provable() bool { return m.Point != "" || len(m.Facts) > 0 }

// Of says whose data a backup holds: a server, or what the command line called it.
func (m Manifest) Of() string {
	if m.Server != "" || len(m.Streams) == 0 {
		return m.Server
	}
	return "command:" + m.Streams[0].Name
}
