package sandbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// identify gives the copy of a data directory of PostgreSQL a system identifier of its own, as initdb draws one: servers are
// told apart by it. It begins pg_control, and is in the head of each segment of the WAL (xlp_sysid).
func identify(data string) error {
	control := filepath.Join(data, "global/pg_control")
	text, err := os.ReadFile(control)
	if err != nil {
		return err
	}
	was := text[:min(8, len(text))]
	now := binary.NativeEndian.AppendUint64(nil, uint64(time.Now().Unix())<<32|uint64(rand.Uint32()))
	if text, err = identified(text, now); err != nil {
		return fmt.Errorf("%s: %w", control, err)
	}
	segments, err := filepath.Glob(filepath.Join(data, "pg_wal", strings.Repeat("[0-9A-F]", 24)))
	if err != nil {
		return err
	}
	for _, s := range segments {
		if err := replace(s, 24, was, now); err != nil {
			return err
		}
	}
	return os.WriteFile(control, text, 0o600)
}

// identified is the text of a control file with another identifier. Its last field is a CRC-32C of the others. Where it is
// depends on the version, and within the first 512 bytes.
func identified(control, identifier []byte) ([]byte, error) {
	sum := func(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }
	for at := 8; at+4 <= min(512, len(control)); at += 4 {
		if binary.NativeEndian.Uint32(control[at:]) != sum(control[:at]) {
			continue
		}
		text := append(bytes.Clone(identifier), control[8:]...)
		binary.NativeEndian.PutUint32(text[at:], sum(text[:at]))
		return text, nil
	}
	return nil, fmt.Errorf("none of its %d bytes are its checksum", len(control))
}

// replace writes into a file, where it has what it had. A segment that is not in use yet is empty.
func replace(file string, at int64, was, now []byte) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	has := make([]byte, len(was))
	if _, err := f.ReadAt(has, at); err != nil || !bytes.Equal(has, was) {
		return err
	}
	_, err = f.WriteAt(now, at)
	return err
}
