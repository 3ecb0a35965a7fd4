package zfs

import (
	"encoding/binary"
	"strings"
	"testing"
)

// head makes the first record of a stream.
func head(order binary.AppendByteOrder, magic, version, guid uint64) []byte {
	b := order.AppendUint64(nil, 0) // DRR_BEGIN, no payload
	for _, n := range []uint64{magic, version, 1790000000} {
		b = order.AppendUint64(b, n)
	}
	b = order.AppendUint32(order.AppendUint32(b, filesystem), 4) // flags
	return append(order.AppendUint64(order.AppendUint64(b, guid), 0), "tank/db@p"...)
}

func TestParseHead(t *testing.T) {
	const plain, raw = 1 | (1<<2|1<<22)<<2, 1 | (1<<2|1<<22|1<<24)<<2
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for version, want := range map[uint64]Head{plain: {"15903956383140518150", false, true}, raw: {"15903956383140518150", true, true}} {
			if got, err := ParseHead(head(order, streamMagic, version, 15903956383140518150)); err != nil || got != want {
				t.Errorf("%v: %+v, %v", order, got, err)
			}
		}
	}
	good := head(binary.LittleEndian, streamMagic, plain, 7)
	for what, text := range map[string][]byte{
		"nothing":     nil,
		"cut":         good[:HeadBytes-1],
		"no stream":   []byte(strings.Repeat("x", HeadBytes)),
		"another":     append([]byte{3}, good[1:]...),
		"of several":  head(binary.LittleEndian, streamMagic, 2, 7),
		"other magic": head(binary.LittleEndian, streamMagic+1, plain, 7),
	} {
		if got, err := ParseHead(text); err == nil {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

func FuzzParseHead(f *testing.F) {
	f.Add(head(binary.LittleEndian, streamMagic, 1, 7))
	f.Add(head(binary.BigEndian, streamMagic, 1, 7))
	f.Fuzz(func(t *testing.T, text []byte) {
		if h, err := ParseHead(text); err == nil && (h.To == "" || len(text) < HeadBytes) {
			t.Errorf("%+v", h)
		}
	})
}
