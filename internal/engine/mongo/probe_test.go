package mongo

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// The documents here are typed from MongoDB's reference documentation of
// these commands, and have the documented keys. What a real mongod says is on
// the tapes in fixtures/.
const serverStatus = `{"host": "db1", "version": "7.0.14", "process": "mongod", "pid": 811, "uptime": 86400.0,
"connections": {"current": 42, "available": 51158, "totalCreated": 900, "active": 3},
"extra_info": {"page_faults": 12},
"globalLock": {"currentQueue": {"total": 1, "readers": 1, "writers": 0}},
"mem": {"bits": 64, "resident": 9500, "virtual": 12000},
"storageEngine": {"name": "wiredTiger", "supportsCommittedReads": true},
"flowControl": {"enabled": true, "isLagged": true, "isLaggedCount": 7},
"oplogTruncation": {"truncateCount": 3},
"wiredTiger": {"cache": {"maximum bytes configured": 8589934592, "bytes currently in the cache": 6871947674,
 "tracked dirty bytes in the cache": 429496730, "pages evicted by application threads": 0,
 "pages read into cache": 1000, "pages requested from the cache": 900000}},
"ok": 1.0}`

const replSetStatus = `{"set": "rs0", "myState": 1, "votingMembersCount": 3,
"members": [{"_id": 0, "name": "db1:27017", "health": 1.0, "state": 1, "stateStr": "PRIMARY", "self": true},
 {"_id": 1, "name": "db2:27017", "health": 1.0, "state": 2, "stateStr": "SECONDARY"},
 {"_id": 2, "name": "db3:27017", "health": 0.0, "state": 8, "stateStr": "(not reachable/healthy)"}], "ok": 1.0}`

const replSetConfig = `{"config": {"_id": "rs0", "version": 1, "members": [], "writeConcernMajorityJournalDefault": true}, "ok": 1.0}`

const started = `{"argv": ["/usr/bin/mongod", "--config", "/etc/mongod.conf"], "parsed": {"config": "/etc/mongod.conf", "net": {"bindIp": "127.0.0.1", "port": 27018},
"security": {"authorization": "enabled"}, "storage": {"dbPath": "/srv/mongo", "wiredTiger": {"engineConfig": {"cacheSizeGB": 8}}},
"systemLog": {"destination": "file", "path": "/var/log/mongod.log"}}, "ok": 1.0}`

const oplog = `{"latestOptime": {"$timestamp": {"t": 1795046400, "i": 1}}, "earliestOptime": {"$timestamp": {"t": 1795041000, "i": 7}}}`

const config = "# mongod.conf\r\nstorage:\r\n  dbPath: /srv/mongo\r\n  wiredTiger:\r\n    engineConfig:\r\n      cacheSizeGB: 8 # half\r\nsystemLog:\r\n  destination: file\r\n  path: /var/log/mongod.log\r\nnet:\r\n  port: 27018\r\n  bindIp: 127.0.0.1\r\nsecurity: {authorization: enabled}\r\n"

func answer(doc string) host.Rows {
	return host.Rows{Columns: []string{"document"}, Values: [][]*string{{&doc}}}
}

func machine(queries map[string]host.Rows) (hosttest.Map, *stack.Stack) {
	process := stack.NewThing("process", "811")
	process.Set("engine", stack.Text("mongo"), "test")
	process.Set("args", stack.List([]string{"/usr/bin/mongod", "--config", "/etc/mongod.conf"}), "test")
	process.Set("own_mounts", stack.Bool(false), "test")
	var seen stack.Stack
	seen.Add("process", stack.Observation{Things: []*stack.Thing{process}})
	return hosttest.Map{Files: map[string]string{"/etc/mongod.conf": config}, Queries: queries}, &seen
}

