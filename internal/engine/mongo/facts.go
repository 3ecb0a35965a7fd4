package mongo

import (
	"fmt"
	"strconv"
	"strings"

	"plumb/internal/stack"
)

// setOptions records what options say.
func setOptions(t *stack.Thing, options map[string]option) {
	for _, o := range optionFacts {
		given, ok := options[o.name]
		if !ok {
			continue
		}
		if v, ok := o.value(given.value); ok {
			t.Setting(o.fact, v, sourceOf(given.from), given.from)
		}
	}
}

// readOptions reads getCmdLineOpts: the options a server was started with, of
// its command line and of its file.
func readOptions(d document) map[string]option {
	options := map[string]option{}
	var collect func(prefix string, v any)
	collect = func(prefix string, v any) {
		if m, ok := v.(map[string]any); ok {
			for key, inner := range m {
				collect(strings.TrimPrefix(prefix+"."+key, "."), inner)
			}
			return
		}
		options[prefix] = option{fmt.Sprint(v), stack.Origin{From: stack.FromRuntime}}
	}
	parsed, _ := d.at("parsed")
	collect("", parsed)
	complete(options)
	return options
}

// setDefaults says what counts where neither the command line nor the file says
// anything: mongod tells of no option that was not given.
func setDefaults(t *stack.Thing, in instance) {
	_, more := in.options[elsewhere]
	if more || in.fileErr != nil || in.options == nil {
		return
	}
	at := release(t.Text("version"))
	_, bound := in.options["net.bindIp"]
	_, journal := in.options["storage.journal.enabled"]
	byDefault := func(fact string, v stack.Value) {
		t.Setting(fact, v, "documentation", stack.Origin{From: stack.FromDefault})
	}
	if _, told := in.options["storage.dbPath"]; !told && !in.router {
		byDefault("data_path", stack.Text("/data/db"))
	}
	if !bound && at >= 306 {
		byDefault("net_bind_ip", stack.Text("localhost"))
	}
	switch {
	case at == 0 || in.router || t.Text("storage_engine") != "wiredTiger":
	case at >= 601: // the option is gone, and the journal always on
		t.SetAbsent("storage_journal_enabled", "documentation")
	case !journal:
		byDefault("storage_journal_enabled", stack.Bool(true))
	}
}

// release makes one number of a version's first two, 306 of 3.6; 0 of none.
func release(version string) int {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, err := strconv.Atoi(major)
	b, _ := strconv.Atoi(minor)
	if err != nil {
		return 0
	}
	return 100*a + b
}

// optionFacts maps options to facts.
var optionFacts = []struct {
	name, fact string
	value      func(string) (stack.Value, bool)
}{
	{"storage.dbPath", "data_path", asText},
	{"systemLog.path", "system_log_path", asText},
	{"net.bindIp", "net_bind_ip", asText},
	{"storage.engine", "storage_engine", asText},
	{"storage.directoryPerDB", "storage_directory_per_db", asBool},
	{"storage.journal.enabled", "storage_journal_enabled", asBool},
	{"storage.journal.commitIntervalMs", "storage_journal_commit_interval", asInt},
	{"storage.wiredTiger.engineConfig.cacheSizeGB", "storage_cache_size_gb", asFloat},
	{"storage.wiredTiger.engineConfig.directoryForIndexes", "storage_directory_for_indexes", asBool},
	{"storage.wiredTiger.collectionConfig.blockCompressor", "storage_block_compressor", asText},
	{"security.authorization", "security_authorization", asText},
	{"replication.replSetName", "replica_set", asText},
}

func asText(s string) (stack.Value, bool) { return stack.Text(s), true }

func asBool(s string) (stack.Value, bool) {
	b, err := strconv.ParseBool(s)
	return stack.Bool(b), err == nil
}

func asInt(s string) (stack.Value, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return stack.Int(n), err == nil
}

func asFloat(s string) (stack.Value, bool) {
	f, err := strconv.ParseFloat(s, 64)
	return stack.Float(f), err == nil
}

