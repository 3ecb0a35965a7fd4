package real

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"plumb/internal/rule"
	"plumb/test/sandbox"
)

// mongoOn starts a mongod on a port of its own.
func mongoOn(t *testing.T, b *sandbox.Box, o sandbox.MongoOptions) *sandbox.Server {
	t.Helper()
	o.Port = freePort(t)
	s, err := b.Mongo(o)
	check(t, err)
	return s
}

// mongo runs a command on a mongod's database admin.
func mongo(t *testing.T, s *sandbox.Server, command string, args ...any) map[string]any {
	t.Helper()
	answer, err := s.Ask(t.Context(), "admin", fmt.Sprintf(command, args...))
	check(t, err)
	return answer
}

func onMongo() []pair {
	return []pair{
		{name: "mongo_journal_off", rule: "mongo/journal-off",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				major, minor, err := sandbox.MongoVersion()
				check(t, err)
				if 100*major+minor > 600 {
					t.Skipf("the journal of MongoDB %d.%d cannot be switched off", major, minor)
				}
				return mongoOn(t, b, sandbox.MongoOptions{Storage: choose(sick, "  journal:\n    enabled: false\n", "")})
			}},
		{name: "mongo_data_on_ext4", rule: "cross/storage-mongo-ext4",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				return mongoOn(t, b, sandbox.MongoOptions{Datadir: volume(t, b, choose(sick, "ext4", "xfs"))})
			}},
		{name: "mongo_open_to_all", rule: "mongo/no-authorization",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				wrap, err := b.Apart()
				check(t, err)
				return mongoOn(t, b, sandbox.MongoOptions{Wrap: wrap, Args: []string{choose(sick, "--bind_ip_all", "--bind_ip=localhost")}})
			}},
		{name: "mongo_few_threads", rule: "cross/kernel-nproc-mongo",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				limit := 32000
				if sick {
					limit = 4096
				}
				return mongoOn(t, b, sandbox.MongoOptions{Wrap: b.Processes(limit)})
			}},
		{name: "mongo_cache_of_nearly_all_memory", rule: "cross/mongo-cache-over-memory",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				cache := fmt.Sprintf("  wiredTiger:\n    engineConfig:\n      cacheSizeGB: %.2f\n", float64(megabytes(t))/1024*choose(sick, 0.95, 0.25))
				return mongoOn(t, b, sandbox.MongoOptions{Storage: cache})
			}},
		{name: "mongo_cache_larger_than_its_group", rule: "cross/mongo-cache-sees-other-memory",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				wrap, err := b.Cgroup(768 << 20)
				check(t, err)
				return mongoOn(t, b, sandbox.MongoOptions{Wrap: wrap, Storage: choose(sick, "", "  wiredTiger:\n    engineConfig:\n      cacheSizeGB: 0.3\n")})
			}},
	}
}

func inMongoSets() []pair {
	return []pair{
		{name: "mongo_majority_not_journaled", rule: "mongo/majority-journal-default",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				s := mongoOn(t, b, sandbox.MongoOptions{Set: "rs0"})
				mongo(t, s, `{"replSetReconfig": {"_id": "rs0", "version": 1000, "protocolVersion": 1, "writeConcernMajorityJournalDefault": %t,
					"members": [{"_id": 0, "host": "127.0.0.1:%d"}]}}`, !sick, s.Port)
				return s
			}},
		{name: "mongo_member_away", rule: "mongo/members-unreachable",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				s := mongoOn(t, b, sandbox.MongoOptions{Set: "rs0"})
				if sick { // nobody listens there
					mongo(t, s, `{"replSetReconfig": {"_id": "rs0", "version": 1000, "protocolVersion": 1, "members": [{"_id": 0, "host": "127.0.0.1:%d"},
						{"_id": 1, "host": "127.0.0.1:%d", "votes": 0, "priority": 0}]}}`, s.Port, freePort(t))
				}
				return s
			}},
		{name: "mongo_under_maintenance", rule: "mongo/member-not-serving", long: "the rule passes over the first five minutes",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				_, second := mongoPair(t, b)
				if sick {
					mongo(t, second, `{"replSetMaintenance": true}`)
				}
				time.Sleep(5 * time.Minute)
				return second
			}},
		{name: "mongo_no_primary", rule: "mongo/no-primary", long: "the rule waits a minute after the start", start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
			first, second := mongoPair(t, b)
			if sick { // what is left has no majority
				check(t, first.Kill())
			}
			time.Sleep(time.Minute)
			return second
		}},
		{name: "mongo_oplog_short", rule: "mongo/oplog-short", start: shortOplog},
	}
}

// mongoPair makes a set of two: its primary and its secondary.
func mongoPair(t *testing.T, b *sandbox.Box) (first, second *sandbox.Server) {
	first = mongoOn(t, b, sandbox.MongoOptions{Name: "first", Set: "rs0"})
	second = mongoOn(t, b, sandbox.MongoOptions{Name: "second", More: "replication:\n  replSetName: rs0\n"})
	mongo(t, first, `{"replSetReconfig": {"_id": "rs0", "version": 1000, "protocolVersion": 1, "members": [{"_id": 0, "host": "127.0.0.1:%d", "priority": 2},
		{"_id": 1, "host": "127.0.0.1:%d"}]}}`, first.Port, second.Port)
	state := func() string { return fmt.Sprint(mongo(t, second, `{"isMaster": 1}`)["secondary"]) }
	for end := time.Now().Add(time.Minute); state() != "true"; time.Sleep(time.Second) {
		if time.Now().After(end) {
			t.Fatal("the second member did not follow the first")
		}
	}
	return first, second
}

