package mongo_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"plumb/internal/catalog"
	"plumb/internal/change/changetest"
	"plumb/internal/engine/mongo"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// live is a private mongod, and the doer that changes it.
type live struct {
	t      *testing.T
	server *sandbox.Server
	uid    int // whom it runs as
	doer   *host.LiveDoer
	cat    *catalog.Catalog
}

func newLive(t *testing.T, o sandbox.MongoOptions) *live {
	t.Helper()
	sandbox.NeedLong(t, "starts a real server: run without -short")
	box := sandbox.ForTest(t, "")
	o.Port = sandbox.FreePort(t)
	server, err := box.Mongo(o)
	sandbox.Need(t, err)
	cat := hosttest.Catalog(t)
	doer := host.NewLiveDoer(host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{"mongo": mongo.NewDialer("")}}))
	t.Cleanup(func() { doer.Close() })
	uid, _ := box.User()
	return &live{t: t, server: server, uid: uid, doer: doer, cat: cat}
}

func (l *live) file() string { return filepath.Join(filepath.Dir(l.server.Socket), "mongod.conf") }

func (l *live) ref() stack.Ref { return stack.Ref{Kind: "mongo", Name: strconv.Itoa(l.server.Port)} }

// observe is what a check would see of the server.
func (l *live) observe() *stack.Stack {
	l.t.Helper()
	var seen stack.Stack
	var obs stack.Observation
	p := obs.New("process", strconv.Itoa(l.server.PID))
	for name, v := range map[string]stack.Value{"engine": stack.Text("mongo"), "own_mounts": stack.Bool(false), "uid": stack.Int(int64(l.uid)),
		"args": stack.List([]string{"mongod", "--config", l.file()})} {
		p.Set(name, v, "test")
	}
	seen.Add("process", obs)
	found, err := mongo.Probe{}.Collect(l.t.Context(), l.doer, &seen)
	if err != nil {
		l.t.Fatal(err)
	}
	seen.Add("mongo", found)
	return &seen
}

// state is all that setting a knob may touch.
func (l *live) state() string {
	l.t.Helper()
	text, err := os.ReadFile(l.file())
	if err != nil {
		l.t.Fatal(err)
	}
	ctx := context.WithoutCancel(l.t.Context())
	parameters, err := l.server.Ask(ctx, "admin", `{"getParameter": 1, "enableFlowControl": 1, "ttlMonitorEnabled": 1, "journalCommitInterval": 1}`)
	if err != nil {
		l.t.Fatal(err)
	}
	seen := l.observe().Find(l.ref())
	return fmt.Sprintln(string(text), parameters["enableFlowControl"], parameters["ttlMonitorEnabled"], parameters["journalCommitInterval"], seen.Facts["cache_size"].Value)
}

// Every kind of setting, on a real server: there and back, changed by others
// in between, and with a machine that dies at every operation.
func TestSuiteLive(t *testing.T) {
	l := newLive(t, sandbox.MongoOptions{Storage: "  wiredTiger:\n    engineConfig:\n      cacheSizeGB: 0.5 # by hand\n"})
	for _, c := range []struct {
		name   string
		to     stack.Value
		meddle string
	}{
		{"storage_cache_size_gb", stack.Float(0.3), `{"setParameter": 1, "wiredTigerEngineRuntimeConfig": "cache_size=400M"}`},
		{"storage_journal_commit_interval", stack.Int(50), `{"setParameter": 1, "journalCommitInterval": 70}`},
		{"enable_flow_control", stack.Bool(false), ""},
		{"ttl_monitor_enabled", stack.Bool(false), ""},
		{"storage_block_compressor", stack.Text("zstd"), ""},
		{"security_authorization", stack.Text("enabled"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			one := changetest.Case{Doer: l.doer, Setter: mongo.NewSetter(mongo.Probe{}), Catalog: l.cat, Observe: l.observe, Unsafe: true,
				Knob: stack.Knob{Of: l.ref(), Name: c.name}, To: c.to, State: l.state, Dir: changetest.Journal(t.TempDir()), Few: 40}
			if c.meddle != "" {
				one.Meddle = func() {
					if err := l.server.Command(context.WithoutCancel(t.Context()), c.meddle); err != nil {
						t.Fatal(err)
					}
				}
			}
			changetest.Run(t, one)
		})
	}
}
