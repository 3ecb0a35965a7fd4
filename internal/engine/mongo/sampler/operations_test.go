package sampler

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"plumb/internal/engine/mongo"
	"plumb/internal/engine/mongo/mongotest"
	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// The documents of these tests are made after the output fields of $currentOp in
// the manuals of 4.4 to 8.0: no mongod could be had.
func currentOps() bson.A {
	return bson.A{
		bson.D{{Key: "type", Value: "op"}, {Key: "opid", Value: int32(4711)}, {Key: "active", Value: true}, {Key: "client", Value: "10.1.2.3:51234"}, {Key: "op", Value: "update"},
			{Key: "ns", Value: "shop.orders"}, {Key: "planSummary", Value: "IXSCAN { customer: 1 }"}, {Key: "effectiveUsers", Value: bson.A{bson.D{{Key: "user", Value: "app"}, {Key: "db", Value: "admin"}}}},
			{Key: "microsecs_running", Value: int64(2500000)}, {Key: "waitingForLock", Value: true}, {Key: "queryHash", Value: "AC4EF4A6"}, {Key: "transaction", Value: bson.D{{Key: "timeOpenMicros", Value: int64(3000000)}}}},
		bson.D{{Key: "type", Value: "op"}, {Key: "opid", Value: int64(1) << 40}, {Key: "active", Value: true}, {Key: "op", Value: "query"}, {Key: "ns", Value: "shop.items"}, {Key: "microsecs_running", Value: int64(900)},
			{Key: "waitingForFlowControl", Value: true}},
		bson.D{{Key: "type", Value: "op"}, {Key: "opid", Value: "shard1:99"}, {Key: "active", Value: true}, {Key: "op", Value: "command"}, {Key: "ns", Value: "shop.$cmd"}, {Key: "waitingForLatch", Value: bson.D{{Key: "captureName", Value: "x"}}}},
		bson.D{{Key: "type", Value: "idleSession"}, {Key: "active", Value: false}, {Key: "client", Value: "[::1]:4000"}, {Key: "transaction", Value: bson.D{{Key: "timeOpenMicros", Value: int64(9000000)}, {Key: "timeInactiveMicros", Value: int64(8000000)}}}},
	}
}

func TestOperationsBecomeSessions(t *testing.T) {
	asked := ""
	address := mongotest.Serve(t, func(command bson.D) bson.D {
		if command[0].Key == "serverStatus" {
			return mongotest.OK(bson.D{{Key: "globalLock", Value: bson.D{{Key: "currentQueue", Value: bson.D{{Key: "readers", Value: int32(0)}, {Key: "writers", Value: int32(1)}}},
				{Key: "activeClients", Value: bson.D{{Key: "readers", Value: int32(2)}, {Key: "writers", Value: int32(1)}}}}}})
		}
		text, _ := bson.MarshalExtJSON(command, false, false)
		asked = string(text)
		return mongotest.OK(bson.D{{Key: "cursor", Value: bson.D{{Key: "firstBatch", Value: currentOps()}, {Key: "id", Value: int64(0)}, {Key: "ns", Value: "admin.$cmd.aggregate"}}}})
	})
	live := host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{kind: mongo.NewDialer("")}})
	defer live.Close()
	v := &server{sample.Asked{Ref: stack.Ref{Kind: kind, Name: "27017"}, Find: func(context.Context, host.Reader) (host.Target, error) {
		return host.Target{Engine: kind, Name: "mongo:" + address, Network: "tcp", Address: address, Logins: []host.Login{{}}}, nil
	}}}
	var b series.Batch
	if err := v.sessions(t.Context(), live, &b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(asked, "$only") || !strings.Contains(asked, `"$currentOp"`) {
		t.Errorf("the server was asked %s", asked)
	}
	if len(b.Readings) != 5 || len(b.Gaps) != 0 || len(b.Sessions) != 4 {
		t.Fatalf("%d readings, gaps %v, %d sessions", len(b.Readings), b.Gaps, len(b.Sessions))
	}
	want := []series.Session{
		{ID: 4711, User: "app", Client: "10.1.2.3", Database: "shop", Active: true, Class: series.ClassLock, Wait: "waitingForLock", For: 2500 * time.Millisecond, InTx: 3 * time.Second, Statement: "AC4EF4A6", Text: "update shop.orders IXSCAN { customer: 1 }"},
		{ID: 1 << 40, Database: "shop", Active: true, Class: series.ClassReplica, Wait: "waitingForFlowControl", For: 900 * time.Microsecond, Text: "query shop.items"},
		{Database: "shop", Active: true, Class: series.ClassLatch, Wait: "waitingForLatch", Text: "command shop.$cmd"},
		{Client: "[::1]", InTx: 9 * time.Second, For: 8 * time.Second},
	}
	for i, w := range want {
		got := b.Sessions[i]
		got.Of = stack.Ref{}
		if got.ID != w.ID || got.User != w.User || got.Client != w.Client || got.Database != w.Database || got.Active != w.Active || got.Class != w.Class || got.Wait != w.Wait || got.For != w.For || got.InTx != w.InTx || got.Statement != w.Statement || got.Text != w.Text {
			t.Errorf("%+v, want %+v", got, w)
		}
	}
}

// TestWithoutTheRoleThereAreCounts: who may not list operations still counts them.
func TestWithoutTheRoleThereAreCounts(t *testing.T) {
	address := mongotest.Serve(t, func(command bson.D) bson.D {
		if command[0].Key == "aggregate" {
			return mongotest.Fail(13, "not authorized on admin to execute command")
		}
		return mongotest.OK(bson.D{{Key: "globalLock", Value: bson.D{{Key: "currentQueue", Value: bson.D{{Key: "readers", Value: int32(0)}, {Key: "writers", Value: int32(0)}}},
			{Key: "activeClients", Value: bson.D{{Key: "readers", Value: int32(0)}, {Key: "writers", Value: int32(0)}}}}}})
	})
	live := host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{kind: mongo.NewDialer("")}})
	defer live.Close()
	v := &server{sample.Asked{Ref: stack.Ref{Kind: kind, Name: "27017"}, Find: func(context.Context, host.Reader) (host.Target, error) {
		return host.Target{Engine: kind, Name: "mongo:" + address, Network: "tcp", Address: address, Logins: []host.Login{{}}}, nil
	}}}
	var b series.Batch
	if err := v.sessions(t.Context(), live, &b); err != nil {
		t.Fatal(err)
	}
	if len(b.Readings) != 5 || len(b.Gaps) != 1 || !strings.Contains(b.Gaps[0].Hint, "clusterMonitor") {
		t.Errorf("readings %v, gaps %v", b.Readings, b.Gaps)
	}
}

func FuzzOperations(f *testing.F) {
	text, _ := bson.MarshalExtJSON(bson.D{{Key: "a", Value: currentOps()}}, false, false)
	f.Add(text[len(`{"a":`) : len(text)-1])
	f.Add([]byte(`[{"opid": 1e300, "microsecs_running": -1}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, _ := (&server{}).operations(text)
		for _, s := range all {
			if s.For < 0 || s.InTx < 0 {
				t.Errorf("a time below none: %+v", s)
			}
		}
	})
}
