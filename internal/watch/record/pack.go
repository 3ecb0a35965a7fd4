package record

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/klauspost/compress/zstd"
)

// mostUnpacked is what a blob may become: bytes.
const mostUnpacked = 64 << 20

// Both are safe for use by several goroutines, and keep nothing between two calls.
var (
	packer   = must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true)))
	unpacker = must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostUnpacked), zstd.WithDecoderLowmem(true)))
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) // the options are ours
	}
	return v
}

func pack(data []byte) []byte { return packer.EncodeAll(data, nil) }

func unpack(data []byte) ([]byte, error) {
	plain, err := unpacker.DecodeAll(data, nil)
	if err != nil {
		return nil, errors.Join(errDamaged, err)
	}
	return plain, nil
}

// A block of form 2 begins with this byte, which no frame of zstd begins with;
// then come the length of the part that zstd packed, that, and what was coded.
const formByte = 2

func packBlock(plain, coded []byte) []byte {
	packed := pack(plain)
	data := binary.AppendUvarint([]byte{formByte}, uint64(len(packed)))
	return append(append(data, packed...), coded...)
}

// openBlock makes what reads a block of either form.
func openBlock(data []byte) (*input, error) {
	if len(data) == 0 || data[0] != formByte {
		plain, err := unpack(data)
		return &input{data: plain}, err
	}
	in := &input{data: data[1:]}
	packed := in.bytes(in.count(len(in.data)))
	if in.bad {
		return nil, errDamaged
	}
	plain, err := unpack(packed)
	return coded(plain, in.data), err
}

func coded(plain, rest []byte) *input {
	return &input{data: plain, coded: newDecoder(rest), lore: lore{}}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum is the checksum of a row: its numbers, its texts, its data.
func sum(data []byte, text string, numbers ...int64) int64 {
	var head []byte
	for _, n := range numbers {
		head = binary.BigEndian.AppendUint64(head, uint64(n))
	}
	c := crc32.Update(0, castagnoli, append(head, text...))
	return int64(crc32.Update(c, castagnoli, data))
}