func TestLocalServer(t *testing.T) {
	m, seen := machine(map[string]host.Rows{
		`{"buildInfo": 1}`:              answer(`{"version": "7.0.14-8", "psmdbVersion": "7.0.14-8", "allocator": "tcmalloc"}`),
		`{"hello": 1}`:                  answer(`{"setName": "rs0", "isWritablePrimary": true}`),
		`{"serverStatus": 1}`:           answer(serverStatus),
		`{"hostInfo": 1}`:               answer(`{"system": {"memSizeMB": 65536, "memLimitMB": 16384}}`),
		`{"getParameter": "*"}`:         answer(`{"enableFlowControl": true, "ttlMonitorEnabled": true}`),
		`{"getLog": "startupWarnings"}`: answer(`{"log": ["{\"s\":\"W\",\"msg\":\"Using the XFS filesystem is strongly recommended\"}"]}`),
		`{"replSetGetStatus": 1}`:       answer(replSetStatus),
		`{"replSetGetConfig": 1}`:       answer(replSetConfig),
		`{"getCmdLineOpts": 1}`:         answer(started),
		oplogQuestion:                   answer(oplog),
	})
	obs, err := Probe{}.Collect(t.Context(), m, seen)
	if err != nil || len(obs.Things) != 2 || len(obs.Gaps) != 0 {
		t.Fatalf("err %v, things %v, gaps %v", err, obs.Things, obs.Gaps)
	}
	db := obs.Things[0]
	for fact, want := range map[string]stack.Value{
		"version": stack.Text("7.0.14"), "flavor": stack.Text("percona"), "uptime": stack.Int(86400),
		"cache_size": stack.Int(8 << 30), "cache_used_percent": stack.Float(100 * 6871947674.0 / 8589934592.0),
		"data_path": stack.Text("/srv/mongo"), "storage_cache_size_gb": stack.Float(8), "memory_seen": stack.Int(16 << 30),
		"replica_set_healthy": stack.Int(2), "replica_set_members": stack.Int(3), "replica_set_state": stack.Text("PRIMARY"), "replica_set_has_primary": stack.Bool(true),
		"primary": stack.Bool(true), "majority_journal_default": stack.Bool(true), "oplog_window": stack.Int(5400), "oplog_truncations": stack.Int(3), "flow_control_lagging": stack.Bool(true),
		"security_authorization": stack.Text("enabled"), "memory_resident": stack.Int(9500 << 20), "logged_in": stack.Bool(true),
		"startup_warnings": stack.List([]string{"Using the XFS filesystem is strongly recommended"}),
	} {
		if got := db.Facts[fact].Value; !got.Equal(want) {
			t.Errorf("%s = %v, want %v", fact, got, want)
		}
	}
	if process := obs.Things[1]; process.Ref.String() != "process:811" || process.Text("allocator") != "tcmalloc" {
		t.Errorf("%s has the allocator %q", process.Ref, process.Text("allocator"))
	}
	if o := db.Facts["storage_cache_size_gb"].Origin; o.File != "/etc/mongod.conf" || o.Line != 6 {
		t.Errorf("origin of the cache size is %+v, want /etc/mongod.conf line 6", o)
	}
	var roles []string
	for _, r := range obs.Roles {
		roles = append(roles, fmt.Sprint(r.Name, "=", r.Path, " by ", r.PID))
	}
	if got := strings.Join(roles, "; "); got != "data=/srv/mongo by 811; journal=/srv/mongo/journal by 811; log=/var/log/mongod.log by 811" {
		t.Errorf("roles: %s", got)
	}
	if db.Ref.Name != "27018" {
		t.Errorf("named %s, want its port", db.Ref)
	}
}

func TestServerThatAnswersLittle(t *testing.T) {
	m, seen := machine(map[string]host.Rows{
		`{"buildInfo": 1}`:    answer(`{"version": "7.0.42", "ferretdb": {"version": "v2"}}`),
		`{"serverStatus": 1}`: answer(`{"uptime": 5, "ok": 1}`),
	})
	obs, _ := Probe{}.Collect(t.Context(), m, seen)
	db := obs.Things[0]
	if _, known := db.Facts["cache_size"]; known {
		t.Error("a cache size was made up")
	}
	if db.Text("flavor") != "ferretdb" {
		t.Errorf("flavor %q", db.Text("flavor"))
	}
}

