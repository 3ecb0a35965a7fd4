package wal

import (
	"bytes"
	"testing"
)

func headOf(size uint32) []byte {
	b := make([]byte, HeadSize)
	order.PutUint16(b[2:], isLong)
	order.PutUint32(b[4:], 3)
	order.PutUint64(b[8:], 5<<20)
	order.PutUint64(b[24:], 7)
	order.PutUint32(b[32:], size)
	order.PutUint32(b[36:], 8192)
	return b
}

func TestReadHead(t *testing.T) {
	if h, err := ReadHead(headOf(1 << 20)); err != nil || h != (Head{7, 3, 5 << 20, 1 << 20}) {
		t.Errorf("%+v, %v", h, err)
	}
	for _, b := range [][]byte{nil, headOf(1 << 20)[:39], make([]byte, 40), headOf(1000), headOf(3 << 20), headOf(16 << 20)} {
		if h, err := ReadHead(b); err == nil {
			t.Errorf("%+v", h)
		}
	}
	if _, err := System(make([]byte, 7)); err == nil {
		t.Error("a control file of seven bytes")
	}
}

func FuzzReadHead(f *testing.F) {
	f.Add(headOf(1 << 20))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := ReadHead(text)
		if err == nil && (h.Size == 0 || h.At%h.Size != 0) {
			t.Errorf("%+v", h)
		}
		page := append(bytes.Clone(text), make([]byte, 8192)...)
		_, _ = Scan(bytes.NewReader(page), h.At, h.System, func(Record) error { return nil })
	})
}
