package pitr

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
)

// The facts that a backup has of a base.
const (
	factVersion = "mysql_version"
	factFile    = "base_binlog"
	factAt      = "base_binlog_position"
	factGTID    = "base_gtid"
)

// The facts that it has of a point.
const (
	factFlavor    = "flavor"
	factProduct   = "product"
	factRelease   = "version"
	factPointFile = "binlog" // where the server stood just before the snapshots: its log in them ends there, or later
	factPointAt   = "binlog_position"
	factPointGTID = "gtid"
	factApart     = "gtid_apart" // there only while a restore plans
)

// stood is where in the binary log a base ends, or a point was taken at the earliest.
func stood(m manifest.Manifest) (file, at string) {
	if m.Point != "" {
		return m.Facts[factPointFile], m.Facts[factPointAt]
	}
	return m.Facts[factFile], m.Facts[factAt]
}

var (
	serverVersion = regexp.MustCompile(`(?m)^server_version = (\S+)$`)
	standsAt      = regexp.MustCompile(`^([^\t/]+\.[0-9]{6,})\t([0-9]{1,19})(?:\t([0-9a-fA-F:,\-\s]*))?\s*$`)
)

// NewBase begins to watch what is backed up, and finds out whether it is a base: what mariadb-backup gives with
// --stream=mbstream.
func NewBase() backup.Watcher { return backup.Watch(readBase, factVersion, factFile, factAt) }

const (
	chunkMagic = "XBSTCK01"
	isPayload  = 'P'
	isEnd      = 'E'
	isRemoval  = 'D' // of a table of Aria or MyISAM that was dropped while it was backed up
	isRename   = 'R' // of one that was renamed
	isSeek     = 'S' // to where the next payload of a file goes
	mostPath   = 4096
	mostText   = 1 << 20 // bytes of a file that is read here
)

// readBase reads the chunks of the stream: each is a part of a file.
func readBase(in io.Reader, facts map[string]string) error {
	r := bufio.NewReaderSize(in, 64<<10)
	files := map[string]*bytes.Buffer{"xtrabackup_binlog_info": {}, "mariadb_backup_binlog_info": {}, "xtrabackup_info": {}, "mariadb_backup_info": {}}
	for {
		c, err := chunkOf(r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if text := files[strings.TrimPrefix(c.names[0], "./")]; text != nil && int64(text.Len())+c.size <= mostText {
			_, err = io.CopyN(text, r, c.size)
		} else {
			_, err = io.CopyN(io.Discard, r, c.size)
		}
		if err != nil {
			return err
		}
	}
	for name, text := range files {
		if m := standsAt.FindStringSubmatch(text.String()); strings.HasSuffix(name, "binlog_info") && m != nil {
			facts[factFile], facts[factAt], facts[factGTID] = m[1], m[2], strings.Join(strings.Fields(m[3]), "")
		}
		if m := serverVersion.FindSubmatch(text.Bytes()); m != nil {
			facts[factVersion] = string(m[1])
		}
	}
	return nil
}

// chunk is the head of one.
type chunk struct {
	names []string // of the file, and the one that it gets where it is renamed
	size  int64    // bytes of the file that follow
}

// chunkOf reads the head of a chunk. A stream ends before a chunk.
func chunkOf(r io.Reader) (c chunk, err error) {
	var head [8 + 1 + 1]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return c, err
	}
	if string(head[:8]) != chunkMagic {
		return c, errNoStream
	}
	if err := c.path(r); err != nil {
		return c, err
	}
	switch head[9] {
	case isEnd, isRemoval:
	case isRename:
		err = c.path(r)
	case isSeek:
		var place [8]byte
		_, err = io.ReadFull(r, place[:])
	case isPayload:
		c.size, err = sizeOf(r)
	default:
		err = fmt.Errorf("it has a chunk of the type %q", head[9])
	}
	return c, unexpected(err)
}

var errNoStream = errors.New("it is not a stream of a backup")

// path reads a name.
func (c *chunk) path(r io.Reader) error {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return unexpected(err)
	}
	n := binary.LittleEndian.Uint32(length[:])
	if n > mostPath {
		return errNoStream
	}
	name := make([]byte, n)
	_, err := io.ReadFull(r, name)
	c.names = append(c.names, string(name))
	return unexpected(err)
}

func sizeOf(r io.Reader) (int64, error) {
	var rest [8 + 8 + 4]byte // its length, its place in the file, its checksum
	if _, err := io.ReadFull(r, rest[:]); err != nil {
		return 0, err
	}
	length := binary.LittleEndian.Uint64(rest[:])
	if length > 1<<40 {
		return 0, errors.New("it has a chunk without an end")
	}
	return int64(length), nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