// shortOplog fills an oplog of 10 MB several times over, or one that is as
// young and not full. It is cut where a checkpoint no longer needs it.
func shortOplog(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
	s := mongoOn(t, b, sandbox.MongoOptions{Set: "rs0", Args: []string{"--oplogSize=10"}})
	rounds := 3
	if sick {
		rounds = 60
	}
	for i := range rounds {
		mongo(t, s, `{"insert": "x", "documents": [{"_id": %d, "pad": %q}]}`, i, strings.Repeat("plumb", 100_000))
	}
	cuts := func() string { return fmt.Sprint(mongo(t, s, `{"serverStatus": 1}`)["oplogTruncation"]) }
	for end := time.Now().Add(time.Minute); sick && strings.Contains(cuts(), "truncateCount:0"); time.Sleep(time.Second) {
		mongo(t, s, `{"fsync": 1}`)
		mongo(t, s, `{"insert": "x", "documents": [{"pad": %q}]}`, strings.Repeat("plumb", 100_000))
		if time.Now().After(end) {
			t.Fatalf("the oplog was not cut: %s", cuts())
		}
	}
	return s
}

// Of a server that lets everybody in nothing stays unseen, and what is seen is
// what it says itself.
func TestMongoIsReadWhole(t *testing.T) {
	for _, set := range []string{"", "rs0"} {
		t.Run("set_"+set, func(t *testing.T) {
			srv := mongoOn(t, box(t), sandbox.MongoOptions{Set: set})
			s := look(t)
			db := s.Find(refOf(t, s, srv))
			if gaps := gapsOf(s, db.Ref); gaps != "" {
				t.Errorf("gaps:\n%s", gaps)
			}
			build, status := mongo(t, srv, `{"buildInfo": 1}`), mongo(t, srv, `{"serverStatus": 1}`)
			if v, _, _ := strings.Cut(fmt.Sprint(build["version"]), "-"); db.Text("version") != v {
				t.Errorf("version %q, want %s", db.Text("version"), v)
			}
			if got, _ := db.Int("cache_size"); got == 0 || !strings.Contains(fmt.Sprint(status["wiredTiger"]), fmt.Sprintf("maximum bytes configured:%v ", float64(got))) {
				t.Errorf("the cache is %d, and not in %.300v", got, status["wiredTiger"])
			}
			for _, fact := range []string{"uptime", "connections_current", "memory_resident", "memory_seen", "cache_used_percent", "storage_engine",
				"net_bind_ip", "security_authorization", "storage_journal_commit_interval", "enable_flow_control", "startup_warnings", "data_path"} {
				if v, known := db.Facts[fact]; !known || v.Value.IsAbsent() {
					t.Errorf("%s is not known", fact)
				}
			}
			for _, fact := range []string{"replica_set", "primary", "replica_set_state", "replica_set_members", "replica_set_voting", "majority_journal_default", "oplog_window"} {
				if v, known := db.Facts[fact]; !known || v.Value.IsAbsent() != (set == "") {
					t.Errorf("%s is %v (known %v)", fact, v.Value, known)
				}
			}
			for _, v := range shared.rules.Judge(s) {
				if strings.HasPrefix(v.Rule.ID, "mongo/") && binds(v, db.Ref) && v.Outcome == rule.Unknown {
					t.Errorf("%s is unknown for want of %v", v.Rule.ID, v.Missing)
				}
			}
		})
	}
}

// With the login that check --grants prints nothing stays unseen, and without
// one it is said what would help.
func TestMongoWithLogins(t *testing.T) {
	b := box(t)
	srv := mongoOn(t, b, sandbox.MongoOptions{Args: []string{"--auth"}})
	mongo(t, srv, `{"createUser": "root", "pwd": "not told", "roles": ["root"]}`) // the localhost exception
	out := plumb(t, "stack", "--json")
	s := out.seen(t)
	ref := refOf(t, s, srv)
	if in, known := s.Find(ref).Bool("logged_in"); in || !known {
		t.Errorf("logged_in is %v (known %v) without a login", in, known)
	}
	contains(t, gapsOf(s, ref), "plumb check --grants")
	if auth := s.Find(ref).Text("security_authorization"); auth != "enabled" {
		t.Errorf("authorization is %q", auth)
	}
	srv.User, srv.Password = "root", "not told"
	mongo(t, srv, `{"createUser": "plumb", "pwd": "also not told", "roles": ["clusterMonitor"]}`)
	out = plumb(t, "stack", "--json", "--dsn", fmt.Sprintf("mongodb://plumb:also%%20not%%20told@127.0.0.1:%d/", srv.Port))
	s = out.seen(t)
	if gaps := gapsOf(s, ref); gaps != "" {
		t.Errorf("gaps with the rights of --grants:\n%s", gaps)
	}
	if in, _ := s.Find(ref).Bool("logged_in"); !in {
		t.Error("not logged in")
	}
	hidden(t, "also not told", out.out, out.err)
}

// A member of a set that nobody has initiated says so, and what would help.
func TestMongoNotInitiated(t *testing.T) {
	srv := mongoOn(t, box(t), sandbox.MongoOptions{More: "replication:\n  replSetName: rs7\n"})
	s := look(t)
	db := s.Find(refOf(t, s, srv))
	if db.Text("replica_set") != "rs7" || db.Text("replica_set_state") != "STARTUP" {
		t.Errorf("set %q in state %q", db.Text("replica_set"), db.Text("replica_set_state"))
	}
	contains(t, gapsOf(s, db.Ref), "rs.initiate()")
	want(t, s, "mongo/oplog-short", db.Ref, rule.Unknown)
}
