package monitoring

import (
	"context"
	"os"
	"testing"
	"time"

	"plumb/internal/engine/mongo"
	"plumb/internal/engine/mongo/mongotest"
	"plumb/internal/engine/mongo/sampler"
	"plumb/internal/engine/samplertest"
	"plumb/internal/host"
	"plumb/internal/stack"
	"plumb/test/captured"
)

// What mongodb_exporter gave of the serverStatus of a real mongod has the same names, labels, types and numbers here. No
// mongod can be had for tests: both were given the answer of the 4.4.0 of a captured host, and testdata has what the exporter
// made of it.
func TestNumbersOfMongodbExporter(t *testing.T) {
	theirs, err := os.ReadFile("testdata/mongodb_exporter.prom")
	if err != nil {
		t.Fatal(err)
	}
	their, theirTypes := numbersOf(t, string(theirs), "mongodb_")
	ours, types := numbersOf(t, statusOfMongo(t), "mongodb_")
	for name, n := range ours {
		if there, is := their[name]; !is || n != there {
			t.Errorf("%s is %v, and %v there (%v)", name, n, there, is)
		}
	}
	for name, kind := range types {
		if theirTypes[name] != kind {
			t.Errorf("%s is a %s, and a %s there", name, kind, theirTypes[name])
		}
	}
	if len(ours) != 22 {
		t.Errorf("%d names are compared: %v", len(ours), ours)
	}
}

// recordedStatus is the serverStatus of the mongod of a captured host.
func recordedStatus(t *testing.T) string {
	t.Helper()
	taped, err := captured.Host("../../fixtures/mongodb-ext4.tape.gz")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := taped.Query(context.Background(), host.Target{Engine: "mongo", Name: "mongo:127.0.0.1:27017"}, `{"serverStatus": 1}`)
	if err != nil {
		t.Fatal(err)
	}
	return host.Text(rows.Values[0], 0)
}

// statusOfMongo is a page of what we read of that mongod, by the names of mongodb_exporter.
func statusOfMongo(t *testing.T) string {
	t.Helper()
	address := mongotest.Idle(t, recordedStatus(t))
	live := host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{"mongo": mongo.NewDialer("mongodb://" + address)}})
	defer live.Close()
	s, server := samplertest.LoggedIn("mongo", address)
	s.Find(server).Set("cache_size", stack.Int(12100567040), "wiredTiger.cache")
	e := exporterNamed(t, "mongodb")
	e.Picture(time.Now(), s)
	for _, source := range sampler.New(address).Sources(s) {
		take(t, e, source, live)
	}
	return textOf(t, e)
}
