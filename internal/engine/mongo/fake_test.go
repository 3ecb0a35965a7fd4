package mongo_test

import (
	"encoding/binary"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// fake speaks MongoDB's wire protocol as its documentation has it, and knows
// the few commands that a setter needs. It is no mongod: it shows that what we
// send arrives and that what we ask for is read, not how a server takes it.
type fake struct {
	address string
	mu      sync.Mutex
	cache   int64 // bytes
	flow    bool
	clock   int64 // differs in each answer
}

func newFake(t *testing.T) *fake {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { l.Close() })
	f := &fake{address: l.Addr().String(), cache: 1 << 30, flow: true}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go f.serve(c)
		}
	}()
	return f
}

const (
	opReply = 1
	opQuery = 2004
	opMsg   = 2013
)

func (f *fake) serve(c net.Conn) {
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
		doc, err := bson.Marshal(f.answer(command))
		if err != nil {
			return
		}
		reply := append(make([]byte, 5), doc...)
		answer := uint32(opMsg)
		if code == opQuery {
			answer, reply = opReply, append(append(make([]byte, 16), 1, 0, 0, 0), doc...)
		}
		out := binary.LittleEndian.AppendUint32(nil, uint32(16+len(reply)))
		out = binary.LittleEndian.AppendUint32(out, 0)
		out = append(out, head[4:8]...)
		out = binary.LittleEndian.AppendUint32(out, answer)
		if _, err := c.Write(append(out, reply...)); err != nil {
			return
		}
	}
}

func (f *fake) answer(command bson.D) bson.D {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clock++
	with := func(d bson.D) bson.D {
		return append(d, bson.E{Key: "ok", Value: 1.0}, bson.E{Key: "operationTime", Value: bson.Timestamp{T: uint32(f.clock)}})
	}
	fail := func(code int32, why string) bson.D {
		return bson.D{{Key: "ok", Value: 0.0}, {Key: "errmsg", Value: why}, {Key: "code", Value: code}, {Key: "codeName", Value: "BadValue"}}
	}
	switch strings.ToLower(command[0].Key) {
	case "hello", "ismaster":
		return with(bson.D{{Key: "isWritablePrimary", Value: true}, {Key: "ismaster", Value: true}, {Key: "helloOk", Value: true}, {Key: "maxBsonObjectSize", Value: int32(16 << 20)},
			{Key: "maxMessageSizeBytes", Value: int32(48 << 20)}, {Key: "maxWriteBatchSize", Value: int32(100000)}, {Key: "minWireVersion", Value: int32(0)}, {Key: "maxWireVersion", Value: int32(21)}})
	case "ping", "endsessions":
		return with(nil)
	case "connectionstatus":
		return with(bson.D{{Key: "authInfo", Value: bson.D{{Key: "authenticatedUsers", Value: bson.A{}}}}})
	case "serverstatus":
		return with(bson.D{{Key: "uptime", Value: float64(f.clock)}, {Key: "wiredTiger", Value: bson.D{{Key: "cache", Value: bson.D{{Key: "maximum bytes configured", Value: float64(f.cache)}}}}}})
	case "getparameter":
		return with(bson.D{{Key: "enableFlowControl", Value: f.flow}})
	case "setparameter":
		return f.set(command[1:], with, fail)
	}
	return fail(59, "no such command: '"+command[0].Key+"'")
}

func (f *fake) set(parameters bson.D, with func(bson.D) bson.D, fail func(int32, string) bson.D) bson.D {
	switch e := parameters[0]; e.Key {
	case "enableFlowControl":
		on, ok := e.Value.(bool)
		if !ok {
			return fail(2, "enableFlowControl wants a boolean")
		}
		was := f.flow
		f.flow = on
		return with(bson.D{{Key: "was", Value: was}})
	case "wiredTigerEngineRuntimeConfig":
		text, _ := e.Value.(string)
		size, ok := strings.CutPrefix(text, "cache_size=")
		n, err := strconv.ParseInt(size, 10, 64)
		if !ok || err != nil {
			return fail(2, "WiredTiger reconfiguration failed: "+text)
		}
		f.cache = n
		return with(bson.D{{Key: "was", Value: ""}})
	}
	return fail(72, "unrecognized parameter: "+parameters[0].Key)
}

// state is what the server would say.
func (f *fake) state() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strconv.FormatInt(f.cache, 10) + " " + strconv.FormatBool(f.flow)
}