// A server is called where it listens; in a network of its own only through
// its socket, and never through the port of another.
func TestWhereToCall(t *testing.T) {
	for listen, want := range map[string]string{
		"tcp:127.0.0.1:27018 unix:/tmp/mongodb-27018.sock": "27018 127.0.0.1:27018",
		"tcp:0.0.0.0:27018": "27018 127.0.0.1:27018",
		"tcp:[::]:27018":    "27018 [::1]:27018",
		"tcp:10.0.0.5:27018 unix:/tmp/mongodb-27018.sock": "27018 10.0.0.5:27018",
		"tcp:127.0.0.1:5 unix:/tmp/mongodb-5.sock":        "5 127.0.0.1:5",
		"unix:/tmp/mongodb-27018.sock":                    "27018 /tmp/mongodb-27018.sock",
		"":                                                "27018 127.0.0.1:27018",
		"apart tcp:127.0.0.1:27018 unix:/tmp/mongodb-27018.sock": "27018 /tmp/mongodb-27018.sock",
		"apart tcp:127.0.0.1:27018":                              "27018 ",
	} {
		m, seen := machine(nil)
		process := seen.OfKind("process")[0]
		words := strings.Fields(listen)
		if len(words) > 0 && words[0] == "apart" {
			process.Set("own_network", stack.Bool(true), "test")
			words = words[1:]
		}
		process.Set("listen", stack.List(words), "test")
		in := Probe{Remote: "127.0.0.1:27018"}.instances(t.Context(), m, seen)[0]
		if got := in.name + " " + in.target.Address; got != want || in.met != (in.name == "27018" && !in.apart) {
			t.Errorf("%q: %s, met %v, want %s", listen, got, in.met, want)
		}
	}
}

// Two on one port, in networks of their own, are two; what cannot be called
// says so.
func TestTwoOnOnePort(t *testing.T) {
	m, seen := machine(map[string]host.Rows{`{"buildInfo": 1}`: answer(`{"version": "7.0.14"}`), `{"serverStatus": 1}`: answer(serverStatus)})
	other := stack.NewThing("process", "12")
	for name, v := range seen.OfKind("process")[0].Facts {
		other.Facts[name] = v
	}
	other.Set("own_network", stack.Bool(true), "test")
	other.Set("listen", stack.List([]string{"tcp:127.0.0.1:27018"}), "test")
	seen.Add("process", stack.Observation{Things: []*stack.Thing{other}})
	obs, _ := Probe{}.Collect(t.Context(), m, seen)
	if len(obs.Things) != 2 || obs.Things[0].Ref.Name != "27018" || obs.Things[1].Ref.Name != "27018-12" {
		t.Fatalf("things %v", obs.Things)
	}
	if in, known := obs.Things[1].Bool("logged_in"); in || !known || obs.Things[1].Text("version") != "" || obs.Things[1].Text("data_path") != "/srv/mongo" {
		t.Errorf("the one apart: %+v", obs.Things[1].Facts)
	}
}

// What counts is what the server was started with. A file that was changed
// since counts from the next start on.
func TestFileChangedSinceTheStart(t *testing.T) {
	m, seen := machine(map[string]host.Rows{
		`{"buildInfo": 1}`:      answer(`{"version": "5.0.31"}`),
		`{"serverStatus": 1}`:   answer(serverStatus),
		`{"getCmdLineOpts": 1}`: answer(`{"parsed": {"net": {"port": 27018}, "storage": {"dbPath": "/srv/mongo", "journal": {"enabled": false}}}}`),
	})
	m.Files["/etc/mongod.conf"] = strings.Replace(config, "storage:", "storage:\r\n  journal: {enabled: true}", 1)
	obs, _ := Probe{}.Collect(t.Context(), m, seen)
	db := obs.Things[0]
	if on, known := db.Bool("storage_journal_enabled"); on || !known || db.Facts["storage_journal_enabled"].Origin.From != stack.FromRuntime {
		t.Errorf("the journal is %v (known %v) from %+v", on, known, db.Facts["storage_journal_enabled"].Origin)
	}
	if _, known := db.Facts["storage_cache_size_gb"]; known || db.Text("security_authorization") != "disabled" || db.Text("net_bind_ip") != "localhost" {
		t.Errorf("it was told nothing of its cache, of authorization or addresses: %v, %q, %q", known, db.Text("security_authorization"), db.Text("net_bind_ip"))
	}
	if o := db.Facts["data_path"].Origin; o.Line != 4 {
		t.Errorf("what the file still says is from %+v, want its line 4", o)
	}
	if journal, known := db.Links["journal"]; !known || len(journal) != 0 || slices.ContainsFunc(obs.Roles, func(r stack.Role) bool { return r.Name == "journal" }) {
		t.Errorf("it has a journal: %v, %v", db.Links, obs.Roles)
	}
}

