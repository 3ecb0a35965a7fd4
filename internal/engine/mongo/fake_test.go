package mongo_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"plumb/internal/engine/mongo/mongotest"
)

// fake knows the few commands that a setter needs. It is no mongod: see mongotest.
type fake struct {
	address string
	mu      sync.Mutex
	cache   int64 // bytes
	flow    bool
	clock   int64 // differs in each answer
}

func newFake(t *testing.T) *fake {
	f := &fake{cache: 1 << 30, flow: true}
	f.address = mongotest.Serve(t, f.answer)
	return f
}

func (f *fake) answer(command bson.D) bson.D {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clock++
	with := func(d bson.D) bson.D {
		return append(mongotest.OK(d), bson.E{Key: "operationTime", Value: bson.Timestamp{T: uint32(f.clock)}})
	}
	switch strings.ToLower(command[0].Key) {
	case "connectionstatus":
		return with(bson.D{{Key: "authInfo", Value: bson.D{{Key: "authenticatedUsers", Value: bson.A{}}}}})
	case "serverstatus":
		return with(bson.D{{Key: "uptime", Value: float64(f.clock)}, {Key: "wiredTiger", Value: bson.D{{Key: "cache", Value: bson.D{{Key: "maximum bytes configured", Value: float64(f.cache)}}}}}})
	case "getparameter":
		return with(bson.D{{Key: "enableFlowControl", Value: f.flow}})
	case "setparameter":
		return f.set(command[1:], with)
	}
	return mongotest.Fail(59, "no such command: '"+command[0].Key+"'")
}

func (f *fake) set(parameters bson.D, with func(bson.D) bson.D) bson.D {
	switch e := parameters[0]; e.Key {
	case "enableFlowControl":
		on, ok := e.Value.(bool)
		if !ok {
			return mongotest.Fail(2, "enableFlowControl wants a boolean")
		}
		was := f.flow
		f.flow = on
		return with(bson.D{{Key: "was", Value: was}})
	case "wiredTigerEngineRuntimeConfig":
		text, _ := e.Value.(string)
		size, ok := strings.CutPrefix(text, "cache_size=")
		n, err := strconv.ParseInt(size, 10, 64)
		if !ok || err != nil {
			return mongotest.Fail(2, "WiredTiger reconfiguration failed: "+text)
		}
		f.cache = n
		return with(bson.D{{Key: "was", Value: ""}})
	}
	return mongotest.Fail(72, "unrecognized parameter: "+parameters[0].Key)
}

// state is what the server would say.
func (f *fake) state() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strconv.FormatInt(f.cache, 10) + " " + strconv.FormatBool(f.flow)
}
