package protect

import (
	"time"

	"plumb/internal/change"
	"plumb/internal/protect"
	"plumb/internal/protect/clone"
	"plumb/internal/protect/keep"
	"plumb/internal/protect/policy"
	"plumb/internal/protect/prune"
	"plumb/internal/protect/replicate"
	"plumb/internal/protect/rollback"
	"plumb/internal/protect/tables"
	"plumb/internal/stack"
)

var (
	at     = time.Date(2026, 11, 23, 21, 5, 0, 0, time.UTC)
	exact  = true
	server = protect.Server{Ref: stack.Ref{Kind: "mysql", Name: "3306"}, Flavor: "mariadb", Product: "MariaDB 10.11.14", Version: "10.11.14", PID: 4711,
		Program: []string{"/usr/sbin/mariadbd"}, UID: 101, GID: 102, Env: []string{"SECRET=1"},
		Dirs: []protect.Dir{{Role: "data", Path: "/var/lib/mysql"}, {Role: "binlog", Path: "/var/log/mysql"}}}
	data   = protect.Volume{Storage: "zfs", Name: "tank/db/data", Pool: "tank", Mountpoint: "/var/lib/mysql"}
	binlog = protect.Volume{Storage: "zfs", Name: "tank/db/binlog", Pool: "tank", Mountpoint: "/var/log/mysql", Within: "mysql"}
	where  = protect.Position{File: "bin.000012", Offset: 4711, GTID: "0-1-42"}
	modes  = []protect.Mode{
		{Name: "crash", Why: "all tables are InnoDB, and data, redo and binlog lie in one pool", Not: "innodb_flush_log_at_trx_commit is 0"},
		{Name: "locked", Why: "commits wait, so that the position is that of the snapshot", Blocks: "commits, and statements that change tables",
			Statements: []string{"BACKUP STAGE START", "BACKUP STAGE BLOCK_COMMIT", "-- snapshot", "BACKUP STAGE END"},
			Doubts:     []string{"innodb_flush_log_at_trx_commit = 0: the last second"}},
		{Name: "backup-api", Not: "the server has no protocol for a copy of its files that is made by others"},
	}
	set  = protect.Set{Volumes: []protect.Volume{data, binlog}, Others: []string{"postgres:5432"}}
	plan = protect.Plan{Server: server, Set: set, Modes: modes}
	bad  = protect.Plan{Server: server, Set: protect.Set{Strays: []protect.Stray{{Path: "/dev/shm/x", Why: "on tmpfs (tmpfs), where no snapshots can be taken"}}, Apart: "tank/db/data and fast/db are in two pools, and no snapshot covers both"}}
)

func point(n int, label protect.Label) protect.Point {
	began := at.Add(time.Duration(n) * time.Hour)
	id := began.Format("20060102T150405Z") + "-4f3a"
	return protect.Point{Form: 1, ID: id, State: protect.Taken, Host: "db1", Plumb: "1.0", Server: server, Mode: "locked", Label: label, Position: where,
		Files: map[string]string{"data/x": "y"},
		Members: []protect.Member{{Volume: data, Snapshot: "tank/db/data@plumb-" + id, GUID: "1", Birth: "100"},
			{Volume: binlog, Snapshot: "tank/db/binlog@plumb-" + id, GUID: "2", Birth: "100"}},
		Times: protect.Times{Began: began, Snapshot: began, Ended: began, Held: 31 * time.Millisecond, Storage: 24 * time.Millisecond}}
}

func proven() protect.Point {
	p := point(0, protect.Proven)
	p.Times.Failed = &protect.Failed{Tries: 2, Longest: 12 * time.Millisecond}
	p.Ready = []protect.Member{{Volume: data, Snapshot: "tank/ready@x", GUID: "3"}}
	p.Holds = []protect.Hold{{Owner: "replicate tank2/copy", Since: at}}
	p.Drill = &protect.Drill{At: at, OK: true, Plumb: "1.0", Position: where, Exact: &exact, Checks: []protect.Check{{What: "CHECK TABLE of 12 tables"}}, Recovery: 800 * time.Millisecond, Took: 5 * time.Second}
	p.Replicas = []protect.Replica{{Target: "tank2/copies", Drill: *p.Drill}}
	return p
}