func readBuild(t *stack.Thing, d document) {
	const source = "buildInfo"
	if v, ok := d.text("version"); ok {
		number, _, _ := strings.Cut(v, "-")
		t.Set("version", stack.Text(number), source)
	}
	flavor := "mongodb"
	if _, ok := d.text("psmdbVersion"); ok {
		flavor = "percona"
	}
	if _, ok := d.at("ferretdb"); ok {
		flavor = "ferretdb"
	}
	if _, ok := d.at("ferretdbVersion"); ok {
		flavor = "ferretdb"
	}
	t.Set("flavor", stack.Text(flavor), source)
	if name, ok := d.text("allocator"); ok {
		t.Set("allocator", stack.Text(name), source)
	}
}

func sourceOf(o stack.Origin) string {
	switch o.From {
	case stack.FromCommand:
		return "command line"
	case stack.FromFile:
		return o.File
	case stack.FromRuntime:
		return "getCmdLineOpts"
	}
	return "documentation"
}

// setAllocator says which allocator the process uses when it is one that the
// program contains. buildInfo tells; the process shows only its C library.
func setAllocator(obs *stack.Observation, t, process *stack.Thing) {
	if strings.HasPrefix(t.Text("allocator"), "tcmalloc") {
		obs.New("process", process.Ref.Name).Set("allocator", stack.Text("tcmalloc"), "buildInfo of "+t.Ref.String())
	}
}

// notInitiated is the state of a member of a set that nobody has initiated,
// or that the others have not told of it.
const notInitiated = "STARTUP"

// readHello reads hello, and isMaster of servers that do not have it.
func readHello(t *stack.Thing, d document) {
	const source = "hello"
	if set, ok := d.text("setName"); ok {
		t.Set("replica_set", stack.Text(set), source)
		primary, ok := d.truth("isWritablePrimary")
		if !ok {
			primary, _ = d.truth("ismaster")
		}
		t.Set("primary", stack.Bool(primary), source)
		return
	}
	if waits, _ := d.truth("isreplicaset"); waits {
		t.Set("primary", stack.Bool(false), source)
		t.Set("replica_set_state", stack.Text(notInitiated), source)
		return
	}
	t.Absent(source, "replica_set", "primary")
}

// statusFacts are the whole numbers of serverStatus, with the factor that
// brings them to the fact's unit.
var statusFacts = []struct {
	fact string
	path []string
}{
	{"uptime", []string{"uptime"}},
	{"connections_current", []string{"connections", "current"}},
	{"connections_available", []string{"connections", "available"}},
	{"page_faults", []string{"extra_info", "page_faults"}},
	{"queued_readers", []string{"globalLock", "currentQueue", "readers"}},
	{"queued_writers", []string{"globalLock", "currentQueue", "writers"}},
	{"cache_size", []string{"wiredTiger", "cache", "maximum bytes configured"}},
	{"cache_used", []string{"wiredTiger", "cache", "bytes currently in the cache"}},
	{"cache_dirty", []string{"wiredTiger", "cache", "tracked dirty bytes in the cache"}},
	{"cache_reads", []string{"wiredTiger", "cache", "pages read into cache"}},
	{"cache_requests", []string{"wiredTiger", "cache", "pages requested from the cache"}},
	{"flow_control_lagged", []string{"flowControl", "isLaggedCount"}},
	{"oplog_truncations", []string{"oplogTruncation", "truncateCount"}},
}

// EvictedByClients is how many pages the threads of operations evicted, by what
// serverStatus has below wiredTiger.cache. The WiredTiger of 8.0 and later counts
// their attempts, and which of them failed, in place of the pages.
func EvictedByClients[N int64 | float64](count func(name string) (N, bool)) (N, bool) {
	if n, ok := count("pages evicted by application threads"); ok {
		return n, true
	}
	tried, ok := count("page evict attempts by application threads")
	failed, ok2 := count("page evict failures by application threads")
	return max(0, tried-failed), ok && ok2
}

func readStatus(t *stack.Thing, d document) {
	const source = "serverStatus"
	for _, f := range statusFacts {
		if n, ok := d.whole(f.path...); ok {
			t.Set(f.fact, stack.Int(n), source)
		}
	}
	if n, ok := EvictedByClients(func(name string) (int64, bool) { return d.whole("wiredTiger", "cache", name) }); ok {
		t.Set("cache_app_evictions", stack.Int(n), source)
	}
	if mb, ok := d.whole("mem", "resident"); ok {
		t.Set("memory_resident", stack.Int(mb<<20), source)
	}
	if name, ok := d.text("storageEngine", "name"); ok {
		t.Set("storage_engine", stack.Text(name), source)
	}
	if on, ok := d.truth("flowControl", "isLagged"); ok {
		t.Set("flow_control_lagging", stack.Bool(on), source)
	}
	if on, ok := d.truth("tcmalloc", "usingPerCPUCaches"); ok {
		t.Set("per_cpu_caches", stack.Bool(on), source)
	}
	setShare(t, "cache_used", "cache_used_percent")
	setShare(t, "cache_dirty", "cache_dirty_percent")
}