// Of a remote server its own answers tell how it was started.
func TestRemoteServer(t *testing.T) {
	m := hosttest.Map{Queries: map[string]host.Rows{
		`{"buildInfo": 1}`:      answer(`{"version": "5.0.31"}`),
		`{"serverStatus": 1}`:   answer(serverStatus),
		`{"getCmdLineOpts": 1}`: answer(`{"parsed": {"net": {"bindIp": "*"}}}`),
	}}
	obs, _ := Probe{Remote: "db1:27017"}.Collect(t.Context(), m, &stack.Stack{})
	db := obs.Things[0]
	if on, known := db.Bool("storage_journal_enabled"); !on || !known || db.Text("net_bind_ip") != "*" || db.Text("security_authorization") != "disabled" || len(obs.Roles) != 0 {
		t.Errorf("%+v, roles %v", db.Facts, obs.Roles)
	}
}

// A server of before 4.4.2 has no hello, and one in no replica set says so
// with the name of an error.
func TestOlderServerInNoSet(t *testing.T) {
	m, seen := machine(map[string]host.Rows{
		`{"isMaster": 1}`:     answer(`{"ismaster": true}`),
		`{"serverStatus": 1}`: answer(serverStatus),
	})
	m.Errors = map[string]error{
		"query mongo:127.0.0.1:27018 " + `{"hello": 1}`:            errors.New("command failed: no such command: 'hello' (CommandNotFound)"),
		"query mongo:127.0.0.1:27018 " + `{"replSetGetStatus": 1}`: errors.New("command failed: not running with --replSet (NoReplicationEnabled)"),
		"query mongo:127.0.0.1:27018 " + `{"replSetGetConfig": 1}`: errors.New("command failed: not running with --replSet (NoReplicationEnabled)"),
	}
	obs, _ := Probe{}.Collect(t.Context(), m, seen)
	db := obs.Things[0]
	for _, fact := range []string{"replica_set", "primary", "replica_set_state", "replica_set_members", "replica_set_healthy", "replica_set_has_primary", "replica_set_voting", "majority_journal_default"} {
		if f, known := db.Facts[fact]; !known || !f.Value.IsAbsent() {
			t.Errorf("%s is %+v (known %v), want it absent", fact, f, known)
		}
	}
	for _, g := range obs.Gaps {
		if strings.Contains(g.Why, "hello") || strings.Contains(g.Why, "replSet") {
			t.Errorf("gap %q for what was answered", g.Why)
		}
	}
}

// A set that nobody has initiated is a set: what it would say is not known.
func TestSetNotInitiated(t *testing.T) {
	m, seen := machine(map[string]host.Rows{`{"hello": 1}`: answer(`{"isWritablePrimary": false, "isreplicaset": true}`)})
	m.Files["/etc/mongod.conf"] += "replication: {replSetName: rs0}\n"
	m.Errors = map[string]error{"query mongo:127.0.0.1:27018 " + `{"replSetGetStatus": 1}`: errors.New("command failed: no replset config has been received (NotYetInitialized)")}
	obs, _ := Probe{}.Collect(t.Context(), m, seen)
	db := obs.Things[0]
	if primary, ok := db.Bool("primary"); db.Text("replica_set") != "rs0" || primary || !ok {
		t.Errorf("set %q, primary %v (known %v)", db.Text("replica_set"), primary, ok)
	}
	if db.Text("replica_set_state") != "STARTUP" {
		t.Errorf("its state is %q", db.Text("replica_set_state"))
	}
	if i := slices.IndexFunc(obs.Gaps, func(g stack.Gap) bool { return strings.Contains(g.Why, "NotYetInitialized") }); i < 0 || !strings.Contains(obs.Gaps[i].Hint, "rs.initiate()") {
		t.Errorf("gaps %+v, want one that says to initiate the set", obs.Gaps)
	}
}

