package mongo

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// The documents and the effects of commands here are written from MongoDB's
// documentation, so that they run where no mongod is at hand.

const (
	cacheLook = `{"serverStatus": 1, "$only": ["wiredTiger", "cache", "maximum bytes configured"]}`
	flowLook  = `{"getParameter": 1, "enableFlowControl": 1, "$only": ["enableFlowControl"]}`
	who       = `{"connectionStatus": 1, "showPrivileges": true}`
	nobody    = `{"authInfo": {"authenticatedUsers": [], "authenticatedUserRoles": [], "authenticatedUserPrivileges": []}, "ok": 1}`
	monitor   = `{"authInfo": {"authenticatedUsers": [{"user": "plumb", "db": "admin"}], "authenticatedUserPrivileges": [{"resource": {"cluster": true}, "actions": ["getParameter", "serverStatus"]}]}, "ok": 1}`
	manager   = `{"authInfo": {"authenticatedUsers": [{"user": "plumb", "db": "admin"}], "authenticatedUserPrivileges": [{"resource": {"cluster": true}, "actions": ["getParameter", "setParameter"]}]}, "ok": 1}`
)

// server is a mongod as a setter sees it.
type server struct {
	args    string // after mongod; "" for --config /etc/mongod.conf
	file    string // of mongod.conf; "" for the one of the probe's tests
	who     string // "" for nobody
	version string
	own     bool // in a container
	image   bool
	nofile  bool
	errs    map[string]error
}

func (s server) recipe(t *testing.T, name string, to stack.Value) (change.Recipe, error) {
	t.Helper()
	if s.who == "" {
		s.who = nobody
	}
	m, seen := machine(map[string]host.Rows{cacheLook: answer("8589934592"), flowLook: answer("true"), who: answer(s.who),
		`{"getParameter": 1, "journalCommitInterval": 1, "$only": ["journalCommitInterval"]}`: {Columns: []string{"document"}, Values: [][]*string{{nil}}}})
	if s.file != "" {
		m.Files["/etc/mongod.conf"] = s.file
	}
	if s.nofile {
		m.Files = nil
	}
	m.Errors = s.errs
	process := seen.OfKind("process")[0]
	if s.args != "" {
		process.Set("args", stack.List(append([]string{"mongod"}, strings.Fields(s.args)...)), "test")
	}
	process.Set("own_root", stack.Bool(s.own), "test")
	number := "27018"
	if s.args != "" && !strings.Contains(s.args, "/etc/mongod.conf") || s.own || s.nofile {
		number = "27017"
	}
	thing := stack.NewThing("mongo", number)
	thing.Set("version", stack.Text(s.version), "test")
	seen.Add("mongo", stack.Observation{Things: []*stack.Thing{thing}})
	cat := hosttest.Catalog(t)
	return NewSetter(Probe{}).Recipe(t.Context(), m, seen, change.Want{Knob: stack.Knob{Of: thing.Ref, Name: name}, To: to, Fact: cat.Fact("mongo", name), Image: s.image})
}

func TestRecipe(t *testing.T) {
	for _, c := range []struct {
		server
		name    string
		to      stack.Value
		acts    string
		waits   string
		missing bool
	}{
		{server{}, "storage_cache_size_gb", stack.Float(6.5),
			cacheLook + ` -> 6979321856 by {"setParameter": 1, "wiredTigerEngineRuntimeConfig": "cache_size=6979321856"} back {"setParameter": 1, "wiredTigerEngineRuntimeConfig": "cache_size={before}"}; ` +
				`/etc/mongod.conf storage.wiredTiger.engineConfig.cacheSizeGB=6.5`, "", false},
		{server{who: monitor}, "enable_flow_control", stack.Bool(false),
			flowLook + ` -> false by {"setParameter": 1, "enableFlowControl": false} back {"setParameter": 1, "enableFlowControl": {before}}; /etc/mongod.conf setParameter.enableFlowControl=false`, "", true},
		{server{who: manager}, "enable_flow_control", stack.Bool(false),
			flowLook + ` -> false by {"setParameter": 1, "enableFlowControl": false} back {"setParameter": 1, "enableFlowControl": {before}}; /etc/mongod.conf setParameter.enableFlowControl=false`, "", false},
		{server{version: "7.0.14"}, "security_authorization", stack.Text("enabled"), `/etc/mongod.conf security.authorization=enabled`, "a restart of mongo:27018", false},
		{server{version: "6.0.14"}, "storage_journal_enabled", stack.Bool(true), `/etc/mongod.conf storage.journal.enabled=true`, "a restart of mongo:27018", false},
		{server{image: true}, "storage_cache_size_gb", stack.Float(2), `/etc/mongod.conf storage.wiredTiger.engineConfig.cacheSizeGB=2`, "a start of the server", false},
	} {
		r, err := c.recipe(t, c.name, c.to)
		if err != nil || acts(r) != c.acts || r.Waits != c.waits || (len(r.Needs) > 0) != c.missing {
			t.Errorf("%s: %v\n%s\n%+v", c.name, err, acts(r), r)
		}
	}
}

func acts(r change.Recipe) string {
	var out []string
	for _, a := range r.Acts {
		if a.Edit != nil {
			out = append(out, fmt.Sprintf("%s %s=%s", a.Edit.File, a.Edit.Key, a.Edit.Value))
			continue
		}
		s := a.Switch
		out = append(out, fmt.Sprintf("%s -> %s by %s back %s", s.Inspect.Query, s.After, s.Do[0].Statement, s.Undo[0].Statement))
	}
	return strings.Join(out, "; ")
}

