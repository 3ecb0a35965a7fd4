package mongo_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/change/changetest"
	"plumb/internal/engine/mongo"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// The conformance suite on a real file and a fake server.
func TestSuite(t *testing.T) {
	f, dir := newFake(t), t.TempDir()
	_, port, err := net.SplitHostPort(f.address)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "mongod.conf")
	text := "# by hand\nnet:\n  port: " + port + "\nstorage:\n  dbPath: /srv # data\n  wiredTiger:\n    engineConfig:\n      cacheSizeGB: 1\n\n# the end"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cat := hosttest.Catalog(t)
	doer := host.NewLiveDoer(host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{"mongo": mongo.NewDialer("")}}))
	t.Cleanup(func() { doer.Close() })
	observe := func() *stack.Stack {
		var seen stack.Stack
		var process, server stack.Observation
		p := process.New("process", "1")
		p.Set("engine", stack.Text("mongo"), "test")
		p.Set("own_mounts", stack.Bool(false), "test")
		p.Set("args", stack.List([]string{"mongod", "--config", file}), "test")
		seen.Add("process", process)
		server.New("mongo", port).Set("version", stack.Text("7.0.14"), "test")
		seen.Add("mongo", server)
		return &seen
	}
	for _, c := range []struct {
		name   string
		to     stack.Value
		meddle string
	}{
		{"storage_cache_size_gb", stack.Float(2.5), `{"setParameter": 1, "wiredTigerEngineRuntimeConfig": "cache_size=3000000000"}`},
		{"enable_flow_control", stack.Bool(false), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			one := changetest.Case{Doer: doer, Setter: mongo.NewSetter(mongo.Probe{}), Catalog: cat, Observe: observe,
				Knob: stack.Knob{Of: stack.Ref{Kind: "mongo", Name: port}, Name: c.name}, To: c.to, Dir: changetest.Journal(t.TempDir()), Few: 7,
				State: func() string {
					text, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					return string(text) + "\n" + f.state()
				}}
			if c.meddle != "" {
				one.Meddle = func() {
					if err := doer.Exec(t.Context(), host.Target{Engine: "mongo", Name: "mongo:" + f.address, Network: "tcp", Address: f.address}, c.meddle); err != nil {
						t.Fatal(err)
					}
				}
			}
			changetest.Run(t, one)
		})
	}
}

// What a server says against a change reaches who asked for it.
func TestExecTellsErrors(t *testing.T) {
	f := newFake(t)
	d, target := mongo.NewDialer(""), host.Target{Engine: "mongo", Address: f.address}
	s, err := d.DialToChange(t.Context(), target, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for statement, want := range map[string]string{`{"setParameter": 1, "enableFlowControl": "x"}`: "wants a boolean", `{"setParameter": 1, "nonsense": 1}`: "unrecognized parameter: nonsense"} {
		if err := s.Exec(t.Context(), statement); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", statement, err)
		}
	}
	if err := s.Exec(t.Context(), `{"setParameter": 1, "enableFlowControl": false}`); err != nil || !strings.HasSuffix(f.state(), "false") {
		t.Errorf("%v, %s", err, f.state())
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	target.Address = l.Addr().String()
	l.Close()
	if _, err := d.DialToChange(t.Context(), target, nil); !errors.Is(err, host.ErrDown) || !strings.HasSuffix(err.Error(), "connection refused") {
		t.Errorf("nobody listens: %v", err)
	}
}
