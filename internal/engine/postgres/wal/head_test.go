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

func TestReadControl(t *testing.T) {
	control := func(state uint32, redo uint64, timeline uint32) []byte {
		b := make([]byte, ControlSize)
		order.PutUint64(b, 7)
		order.PutUint32(b[16:], state)
		order.PutUint64(b[40:], redo)
		order.PutUint32(b[48:], timeline)
		return b
	}
	for state, standby := range map[uint32]bool{1: false, 2: true, 5: true, 6: false} {
		if c, err := ReadControl(control(state, 40, 3)); err != nil || c != (Control{7, State(state), 40, 3}) || c.State.Standby() != standby {
			t.Errorf("%+v, %v", c, err)
		}
	}
	for _, b := range [][]byte{nil, control(6, 40, 3)[:ControlSize-1], control(7, 40, 3), control(6, 0, 3), control(6, 40, 0)} {
		if c, err := ReadControl(b); err == nil {
			t.Errorf("%+v", c)
		}
	}
}

// A log that ends amid a record reaches further than its last whole one.
func TestExtent(t *testing.T) {
	page := make([]byte, 8192)
	copy(page, headOf(1<<20))
	order.PutUint64(page[8:], 5<<20)
	order.PutUint32(page[40:], 9000) // a record that would go on on the next page
	end, most, err := Extent(bytes.NewReader(page), 5<<20, 7, func(Record) error { return nil })
	if err != nil || end != 5<<20+40 || most != 5<<20+8192 {
		t.Errorf("%X, %X, %v", end, most, err)
	}
}

func FuzzReadHead(f *testing.F) {
	f.Add(headOf(1 << 20))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := ReadControl(text); err == nil && (c.Redo == 0 || c.Timeline <= 0) {
			t.Errorf("%+v", c)
		}
		h, err := ReadHead(text)
		if err == nil && (h.Size == 0 || h.At%h.Size != 0) {
			t.Errorf("%+v", h)
		}
		page := append(bytes.Clone(text), make([]byte, 8192)...)
		_, _ = Scan(bytes.NewReader(page), h.At, h.System, func(Record) error { return nil })
	})
}