func TestServerDown(t *testing.T) {
	m, seen := machine(nil)
	m.Errors = map[string]error{}
	for _, q := range append([]question{{command: `{"getCmdLineOpts": 1}`}}, questions...) {
		m.Errors["query mongo:127.0.0.1:27018 "+q.command] = fmt.Errorf("connect: %w", host.ErrDown)
	}
	obs, err := Probe{}.Collect(t.Context(), m, seen)
	if err != nil {
		t.Fatal(err)
	}
	db := obs.Things[0]
	if in, ok := db.Bool("logged_in"); in || !ok {
		t.Error("want logged_in = false")
	}
	if db.Text("data_path") != "/srv/mongo" {
		t.Error("the file's settings are lost when the server is down")
	}
	if len(obs.Gaps) != 1 || obs.Gaps[0].Hint == "" {
		t.Errorf("gaps %+v, want one with a hint", obs.Gaps)
	}
}

func TestNoRights(t *testing.T) {
	m, seen := machine(map[string]host.Rows{`{"buildInfo": 1}`: answer(`{"version": "8.0.4"}`)})
	m.Errors = map[string]error{}
	for _, q := range questions[2:] {
		m.Errors["query mongo:127.0.0.1:27018 "+q.command] = fmt.Errorf("not authorized: %w", host.ErrDenied)
	}
	obs, _ := Probe{}.Collect(t.Context(), m, seen)
	if in, _ := obs.Things[0].Bool("logged_in"); in {
		t.Error("logged_in although serverStatus was refused")
	}
}

func TestArguments(t *testing.T) {
	options, file := parseArguments(strings.Fields("mongod --dbpath=/d --port 27019 --auth -f /etc/m.conf --nojournal --unknown x"))
	if file != "/etc/m.conf" || port(options) != 27019 || options["storage.dbPath"].value != "/d" ||
		options["security.authorization"].value != "enabled" || options["storage.journal.enabled"].value != "false" {
		t.Errorf("%v %s", options, file)
	}
}

// The parts of a sharded cluster have ports of their own, and a router keeps
// no data.
func TestPartsOfACluster(t *testing.T) {
	for args, want := range map[string]struct {
		port  int
		roles int
	}{
		"mongod --dbpath /d": {27017, 2}, "mongod --shardsvr --dbpath /d": {27018, 2}, "mongod --configsvr --dbpath /d": {27019, 2},
		"mongod --configsvr --port 5 --dbpath /d": {5, 2}, "/usr/bin/mongos --configdb c/h:1": {27017, 0},
	} {
		m, seen := machine(nil)
		seen.OfKind("process")[0].Set("args", stack.List(strings.Fields(args)), "test")
		obs, _ := Probe{}.Collect(t.Context(), m, seen)
		if db := obs.Things[0]; db.Ref.Name != strconv.Itoa(want.port) || len(obs.Roles) != want.roles {
			t.Errorf("%s: %s with roles %v", args, db.Ref, obs.Roles)
		}
	}
}