func TestRecipeRefuses(t *testing.T) {
	const engine = "net: {port: 27018}\nstorage:\n  wiredTiger:\n    engineConfig:\n"
	for _, c := range []struct {
		server
		name string
		to   stack.Value
		want string
	}{
		{server{}, "storage_directory_per_db", stack.Bool(true), "does not know how"},
		{server{version: "7.0.14"}, "storage_journal_enabled", stack.Bool(true), "always on since 6.1"},
		{server{own: true}, "enable_flow_control", stack.Bool(true), "runs in a container"},
		{server{args: "--dbpath /srv"}, "enable_flow_control", stack.Bool(true), "without --config"},
		{server{args: "--config etc/mongod.cnf"}, "enable_flow_control", stack.Bool(true), "depends on the directory"},
		{server{args: "--config /data/automation-mongod.conf"}, "enable_flow_control", stack.Bool(true), "automation agent"},
		{server{nofile: true}, "enable_flow_control", stack.Bool(true), "read /etc/mongod.conf"},
		{server{args: "-f /etc/mongod.conf --wiredTigerCacheSizeGB 4"}, "storage_cache_size_gb", stack.Float(2), "command line sets storage.wiredTiger.engineConfig.cacheSizeGB"},
		{server{args: "-f /etc/mongod.conf --setParameter enableFlowControl=true"}, "enable_flow_control", stack.Bool(false), "command line has --setParameter enableFlowControl=true"},
		{server{args: "-f /etc/mongod.conf --wiredTigerEngineConfigString=cache_size=4G"}, "storage_cache_size_gb", stack.Float(2), "command line has --wiredTigerEngineConfigString"},
		{server{file: engine + "      configString: cache_size=1G\n"}, "storage_cache_size_gb", stack.Float(2), "/etc/mongod.conf:5 sets cache_size in configString"},
		{server{file: engine + "      cacheSizePct: 40\n"}, "storage_cache_size_gb", stack.Float(2), "sets cacheSizePct, and a server with both"},
		{server{}, "storage_journal_commit_interval", stack.Int(50), "does not say what storage.journal.commitIntervalMs is"},
		{server{errs: map[string]error{"query mongo:127.0.0.1:27018 " + flowLook: host.ErrDenied}}, "enable_flow_control", stack.Bool(true), "not allowed"},
		{server{errs: map[string]error{"query mongo:127.0.0.1:27018 " + flowLook: host.ErrDown}}, "enable_flow_control", stack.Bool(true), "cannot connect"},
		{server{image: true, nofile: true}, "enable_flow_control", stack.Bool(true), "/etc/mongod.conf"},
		{server{}, "enable_flow_control", stack.Text("perhaps"), "perhaps is not a value"},
	} {
		_, err := c.recipe(t, c.name, c.to)
		if r, ok := errors.AsType[*change.Refusal](err); !ok || !strings.Contains(r.Why, c.want) {
			t.Errorf("%s, %+v: %v", c.name, c.server, err)
		}
	}
}

// Of an answer one part is read, so that clocks in it do not look like changes.
func TestPart(t *testing.T) {
	command, path, err := parseCommand(flowLook)
	if err != nil || len(command) != 2 || command[0].Key != "getParameter" || strings.Join(path, "/") != "enableFlowControl" {
		t.Errorf("%v %v %v", command, path, err)
	}
	for _, wrong := range []string{`{"getParameter": 1, "$only": "a"}`, `{"getParameter": 1, "$only": [1]}`, `{"getParameter": 1, "$only": []}`, `{`} {
		if _, _, err := parseCommand(wrong); err == nil {
			t.Errorf("%s was read", wrong)
		}
	}
	answer := []byte(`{"enableFlowControl": true, "n": 8589934592.0, "x": 0.5, "wiredTiger": {"cache": {"maximum bytes configured": 5}}, "$clusterTime": {"t": 1}}`)
	for want, path := range map[string][]string{"true": {"enableFlowControl"}, "8589934592": {"n"}, "0.5": {"x"}, "5": {"wiredTiger", "cache", "maximum bytes configured"}, "null": {"a", "b"}} {
		if got, err := part(answer, path); err != nil || string(got) != want {
			t.Errorf("%v: %s, %v", path, got, err)
		}
	}
}

func TestOnlySetParameterChanges(t *testing.T) {
	s := &changeSession{}
	for _, statement := range []string{`{"shutdown": 1}`, `{"dropDatabase": 1, "setParameter": 1}`, `nonsense`, `{}`} {
		if err := s.Exec(t.Context(), statement); !errors.Is(err, host.ErrRefused) {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

func FuzzPart(f *testing.F) {
	f.Add(flowLook, `{"enableFlowControl": true, "ok": 1.0}`)
	f.Add(`{"a": 1, "$only": ["a", "b"]}`, `{"a": {"b": 1e300}}`)
	f.Fuzz(func(_ *testing.T, query, answer string) {
		if _, path, err := parseCommand(query); err == nil {
			_, _ = part([]byte(answer), path)
		}
		if doc, err := parseDocument([]byte(answer)); err == nil {
			maySet(doc)
		}
	})
}