// unjudged is a point whose drill could not judge everything.
func unjudged() protect.Point {
	p := bare()
	p.Label = protect.Proven
	p.Drill = &protect.Drill{At: at, OK: true, Checks: []protect.Check{{What: "recovered at least to bin.000002:400", Unknown: "the server stood at bin.000002:400 before the snapshot, and the copy at bin.000002:300; sync_binlog was 0, so the end of the binary log may be missing after a crash"}, {What: "CHECK TABLE of 12 tables"}},
		Limits: []protect.Limit{{What: "512M of memory"}, {What: "1 of 2 processors", Not: "the controller for processor time (cpu) is not on"}, {What: "the lowest priority for processor and disk (nice, ionice)"}}}
	return p
}

func fallen() protect.Point {
	p := point(1, protect.Crash)
	p.Doubts = []string{"the lock was lost: the connection ended"}
	p.Drill = &protect.Drill{At: at, Why: "CHECK TABLE of 12 tables: shop.orders: Corrupt", Checks: []protect.Check{{What: "CHECK TABLE of 12 tables", Wrong: "shop.orders: Corrupt"}}}
	p.Replicas = []protect.Replica{{Target: "ssh://vault/tank/copies", Drill: *p.Drill}}
	return p
}

func bare() protect.Point {
	p := point(2, protect.Crash)
	p.Mode, p.Times.Held, p.Members = "crash", 0, p.Members[:1]
	return p
}

func others() protect.Point {
	p := bare()
	p.ID, p.Doubts, p.Position, p.Times = "tank/db/data@autosnap_1", []string{"others took it: how is not known"}, protect.Position{}, protect.Times{}
	p.Members[0].Snapshot = p.ID
	return p
}

func taken() []protect.Foreign {
	return []protect.Foreign{{Member: others().Members[0], At: at}, {Member: protect.Member{Volume: data, Snapshot: "tank/db/data@before-upgrade", GUID: "2"}, At: at}}
}

func clones() []clone.Clone {
	return []clone.Clone{
		{Name: "dev", State: clone.Made, Point: point(0, "").ID, Purpose: protect.ForUse, Product: "MariaDB 10.11.14", Since: at, Dir: "/var/lib/plumb-copies/dev",
			Run: "/var/lib/plumb-copies/dev/run", Port: 3307, PID: 99, Memory: 512 << 20, Masks: []string{"UPDATE secret SET x = 1"}, Ready: 2300 * time.Millisecond,
			Limits: []protect.Limit{{What: "512M of memory"}}},
		{Name: "r-1", State: clone.Making, Point: point(0, "").ID, Purpose: protect.ForReplica, Product: "MariaDB 10.11.14", Since: at, Run: "/var/lib/plumb-copies/r-1/run"},
		{Name: "look", State: clone.Made, Point: point(0, "").ID, Purpose: protect.ForBrowse, Product: "MariaDB 10.11.14", Since: at, Dir: "/var/lib/plumb-copies/look"},
		{Name: "old", State: clone.Made, Point: others().ID, Purpose: protect.ForUse, Product: "MariaDB 10.11.14", Since: at, Run: "/var/lib/plumb-copies/old/run", Memory: 512 << 20, Ready: time.Second,
			Limits: []protect.Limit{{What: "512M of memory", Not: "this machine lends no control group"}}},
	}
}

// lostOnes are points of which no copy can be started now.
func lostOnes() map[string]keep.Facts {
	return map[string]keep.Facts{fallen().ID: {Gone: []string{"tank/db@plumb-" + fallen().ID}}, bare().ID: {Unread: "the pool tank is not imported"}}
}

func plans() []keep.Plan {
	all := []protect.Point{point(-30, protect.Crash), point(-20, protect.Proven), point(-10, protect.Crash), point(-1, protect.Proven), proven()}
	facts := map[string]keep.Facts{}
	for i, p := range all {
		facts[p.ID] = keep.Facts{Space: int64(i) << 20}
	}
	delete(facts, all[4].ID)
	facts[all[0].ID] = keep.Facts{Gone: []string{all[0].Members[0].Snapshot, all[0].Members[1].Snapshot}, Ended: true}
	stopped := keep.Judge(at, all, facts, keep.Rules{Last: 1}, keep.Options{})
	agreed := keep.Judge(at, all, facts, keep.Rules{Last: 1}, keep.Options{AllRight: 3})
	return append(stopped, agreed...)
}

// forgotten is the plan of a point of which one pool is lost.
func forgotten() []keep.Plan {
	p := proven()
	p.Members[1].Left = "look at the snapshot tank/db/binlog@plumb-20261123T210500Z-4f3a: the pool tank is not imported, so nothing is known of its snapshots"
	return keep.Named([]protect.Point{p}, map[string]keep.Facts{p.ID: {Space: -1}}, map[string]bool{p.ID: true}, keep.Words{})
}

