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
)

// The facts that a backup has of a base.
const (
	factVersion = "mysql_version"
	factFile    = "base_binlog"
	factAt      = "base_binlog_position"
	factGTID    = "base_gtid"
)

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
	mostPath   = 4096
	mostText   = 1 << 20 // bytes of a file that is read here
)

// readBase reads the chunks of the stream: each is a part of a file.
func readBase(in io.Reader, facts map[string]string) error {
	r := bufio.NewReaderSize(in, 64<<10)
	files := map[string]*bytes.Buffer{"xtrabackup_binlog_info": {}, "mariadb_backup_binlog_info": {}, "xtrabackup_info": {}, "mariadb_backup_info": {}}
	for {
		name, size, err := chunkOf(r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if text := files[strings.TrimPrefix(name, "./")]; text != nil && int64(text.Len())+size <= mostText {
			_, err = io.CopyN(text, r, size)
		} else {
			_, err = io.CopyN(io.Discard, r, size)
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

// chunkOf reads the head of a chunk, and gives how many bytes of the file follow. A stream ends before a chunk.
func chunkOf(r io.Reader) (name string, size int64, err error) {
	var head [8 + 1 + 1 + 4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return "", 0, err
	}
	n := binary.LittleEndian.Uint32(head[10:])
	if string(head[:8]) != chunkMagic || n > mostPath {
		return "", 0, errors.New("it is no stream of a backup")
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return "", 0, unexpected(err)
	}
	switch head[9] {
	case isEnd:
		return string(text), 0, nil
	case isPayload:
	default:
		return "", 0, fmt.Errorf("it has a chunk of the type %q", head[9])
	}
	var rest [8 + 8 + 4]byte // its length, its place in the file, its checksum
	if _, err := io.ReadFull(r, rest[:]); err != nil {
		return "", 0, unexpected(err)
	}
	length := binary.LittleEndian.Uint64(rest[:])
	if length > 1<<40 {
		return "", 0, errors.New("it has a chunk without an end")
	}
	return string(text), int64(length), nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
