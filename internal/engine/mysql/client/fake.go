package client

import (
	"encoding/binary"
	"net"

	"plumb/internal/engine/fake"
)

// FakeOptions say how a fake server behaves.
type FakeOptions = fake.Options

// FakeServer speaks enough of MySQL's protocol to measure what a client
// costs: it lets everybody in and gives canned answers. SELECT answers rows,
// everything else changes one.
type FakeServer struct {
	*fake.Server
	text    []byte // the answer to a SELECT by the text protocol
	binary  []byte // and to a prepared one
	defined []byte // the columns, as the answer to a prepare has them
}

// Fake starts a fake server in this process.
func Fake(o FakeOptions) (*FakeServer, error) {
	s, err := fake.Listen(o)
	if err != nil {
		return nil, err
	}
	f := &FakeServer{Server: s}
	f.can()
	f.Serve(func(c net.Conn) (net.Conn, error) { return c, nil }, func(c net.Conn) { (&fakeSession{f: f, conn: c, in: make([]byte, 64<<10)}).serve() })
	return f, nil
}

// can makes the answers to SELECTs.
func (f *FakeServer) can() {
	answer := func(head []byte) []byte {
		seq := byte(1)
		var out []byte
		add := func(body []byte) { out = appendPacket(out, seq, body); seq++ }
		add([]byte{byte(len(f.Row))})
		for range f.Row {
			add(fakeColumn)
		}
		for range f.Rows {
			body := append([]byte{}, head...)
			for _, cell := range f.Row {
				body = append(appendLength(body, len(cell)), cell...)
			}
			add(body)
		}
		add([]byte{isEOF, 0, 0, 2, 0, 0, 0})
		return out
	}
	f.text = answer(nil)
	f.binary = answer(make([]byte, 1+(len(f.Row)+9)/8))
	for i := range f.Row {
		f.defined = appendPacket(f.defined, byte(2+i), fakeColumn)
	}
}

// fakeColumn defines a column of type VAR_STRING named c.
var fakeColumn = []byte("\x03def\x00\x00\x00\x01c\x00\x0c\x21\x00\x00\x01\x00\x00\xfd\x00\x00\x00\x00\x00")

func appendPacket(out []byte, seq byte, body []byte) []byte {
	out = binary.LittleEndian.AppendUint32(out, uint32(len(body))|uint32(seq)<<24)
	return append(out, body...)
}

// Config gives what a client needs to connect.
func (f *FakeServer) Config() Config {
	a := f.Addr()
	return Config{Network: a.Network(), Address: a.String(), User: "fake", Database: "fake"}
}