var forgot = []prune.Outcome{{Point: "20261122T150500Z-4f3a", Gone: true, Ended: true}, {Point: "20261123T210500Z-4f3a", Gone: true, Left: forgotten()[0].Fates[0].Point.Leaves()}}

var report = policy.Report{Done: []policy.Outcome{
	{Act: policy.Act{Kind: policy.Take, Server: server.Ref}, Took: 400 * time.Millisecond},
	{Act: policy.Act{Kind: policy.Prove, Server: server.Ref, Point: "20261123T210500Z-4f3a"}, Took: time.Minute, Why: "the drill failed: CHECK TABLE of 12 tables: shop.orders: Corrupt", Hint: "look at its log"},
	{Act: policy.Act{Kind: policy.Replicate, Server: server.Ref, Point: "20261123T210500Z-4f3a", Target: "tank2/copies"}, Took: 2 * time.Second},
}}

func status() policy.Status {
	rules := policy.Policy{File: "/etc/plumb/protect.yaml", Rules: []policy.Rule{{Server: "mysql:3306", Every: time.Hour, Keep: keep.Rules{Last: 9}, Drill: &policy.Drill{Every: 24 * time.Hour},
		Replicate: []policy.Target{{To: "tank2/copies"}}, Line: 2}}}
	return policy.Assess(policy.Seen{Now: at.Add(5 * time.Hour), Policy: &rules, Servers: []stack.Ref{server.Ref, {Kind: "postgres", Name: "5432"}}, Points: []protect.Point{proven(), fallen()},
		Facts:   map[string]keep.Facts{proven().ID: {Space: 5 << 20}, fallen().ID: {Space: 1 << 20}},
		Memory:  policy.Memory{Policy: rules.File, Began: at.Add(4 * time.Hour), Lasts: []policy.Last{{Kind: policy.Take, Server: server.Ref, Failed: at, Since: at, Times: 3, Why: "a lock was not had within 5 s"}}},
		Foreign: []policy.Foreign{{Volume: "tank/db", By: "sanoid", Snapshots: 30, Newest: "tank/db@autosnap_30", At: at}}})
}

var near = replicate.Result{Point: "20261123T210500Z-4f3a", Target: "tank/copies", Took: time.Second, Doubt: "the target is in the pool tank, like the source: if that pool is lost, both are",
	Sent: []replicate.Sent{{Snapshot: "tank/db@plumb-20261123T210500Z-4f3a", Dataset: "tank/copies/tank:db", Way: "compressed", Bytes: 4096}}}

var sent = replicate.Result{Point: "20261123T210500Z-4f3a", Target: "ssh://vault/tank/copies", Took: 3 * time.Second, Resumed: true, Verified: proven().Drill, Sent: []replicate.Sent{
	{Snapshot: "tank/db/data@x", Dataset: "tank/copies/data", Base: "tank/db/data#y", Way: "raw", Bytes: 3 << 20},
	{Snapshot: "tank/db/log@x", Dataset: "tank/copies/log", Way: "plain", Bytes: 5 << 20},
	{Snapshot: "tank/db/a@x", Dataset: "tank/copies/a", There: true}}}

var back = rollback.Plan{Point: proven(), Server: server, Stop: []string{"systemctl", "stop", "mariadb.service"}, Start: []string{"systemctl", "start", "mariadb.service"},
	Volumes: []rollback.Volume{{Member: proven().Members[0], Before: "tank/db/data.before-x"}}, Moves: []string{"tank/db/data@older"}, Stay: []string{"tank/db/data@later"}, Others: []string{"/srv/db/export/today.csv"},
	Recipe: change.Recipe{Notes: []string{"1 bookmark of tank/db/data will stay with the old dataset: incremental sends from there start over"}}}

var oneTable = tables.Plan{Point: proven(), Server: server, Table: tables.Name{"shop", "orders"}, As: tables.Name{"shop", "old orders"}, Content: "rows 2, checksum 7, definition 1/2/1/0",
	Statements: []string{"CREATE TABLE `plumb_x` (\n  `id` int\n)", "INSERT INTO `shop`.`plumb_x` (`id`) VALUES …", "RENAME TABLE `shop`.`plumb_x` TO `shop`.`old orders`"},
	Notes:      []string{"the trigger t does not come along"}}
