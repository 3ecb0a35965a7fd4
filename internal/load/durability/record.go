package durability

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"plumb/internal/hint"
)

// Header says what a ledger belongs to.
type Header struct {
	Run      int64  `json:"run"` // drawn anew for each run; in every row and record
	Target   string `json:"target"`
	Seed     uint64 `json:"seed"`
	Workload string `json:"workload"`
	Began    string `json:"began"` // RFC 3339
}

// The format: 4096 bytes of header, then records of 16 bytes.
//
//	header: magic (8), length (4), CRC-32C of the text (4), JSON text, zeros
//	record: n (8), low half of its place in the ledger (4), CRC-32C of run, n, place (4)
const (
	magic       = "PLMBLDG" // and the version of the form, a digit
	formVersion = 1
	headerSize  = 4096
	recordSize  = 16
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	// errNoBook says that a file is no ledger.
	errNoBook = errors.New("not a ledger of plumb load")
)

func (h Header) encode() ([]byte, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	if len(text) > headerSize-16 {
		return nil, fmt.Errorf("the ledger's header has %d bytes, and %d fit", len(text), headerSize-16)
	}
	data := make([]byte, headerSize)
	copy(data, magic+strconv.Itoa(formVersion))
	binary.LittleEndian.PutUint32(data[8:], uint32(len(text)))
	binary.LittleEndian.PutUint32(data[12:], crc32.Checksum(text, castagnoli))
	copy(data[16:], text)
	return data, nil
}

// parseHeader reads the first bytes of a ledger.
func parseHeader(data []byte) (Header, error) {
	var h Header
	if len(data) < headerSize || !strings.HasPrefix(string(data), magic) {
		return h, errNoBook
	}
	switch form := int(data[len(magic)]) - '0'; {
	case form < 1 || form > 9:
		return h, errNoBook
	case form != formVersion:
		return h, hint.Newer("it is a ledger", form, formVersion)
	}
	n := binary.LittleEndian.Uint32(data[8:])
	if n > headerSize-16 {
		return h, fmt.Errorf("header of %d bytes: %w", n, errNoBook)
	}
	text := data[16 : 16+n]
	if crc32.Checksum(text, castagnoli) != binary.LittleEndian.Uint32(data[12:]) {
		return h, fmt.Errorf("the header's checksum does not match: %w", errNoBook)
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return h, fmt.Errorf("header: %w: %w", err, errNoBook)
	}
	return h, nil
}

func appendRecord(dst []byte, run, n int64, place uint32) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(n))
	dst = binary.LittleEndian.AppendUint32(dst, place)
	return binary.LittleEndian.AppendUint32(dst, recordSum(run, n, place))
}

func recordSum(run, n int64, place uint32) uint32 {
	var b [20]byte
	binary.LittleEndian.PutUint64(b[:], uint64(run))
	binary.LittleEndian.PutUint64(b[8:], uint64(n))
	binary.LittleEndian.PutUint32(b[16:], place)
	return crc32.Checksum(b[:], castagnoli)
}

// parseRecord reads the record at a place of a run's ledger: 16 bytes or more.
// It is not ok when it was torn, is another run's or another place's.
func parseRecord(data []byte, run int64, place uint32) (n int64, ok bool) {
	if len(data) < recordSize {
		return 0, false
	}
	n = int64(binary.LittleEndian.Uint64(data))
	sum := binary.LittleEndian.Uint32(data[12:])
	return n, n >= 0 && binary.LittleEndian.Uint32(data[8:]) == place && sum == recordSum(run, n, place)
}