// An argument that takes no value must not swallow the next one, and mongod
// asks for no login unless something says so.
func TestAuthorizationAsGiven(t *testing.T) {
	const base = "net: {bindIp: 10.0.0.1}\n"
	for _, c := range []struct{ args, file, auth, bind, data string }{
		{"--bind_ip_all --auth", "", "enabled", "*", "/data/db"},
		{"--fork --dbpath /x", "", "disabled", "localhost", "/x"},
		{"--notYetKnown --auth --dbpath /x", "", "enabled", "localhost", "/x"},
		{"-vvv --dbpath /x", "", "disabled", "localhost", "/x"},
		{"--keyFile /k", "", "enabled", "localhost", "/data/db"},
		{"--noauth", "security: {keyFile: /k}\n", "disabled", "localhost", "/data/db"},
		{"", base, "disabled", "10.0.0.1", "/data/db"},
		{"", base + "security: {keyFile: /k}\n", "enabled", "10.0.0.1", "/data/db"},
		{"", base + "security: {keyFile: /k, transitionToAuth: true}\n", "disabled", "10.0.0.1", "/data/db"},
		{"", base + "security: {clusterAuthMode: x509, transitionToAuth: true}\n", "", "10.0.0.1", "/data/db"},
		{"", base + "security: {__exec: /bin/keys, type: yaml}\n", "", "10.0.0.1", ""},
		{"", "net: {bindIpAll: true}\n", "disabled", "*", "/data/db"},
		{"", "# all by default\n", "disabled", "localhost", "/data/db"},
		{"", "dbpath = /old\nauth = true # at last\nbind_ip = 10.0.0.2\nfork = true\n", "enabled", "10.0.0.2", "/old"},
		{"", "dbpath = /old\nauth = false\n", "disabled", "localhost", "/old"},
		{"", "just words\n", "", "", ""},
	} {
		args := append([]string{"mongod"}, strings.Fields(c.args)...)
		if c.file != "" {
			args = append(args, "--config", "/etc/mongod.conf")
		}
		m, seen := machine(map[string]host.Rows{`{"buildInfo": 1}`: answer(`{"version": "7.0.14"}`)})
		seen.OfKind("process")[0].Set("args", stack.List(args), "test")
		m.Files["/etc/mongod.conf"] = c.file
		obs, _ := Probe{}.Collect(t.Context(), m, seen)
		db := obs.Things[0]
		if auth, bind, data := db.Text("security_authorization"), db.Text("net_bind_ip"), db.Text("data_path"); auth != c.auth || bind != c.bind || data != c.data {
			t.Errorf("%q with %q: authorization %q, listens on %q, data in %q", c.args, c.file, auth, bind, data)
		}
	}
}

func TestOnlyReadingCommands(t *testing.T) {
	d := NewDialer("")
	for query, want := range map[string]bool{
		`{"serverStatus": 1}`: true, `{"getParameter": "*"}`: true,
		`{"setParameter": 1, "serverStatus": 1}`: false, `{"shutdown": 1}`: false, `{"eval": "1"}`: false, `{}`: false, `nonsense`: false,
		`{"aggregate": 1, "pipeline": [{"$currentOp": {"allUsers": true}}, {"$match": {"a": 1}}, {"$limit": 3}], "cursor": {}}`: true,
		`{"aggregate": 1, "pipeline": [{"$currentOp": {}}, {"$out": "x"}], "cursor": {}}`:                                       false,
		`{"aggregate": 1, "pipeline": [{"$currentOp": {}}, {"$merge": {"into": "x"}}], "cursor": {}}`:                           false,
		`{"aggregate": 1, "pipeline": [{"$match": {}}, {"$currentOp": {}}], "cursor": {}}`:                                      false,
		`{"aggregate": 1, "pipeline": [{"$currentOp": {}}, {"$match": {"$where": "f()"}}], "cursor": {}}`:                       false,
		`{"aggregate": 1, "pipeline": [{"$currentOp": {}}, {"$match": {"$expr": {"$function": {"body": "f"}}}}]}`:               false,
		`{"aggregate": "users", "pipeline": [{"$currentOp": {}}], "cursor": {}}`:                                                false,
		`{"aggregate": 1, "pipeline": [{"$currentOp": {}, "$out": "x"}]}`:                                                       false,
		`{"aggregate": 1, "pipeline": [{"$currentOp": {}}], "$db": "shop"}`:                                                     false,
		`{"aggregate": 1, "pipeline": []}`:   false,
		`{"getParameter": 1, "shutdown": 1}`: true, // the server runs the first key only
	} {
		if got := d.Reads(query); got != want {
			t.Errorf("Reads(%s) = %v", query, got)
		}
	}
}