// setShare gives a fact's share of the cache.
func setShare(t *stack.Thing, of, name string) {
	part, ok1 := t.Int(of)
	size, ok2 := t.Int("cache_size")
	if ok1 && ok2 && size > 0 {
		t.Set(name, stack.Float(100*float64(part)/float64(size)), "serverStatus")
	}
}

func readHost(t *stack.Thing, d document) {
	if mb, ok := d.whole("system", "memLimitMB"); ok {
		t.Set("memory_seen", stack.Int(mb<<20), "hostInfo")
	}
}

func readParameters(t *stack.Thing, d document) {
	const source = "getParameter *"
	if b, ok := d.truth("ttlMonitorEnabled"); ok {
		t.Setting("ttl_monitor_enabled", stack.Bool(b), source, stack.Origin{From: stack.FromRuntime})
	}
	if b, ok := d.truth("enableFlowControl"); ok {
		t.Setting("enable_flow_control", stack.Bool(b), source, stack.Origin{From: stack.FromRuntime})
	}
	if n, ok := d.whole("journalCommitInterval"); ok {
		t.Setting("storage_journal_commit_interval", stack.Int(n), source, stack.Origin{From: stack.FromRuntime})
	}
}

// readWarnings keeps the texts of the startup warnings. Since 4.4 each entry
// is a JSON log line; before it was plain text.
func readWarnings(t *stack.Thing, d document) {
	entries, _ := d.at("log")
	lines, ok := entries.([]any)
	if !ok {
		return
	}
	texts := []string{}
	for _, l := range lines[:min(len(lines), 100)] {
		line, _ := l.(string)
		if entry, err := parseDocument([]byte(line)); err == nil {
			line, _ = entry.text("msg")
		}
		if line != "" {
			texts = append(texts, line)
		}
	}
	t.Set("startup_warnings", stack.List(texts), "getLog startupWarnings")
}

func readReplicaSet(t *stack.Thing, d document) {
	const source = "replSetGetStatus"
	members, _ := d.at("members")
	list, ok := members.([]any)
	if !ok {
		return
	}
	healthy, led := int64(0), false
	for _, m := range list {
		member, _ := m.(map[string]any)
		doc := document(member)
		if h, ok := doc.number("health"); ok && h == 1 {
			healthy++
		}
		state, _ := doc.text("stateStr")
		led = led || state == "PRIMARY"
		if self, _ := doc.truth("self"); self {
			t.Set("replica_set_state", stack.Text(state), source)
		}
	}
	t.Set("replica_set_members", stack.Int(int64(len(list))), source)
	t.Set("replica_set_healthy", stack.Int(healthy), source)
	t.Set("replica_set_has_primary", stack.Bool(led), source)
	if n, ok := d.whole("votingMembersCount"); ok {
		t.Set("replica_set_voting", stack.Int(n), source)
	}
}

func readReplicaConfig(t *stack.Thing, d document) {
	if b, ok := d.truth("config", "writeConcernMajorityJournalDefault"); ok {
		t.Set("majority_journal_default", stack.Bool(b), "replSetGetConfig")
	}
}

// readOplog tells how far back the oplog reaches: the section of serverStatus
// has the times of its first and last entry.
func readOplog(t *stack.Thing, d document) {
	first, ok1 := d.whole("earliestOptime", "$timestamp", "t")
	last, ok2 := d.whole("latestOptime", "$timestamp", "t")
	if !ok2 { // written with its term
		last, ok2 = d.whole("latestOptime", "ts", "$timestamp", "t")
	}
	switch {
	case ok1 && ok2 && last >= first && first > 0:
		t.Set("oplog_window", stack.Int(last-first), "serverStatus oplog")
	case len(d) == 0:
		t.SetAbsent("oplog_window", "serverStatus oplog")
	}
}
