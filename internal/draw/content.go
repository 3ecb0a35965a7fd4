package draw

import "encoding/binary"

// sector is the grain in which content compresses: small enough for any
// filesystem's records and any device's own compression to see the same part.
const sector = 512

// Content fills dst with the content of a block of a file. Blocks of one seed
// are never equal, so nothing can be deduplicated, and none is all zeros. The
// part compressible, 0 to 1, of every 512 bytes is zeros and compresses away;
// the rest does not compress. A block written again needs another seed to get
// other content: filesystems may drop a write that changes nothing.
func Content(dst []byte, seed uint64, file, block int64, compressible float64) {
	s := Keyed(mix(seed+uint64(file)*step), content, block)
	noise := sector - int(max(0, min(1, compressible))*sector)
	for at := 0; at < len(dst); at += sector {
		part := dst[at:min(at+sector, len(dst))]
		n := min(noise, len(part))
		s.fill(part[:n])
		clear(part[n:])
	}
	// mix can be undone: another file or block is another name.
	var name [16]byte
	binary.LittleEndian.PutUint64(name[:], mix(uint64(block)^mix(seed+gold)))
	binary.LittleEndian.PutUint64(name[8:], mix(uint64(file)^mix(seed+step)))
	copy(dst, name[:])
}

const content = 0xb10c // the stream it is drawn from

// fill fills dst with random bytes.
func (s *Stream) fill(dst []byte) {
	for ; len(dst) >= 8; dst = dst[8:] {
		binary.LittleEndian.PutUint64(dst, s.Uint64())
	}
	if len(dst) > 0 {
		var last [8]byte
		binary.LittleEndian.PutUint64(last[:], s.Uint64())
		copy(dst, last[:])
	}
}