// What a session may read is nothing that may change or hold the server.
func FuzzReads(f *testing.F) {
	f.Add(`{"serverStatus": 1}`)
	f.Add(`{"aggregate": 1, "pipeline": [{"$currentOp": {}}, {"$limit": 3}], "cursor": {}}`)
	f.Add(`{"setParameter": 1, "serverStatus": 1}`)
	f.Fuzz(func(t *testing.T, query string) {
		if !NewDialer("").Reads(query) {
			return
		}
		name, command, err := readCommand(query)
		if err != nil || name == "setParameter" || slices.Contains(locking, name) || name == "aggregate" && !listsOperations(command) {
			t.Errorf("%q may be read: %q, %v", query, name, err)
		}
	})
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte(config))
	f.Add([]byte("storage: {dbPath: [1, 2]}\n&a a: *a\n"))
	f.Add([]byte("auth = true\n# x\nport=1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		options, _ := parseConfig("/etc/mongod.conf", text)
		port(options)
		if options != nil {
			complete(options)
		}
		setOptions(stack.NewThing("mongo", "x"), options)
	})
}

func FuzzArguments(f *testing.F) {
	f.Add("mongod --dbpath /d --port=1 -f")
	f.Fuzz(func(_ *testing.T, line string) { parseArguments(strings.Fields(line)) })
}

func FuzzDocuments(f *testing.F) {
	f.Add(serverStatus)
	f.Add(replSetStatus)
	f.Add(oplog)
	f.Add(`{"log": [1, null, "x"], "members": [null, 3, {}], "uptime": 1e300}`)
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := parseDocument([]byte(text))
		if err != nil {
			return
		}
		for _, q := range questions {
			q.read(stack.NewThing("mongo", "x"), doc)
		}
	})
}

// A login given for a server of this host is used for it, and the login of
// another server is not.
func TestDSNLeadsToALocalServer(t *testing.T) {
	for remote, want := range map[string]bool{"127.0.0.1:27017": true, "localhost:27017": true, "[::1]:27017": true,
		"127.0.0.1:27018": false, "db1:27017": false, "": false} {
		if got := (Probe{Remote: remote}).leadsTo(27017); got != want {
			t.Errorf("%s: %v", remote, got)
		}
	}
}

func TestOplogWindow(t *testing.T) {
	absent := stack.Value{}
	for _, c := range []struct {
		doc   string
		want  stack.Value
		known bool
	}{
		{oplog, stack.Int(5400), true},
		{`{"latestOptime": {"ts": {"$timestamp": {"t": 1795046400, "i": 1}}, "t": 3}, "earliestOptime": {"$timestamp": {"t": 1795041000, "i": 7}}}`, stack.Int(5400), true},
		{`{}`, absent, true},
		{`{"latestOptime": {"$timestamp": {"t": 5, "i": 1}}}`, absent, false},
		{`{"latestOptime": {"$timestamp": {"t": 5, "i": 1}}, "earliestOptime": {"$timestamp": {"t": 9, "i": 1}}}`, absent, false},
	} {
		doc, err := parseDocument([]byte(c.doc))
		if err != nil {
			t.Fatal(err)
		}
		db := stack.NewThing("mongo", "27017")
		readOplog(db, doc)
		if f, known := db.Facts["oplog_window"]; known != c.known || !f.Value.Equal(c.want) {
			t.Errorf("%s gives %v (known %v), want %v (known %v)", c.doc, f.Value, known, c.want, c.known)
		}
	}
}

// TestEvictionsOfOperations: 8.0 counts attempts and failures in place of pages, and attempts alone tell nothing.
func TestEvictionsOfOperations(t *testing.T) {
	for text, want := range map[string]string{
		`"pages evicted by application threads": 7`:                                                        "7",
		`"page evict attempts by application threads": 9, "page evict failures by application threads": 4`: "5",
		`"page evict attempts by application threads": 9`:                                                  "",
	} {
		thing := stack.NewThing("mongo", "27017")
		d, err := parseDocument([]byte(`{"wiredTiger": {"cache": {` + text + `}}}`))
		if err != nil {
			t.Fatal(err)
		}
		readStatus(thing, d)
		if f, told := thing.Facts["cache_app_evictions"]; told != (want != "") || told && f.Value.String() != want {
			t.Errorf("%s: %v (%t), want %q", text, f.Value, told, want)
		}
	}
}
