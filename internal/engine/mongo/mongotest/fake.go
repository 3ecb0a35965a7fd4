// Package mongotest is a server that speaks MongoDB's wire protocol as its documentation has it, and knows
// what a test gives it. It is no mongod: it shows that what we send arrives and that what we ask for is read,
// not how a server takes it.
package mongotest

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Serve starts one that answers commands besides those of each login, until the test ends. It gives its address.
func Serve(t testing.TB, answer func(bson.D) bson.D) (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skipf("no port on the loopback: %v", err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for n := int64(1); ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c, n, answer)
		}
	}()
	return l.Addr().String()
}

// Idle starts one in which nobody does anything, and whose serverStatus is a text of extended JSON, as a tape has it. It
// gives its address.
func Idle(t testing.TB, status string) (address string) {
	t.Helper()
	var doc bson.D
	if err := bson.UnmarshalExtJSON([]byte(status), false, &doc); err != nil {
		t.Fatal(err)
	}
	return Serve(t, func(command bson.D) bson.D {
		if command[0].Key == "aggregate" { // $currentOp
			return OK(bson.D{{Key: "cursor", Value: bson.D{{Key: "firstBatch", Value: bson.A{}}}}})
		}
		return doc
	})
}

// OK makes an answer of what a command gives.
func OK(d bson.D) bson.D { return append(d, bson.E{Key: "ok", Value: 1.0}) }

// Fail makes the answer to a command that fails.
func Fail(code int32, why string) bson.D {
	return bson.D{{Key: "ok", Value: 0.0}, {Key: "errmsg", Value: why}, {Key: "code", Value: code}, {Key: "codeName", Value: "BadValue"}}
}

func reply(command bson.D, number int64, answer func(bson.D) bson.D) bson.D {
	switch strings.ToLower(command[0].Key) {
	case "hello", "ismaster":
		return OK(bson.D{{Key: "isWritablePrimary", Value: true}, {Key: "ismaster", Value: true}, {Key: "helloOk", Value: true}, {Key: "maxBsonObjectSize", Value: int32(16 << 20)}, {Key: "connectionId", Value: number},
			{Key: "maxMessageSizeBytes", Value: int32(48 << 20)}, {Key: "maxWriteBatchSize", Value: int32(100000)}, {Key: "minWireVersion", Value: int32(0)}, {Key: "maxWireVersion", Value: int32(21)}})
	case "ping", "endsessions":
		return OK(nil)
	}
	return answer(command)
}

const (
	opReply = 1
	opQuery = 2004
	opMsg   = 2013
)

func serve(c net.Conn, number int64, answer func(bson.D) bson.D) {
	defer c.Close()
	for {
		head := make([]byte, 16)
		if _, err := io.ReadFull(c, head); err != nil {
			return
		}
		body := make([]byte, binary.LittleEndian.Uint32(head)-16)
		if _, err := io.ReadFull(c, body); err != nil {
			return
		}
		code, at := binary.LittleEndian.Uint32(head[12:]), 5 // flags, kind of section
		if code == opQuery {
			at = 4 + strings.IndexByte(string(body[4:]), 0) + 1 + 8
		}
		var command bson.D
		if bson.Unmarshal(body[at:], &command) != nil {
			return
		}
		doc, err := bson.Marshal(reply(command, number, answer))
		if err != nil {
			return
		}
		back := append(make([]byte, 5), doc...)
		kind := uint32(opMsg)
		if code == opQuery {
			kind, back = opReply, append(append(make([]byte, 16), 1, 0, 0, 0), doc...)
		}
		out := binary.LittleEndian.AppendUint32(nil, uint32(16+len(back)))
		out = binary.LittleEndian.AppendUint32(out, 0)
		out = append(out, head[4:8]...)
		out = binary.LittleEndian.AppendUint32(out, kind)
		if _, err := c.Write(append(out, back...)); err != nil {
			return
		}
	}
}
