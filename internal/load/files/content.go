package files

import (
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"plumb/internal/draw"
)

// Every block begins with its name:
//
//	which kind (8), place among all blocks (8), version (8), CRC-32C of the rest (4), zeros (4)
const (
	nameBytes = 32
	checked   = 0x1b6e0c7f5a3d9e41 // the checksum counts
	unchecked = 0x1b6e0c7f5a3d9e42 // there is none: written without --validate
	sector    = 512
	poolBytes = 256 << 10 // stays in a core's second cache
	piece     = 64 << 10  // that one pair of places in the pool fills
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errUnchecked says that a block was written without a checksum.
var errUnchecked = errors.New("written without a checksum: prepare again, or run without --validate")

// newPool makes the random bytes that all new content is made from.
func newPool(seed uint64) []byte {
	pool := make([]byte, poolBytes+piece)
	draw.Content(pool, seed, -1, -1, 0)
	return pool
}

// fresh fills dst with content that no other key gives, nor any other part of
// dst: two stretches of the pool, each begun at a drawn place, xored, and a
// number of its own in every sector. That costs a tenth of drawing it anew,
// and a compressor finds nothing, because no two stretches meet again at the
// same distance within its reach. The zeros of a compressible part must be
// in dst already.
func fresh(dst, pool []byte, key uint64, n int64, compressible float64) {
	s := draw.Keyed(key, streamFresh, n)
	noise := sector - int(compressible*sector)
	for at := 0; at < len(dst); at += piece {
		part := dst[at:min(at+piece, len(dst))]
		a := int(s.Below(poolBytes))
		b := (a + 1 + int(s.Below(poolBytes-1))) % poolBytes // another place: the same would give zeros
		if noise == sector {
			subtle.XORBytes(part, pool[a:a+len(part)], pool[b:])
		}
		own := s.Uint64()
		for i := 0; i < len(part); i += sector {
			sec := part[i:min(i+sector, len(part))]
			if noise < sector {
				m := min(noise, len(sec))
				subtle.XORBytes(sec[:m], pool[a+i:a+i+m], pool[b+i:])
			}
			if len(sec) >= 8 {
				binary.LittleEndian.PutUint64(sec, own+uint64(i+1)*0x9e3779b97f4a7c15)
			}
		}
	}
}

// name writes a block's name into it.
func name(block []byte, place int64, version uint64, check bool) {
	kind, sum := uint64(unchecked), uint32(0)
	if check {
		kind, sum = checked, crc32.Checksum(block[nameBytes:], castagnoli)
	}
	binary.LittleEndian.PutUint64(block, kind)
	binary.LittleEndian.PutUint64(block[8:], uint64(place))
	binary.LittleEndian.PutUint64(block[16:], version)
	binary.LittleEndian.PutUint64(block[24:], uint64(sum))
}

// verify says whether a block is the one that was written at a place, whole.
func verify(block []byte, place int64) error {
	kind := binary.LittleEndian.Uint64(block)
	was := int64(binary.LittleEndian.Uint64(block[8:]))
	switch {
	case kind == unchecked && was == place:
		return errUnchecked
	case kind != checked:
		return errors.New("it does not begin as a block of a test file")
	case was != place:
		return fmt.Errorf("it is block %d of all, and block %d was written there", was, place)
	case uint32(binary.LittleEndian.Uint64(block[24:])) != crc32.Checksum(block[nameBytes:], castagnoli):
		return fmt.Errorf("its checksum does not match (written as version %d)", binary.LittleEndian.Uint64(block[16:]))
	}
	return nil
}
