package rehearse

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/hint"
	"plumb/internal/lab/experiment"
	"plumb/internal/stack"
	"plumb/knowledge"
)

// known is the built-in catalogue.
var known = sync.OnceValue(func() *catalog.Catalog {
	cat, err := catalog.LoadPart(knowledge.FS, func([]byte) bool { return true })
	if err != nil {
		panic(err)
	}
	return cat
})

// mariadb is a server with 6 GB of data on a machine with 32 GB.
func mariadb() (*stack.Stack, *stack.Thing) {
	s, _ := hostWith("/srv", "ext4", "/srv/db/mysql")
	s.TakenAt = time.Date(2026, 11, 21, 15, 4, 5, 0, time.UTC)
	var obs stack.Observation
	host, process := obs.New("host", "db1"), obs.New("process", "42")
	host.Set("memory_total", stack.Int(32*gigabyte), "test")
	host.Set("memory_available", stack.Int(20*gigabyte), "test")
	host.Set("cpus", stack.Int(4), "test")
	process.Set("rss", stack.Int(gigabyte), "test")
	process.Set("exe", stack.Text("/usr/sbin/mariadbd"), "test")
	db := s.Find(placed)
	db.Link("process", process.Ref)
	for name, v := range map[string]stack.Value{"flavor": stack.Text("mariadb"), "version": stack.Text("10.11.14"), "logged_in": stack.Bool(true), "remote": stack.Bool(false),
		"threads_running": stack.Int(3), "innodb_data_size": stack.Int(6 * gigabyte)} {
		db.Set(name, v, "test")
	}
	db.Setting("innodb_buffer_pool_size", stack.Int(128<<20), "test", stack.Origin{From: stack.FromDefault})
	db.Setting("innodb_page_size", stack.Int(16<<10), "test", stack.Origin{From: stack.FromDefault})
	s.Add("test", obs)
	return s, db
}

// configured sets what an option file says.
func configured(db *stack.Thing, settings map[string]stack.Value) {
	for name, v := range settings {
		db.Setting(name, v, "test", stack.Origin{From: stack.FromFile, File: "/etc/mysql/my.cnf", Line: 3})
	}
}

// planned makes a plan that sets knobs of a thing.
func planned(of stack.Ref, set ...any) (plan advise.Plan) {
	for i := 0; i < len(set); i += 2 {
		name, to := set[i].(string), stack.Value{}
		switch v := set[i+1].(type) {
		case int:
			to = stack.Int(int64(v))
		case string:
			to = stack.Text(v)
		case bool:
			to = stack.Bool(v)
		}
		s := advise.Step{Knob: stack.Knob{Of: of, Name: name}, To: to, Why: []string{of.Kind + "/" + strings.ReplaceAll(name, "_", "-")}, DurabilityFrom: catalog.Safe, DurabilityTo: catalog.Safe}
		if f := known().Fact(of.Kind, name); f != nil && f.Knob != nil {
			s.Effect, s.DurabilityTo = f.Knob.Effect, f.Durability(to)
		}
		plan.Steps = append(plan.Steps, s)
	}
	return plan
}

func proposed(t *testing.T, s *stack.Stack, plan advise.Plan, w Want) Proposal {
	t.Helper()
	p, err := Propose(s, known(), plan, nil, w)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func armOf(t *testing.T, s Stage, name string) experiment.Setup {
	t.Helper()
	i := slices.IndexFunc(s.Experiment.Arms, func(a experiment.Arm) bool { return a.Name == name })
	if i < 0 {
		t.Fatalf("stage %s has no arm %q:\n%s", s.Name, name, s.Text)
	}
	return s.Experiment.Arms[i].Setup
}

func TestProposalOfALargeServer(t *testing.T) {
	s, db := mariadb()
	configured(db, map[string]stack.Value{"sync_binlog": stack.Int(1), "log_bin": stack.Bool(true), "innodb_log_file_size": stack.Int(gigabyte), "datadir": stack.Text("/srv/db/mysql/"),
		"plugin_load_add": stack.Text("server_audit"), "server_audit_logging": stack.Text("ON"), "max_connections": stack.Int(500), "innodb_adaptive_flushing_lwm": stack.Float(12.5)})
	p := proposed(t, s, planned(placed, "innodb_buffer_pool_size", 18*gigabyte, "innodb_io_capacity", 2000, "server_id", 7), Want{Budget: time.Hour})
	if p.Title != "MariaDB 10.11.14 on ext4" || p.Engine != "mariadb" || p.Dir != "/srv" || p.Server != placed {
		t.Errorf("%s %s %s %s", p.Title, p.Engine, p.Dir, p.Server)
	}
	all := p.Stages[0]
	now, with := armOf(t, all, AsIs), armOf(t, all, AllAdvice)
	if z := p.Scale; z > 0.3 || z < 0.1 {
		t.Errorf("scale %g", z)
	}
	pool := func(u experiment.Setup) int64 {
		b, err := experiment.ParseBytes(u.Server.Settings["innodb_buffer_pool_size"])
		if err != nil {
			t.Fatal(err)
		}
		return int64(b)
	}
	if pool(now) < 24<<20 || pool(now) > 48<<20 || pool(with) > 6*gigabyte || pool(with)%(128<<20) != 0 || pool(with) >= int64(with.Server.Memory) {
		t.Errorf("pools of %d and %d in %s", pool(now), pool(with), with.Server.Memory)
	}
	want := map[string]string{"sync_binlog": "1", "log_bin": "ON", "innodb_log_file_size": "1G", "max_connections": "500", "innodb_adaptive_flushing_lwm": "12.5",
		"innodb_buffer_pool_size": now.Server.Settings["innodb_buffer_pool_size"]}
	if diff := cmp.Diff(want, now.Server.Settings); diff != "" {
		t.Error(diff)
	}
	if with.Server.Settings["innodb_io_capacity"] != "2000" || with.Server.Version != "10.11.14" || with.Server.Basedir != "" || with.Volume.Kind != experiment.Directory {
		t.Errorf("%+v", with.Server)
	}
	said := strings.Join(p.Says, "\n")
	for _, words := range []string{"plugin_load_add; the sandbox loads no plugins", "may belong to plugins: server_audit_logging", "the server 32G", "the server 6G", "oltp_read_write"} {
		if !strings.Contains(said, words) {
			t.Errorf("it does not say %q:\n%s", words, said)
		}
	}
	if left := p.Steps[2].Left; !strings.Contains(left, "and a private server has its own") || p.Steps[2].Arm != "" {
		t.Errorf("%q", left)
	}
	if s := p.Steps[0]; !strings.Contains(s.Scaled, "for 18G, and 24M for the 128M it has now") || s.Path != "server.settings.innodb_buffer_pool_size" {
		t.Errorf("%+v", s)
	}
	steps := p.Stages[1]
	if len(steps.Experiment.Arms) != 3 || len(steps.Experiment.Pairs) != 2 || !steps.Experiment.Decided || !strings.HasPrefix(steps.Experiment.Name, "rehearse-mysql-3306-20261121t150405-") {
		t.Errorf("%s", steps.Text)
	}
	if got := Tried(steps.Experiment, "mysql/innodb-io-capacity"); !slices.Equal(got, []string{"innodb_io_capacity = 2000"}) {
		t.Errorf("arms of the rule: %q\n%s", got, steps.Text)
	}
	if got := Tried(all.Experiment, "mysql/innodb-io-capacity"); !slices.Equal(got, []string{AllAdvice}) {
		t.Errorf("arms of the rule: %q", got)
	}
}

func TestSmallDataKeepTheirSizes(t *testing.T) {
	s, db := mariadb()
	db.Set("innodb_data_size", stack.Int(300<<20), "test")
	p := proposed(t, s, planned(placed, "innodb_buffer_pool_size", 512<<20), Want{})
	if p.Scale != 1 || len(p.Stages) != 1 || p.Steps[0].Arm != AllAdvice || p.Steps[0].Scaled != "" {
		t.Fatalf("%+v", p)
	}
	now := armOf(t, p.Stages[0], AsIs)
	if _, set := now.Server.Settings["innodb_buffer_pool_size"]; set || now.Load.Rows*4*experiment.RowBytes < 290<<20 || now.Server.Memory != usualMemory {
		t.Errorf("%+v", now.Server)
	}
	if p.Stages[0].Experiment.Budget != defaultBudget {
		t.Errorf("budget %s", p.Stages[0].Experiment.Budget)
	}
}

func TestProposalOfPostgres(t *testing.T) {
	s, old := mariadb()
	db := stack.NewThing("postgres", "5432")
	db.Links = old.Links
	for name, v := range map[string]stack.Value{"flavor": stack.Text("postgres"), "version": stack.Text("15.14"), "version_num": stack.Int(150014), "logged_in": stack.Bool(true),
		"data_size": stack.Int(500 << 20), "connections_active": stack.Int(40), "data_checksums": stack.Bool(true), "wal_segment_size": stack.Int(64 << 20)} {
		db.Set(name, v, "test")
	}
	db.Setting("shared_buffers", stack.Int(128<<20), "test", stack.Origin{From: stack.FromFile})
	configured(db, map[string]stack.Value{"checkpoint_timeout": stack.Int(900), "wal_compression": stack.Text("lz4"), "synchronous_commit": stack.Text("off"), "log_line_prefix": stack.Text("%m [%p] "),
		"archive_mode": stack.Text("on"), "shared_preload_libraries": stack.Text("pg_stat_statements"), "pg_stat_statements.max": stack.Text("10000"), "work_mem": stack.Int(4 << 20),
		"random_page_cost": stack.Float(1.1), "autovacuum": stack.Bool(true), "data_directory": stack.Text("/srv/db/mysql"), "huge_pages": stack.Text("on"), "max_connections": stack.Int(30)})
	s.Add("test", stack.Observation{Things: []*stack.Thing{db}})
	s.Roles[0].DB = db.Ref
	p := proposed(t, s, planned(db.Ref, "shared_buffers", gigabyte, "max_wal_size", 4*gigabyte, "fsync", true, "max_connections", 20, "wal_segment_size", 16<<20), Want{Server: db.Ref})
	now := armOf(t, p.Stages[0], AsIs)
	want := map[string]string{"shared_buffers": "128MB", "checkpoint_timeout": "900s", "wal_compression": "lz4", "synchronous_commit": "off", "work_mem": "4MB", "random_page_cost": "1.1", "autovacuum": "on",
		"max_connections": "36"}
	if diff := cmp.Diff(want, now.Server.Settings); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"data_checksums": "on", "wal_segment_size": "64MB"}, now.Server.Create); diff != "" {
		t.Error(diff)
	}
	if now.Load.Threads != 16 || now.Server.Engine != "postgres" {
		t.Errorf("%+v %+v", now.Load, now.Server)
	}
	if s := p.Steps[4]; s.Path != "server.create.wal_segment_size" || s.Left != "" || p.Steps[3].Left == "" {
		t.Errorf("%+v", p.Steps)
	}
	said := strings.Join(p.Says, "\n")
	for _, words := range []string{"archive_mode; no WAL", "shared_preload_libraries; the sandbox loads no libraries", "huge_pages; no huge pages"} {
		if !strings.Contains(said, words) {
			t.Errorf("it does not say %q:\n%s", words, said)
		}
	}
}

func TestStepsOfOtherThings(t *testing.T) {
	s, db := mariadb()
	f := s.Find(stack.Ref{Kind: "filesystem", Name: "/srv"})
	dataset := stack.NewThing("dataset", "tank/db/data")
	dataset.Setting("recordsize", stack.Int(128<<10), "zfs", stack.Origin{From: stack.FromLocal})
	log, pool, logs := stack.NewThing("dataset", "tank/db/log"), stack.NewThing("pool", "tank"), stack.NewThing("filesystem", "/srv/log")
	dataset.Link("pool", pool.Ref)
	log.Link("pool", pool.Ref)
	logs.Link("dataset", log.Ref)
	pool.Link("disks", stack.Ref{Kind: "block", Name: "sda"})
	s.Add("test", stack.Observation{Things: []*stack.Thing{dataset, log, pool, logs, stack.NewThing("block", "sda"), stack.NewThing("postgres", "5432")}})
	db.Link("redo", logs.Ref)
	plan := planned(dataset.Ref, "recordsize", 16<<10, "quota", 5*gigabyte)
	for _, more := range []advise.Plan{planned(stack.Ref{Kind: "dataset", Name: "tank/db/log"}, "logbias", "latency"), planned(stack.Ref{Kind: "pool", Name: "tank"}, "autotrim", "on"),
		planned(stack.Ref{Kind: "host", Name: "db1"}, "vm_swappiness", 1, "thp_enabled", "never"), planned(stack.Ref{Kind: "postgres", Name: "5432"}, "fsync", true),
		planned(stack.Ref{Kind: "block", Name: "sda"}, "scheduler", "none"), planned(stack.Ref{Kind: "zfs", Name: "module"}, "zfs_arc_max", 1<<30)} {
		plan.Steps = append(plan.Steps, more.Steps...)
	}
	lefts := func(p Proposal) (all []string) {
		for _, s := range p.Steps {
			all = append(all, s.Left)
		}
		return all
	}
	p := proposed(t, s, plan, Want{Server: db.Ref})
	if len(p.Steps) != len(plan.Steps)-3 {
		t.Errorf("the step on another server and those on a dataset without its data are no part of it: %d steps of %d", len(p.Steps), len(plan.Steps))
	}
	if len(p.Stages) != 0 || slices.Contains(lefts(p), "") {
		t.Errorf("without ZFS and --allow-host %d stages: %q", len(p.Stages), lefts(p))
	}
	if !strings.Contains(p.Steps[2].Left, "--allow-host") {
		t.Error(p.Steps[2].Left)
	}
	f.Links["dataset"] = []stack.Ref{dataset.Ref}
	p = proposed(t, s, plan, Want{Server: db.Ref, Host: true})
	if p.Steps[0].Path != "volume.properties.recordsize" || p.Steps[0].Value != "16K" || p.Steps[4].Path != "host.vm.swappiness" || p.Steps[4].Value != "1" {
		t.Errorf("%+v", p.Steps)
	}
	for i, want := range []string{"", "no trial shows it", "does not hold the data", "the whole pool", "", "not a sysctl", "a disk that others use", "the ZFS module"} {
		if left := p.Steps[i].Left; want == "" && left != "" || !strings.Contains(left, want) {
			t.Errorf("step %d: %q, want %q", i+1, left, want)
		}
	}
	u := armOf(t, p.Stages[0], AllAdvice)
	if u.Volume.Kind != experiment.Dataset || u.Volume.Parent != "tank/db" || u.Volume.Properties["recordsize"] != "16K" || u.Host["vm.swappiness"] != "1" {
		t.Errorf("%+v %v", u.Volume, u.Host)
	}
	if now := armOf(t, p.Stages[0], AsIs); now.Volume.Properties["recordsize"] != "128K" || len(now.Host) != 0 {
		t.Errorf("%+v", now.Volume)
	}
}

func TestWithoutOne(t *testing.T) {
	s, db := mariadb()
	db.Set("innodb_data_size", stack.Int(100<<20), "test")
	p := proposed(t, s, planned(placed, "innodb_io_capacity", 2000, "sync_binlog", 1, "innodb_flush_neighbors", 0), Want{WithoutOne: true})
	steps := p.Stages[1].Experiment
	if diff := cmp.Diff([]experiment.Pair{{Arm: AllAdvice, Baseline: "without innodb_io_capacity = 2000"}, {Arm: AllAdvice, Baseline: "without sync_binlog = 1"},
		{Arm: AllAdvice, Baseline: "without innodb_flush_neighbors = 0"}}, steps.Pairs); diff != "" {
		t.Error(diff)
	}
	u := armOf(t, p.Stages[1], "without sync_binlog = 1")
	if diff := cmp.Diff(map[string]string{"innodb_io_capacity": "2000", "innodb_flush_neighbors": "0"}, u.Server.Settings); diff != "" {
		t.Error(diff)
	}
}

// What one rule asks for together is one arm.
func TestStepsOfOneRule(t *testing.T) {
	s, db := mariadb()
	plan := planned(db.Ref, "innodb_buffer_pool_size", gigabyte, "innodb_io_capacity", 1000, "innodb_io_capacity_max", 4000)
	for i := range plan.Steps[1:] {
		plan.Steps[i+1].Why = []string{"cross/mysql-io-capacity-low"}
	}
	p := proposed(t, s, plan, Want{Budget: time.Hour})
	const both = "innodb_io_capacity = 1000, innodb_io_capacity_max = 4000"
	if p.Steps[1].Arm != both || p.Steps[2].Arm != both || p.Steps[0].Arm == both {
		t.Errorf("arms %q, %q, %q", p.Steps[0].Arm, p.Steps[1].Arm, p.Steps[2].Arm)
	}
	if !slices.Equal(p.Steps[1].With, []int{3}) || !slices.Equal(p.Steps[2].With, []int{2}) || p.Steps[0].With != nil {
		t.Errorf("tried with %v, %v, %v", p.Steps[0].With, p.Steps[1].With, p.Steps[2].With)
	}
	hurried := proposed(t, s, plan, Want{Budget: 8 * time.Minute})
	for _, step := range hurried.Steps {
		if step.Arm == "" && step.With != nil {
			t.Errorf("step %d is not tried, and said to be with %v", step.Number, step.With)
		}
	}
	steps := p.Stages[1]
	if n := len(steps.Experiment.Arms); n != 3 {
		t.Errorf("%d arms, want as is, one step and one pair", n)
	}
	set := armOf(t, steps, both).Server.Settings
	if set["innodb_io_capacity"] != "1000" || set["innodb_io_capacity_max"] != "4000" {
		t.Errorf("the arm sets %v", set)
	}
	without := proposed(t, s, plan, Want{Budget: time.Hour, WithoutOne: true})
	if set := armOf(t, without.Stages[1], "without "+both).Server.Settings; set["innodb_io_capacity"] != "" || set["innodb_io_capacity_max"] != "" || set["innodb_buffer_pool_size"] == "" {
		t.Errorf("the arm without both sets %v", set)
	}
}

func TestBudgets(t *testing.T) {
	w, db := mariadb()
	db.Set("innodb_data_size", stack.Int(2*gigabyte), "test")
	plan := planned(placed, "innodb_io_capacity", 2000, "sync_binlog", 1, "innodb_flush_neighbors", 0, "innodb_log_buffer_size", 64<<20, "innodb_lru_scan_depth", 256, "innodb_purge_threads", 2)
	last, said := 0, map[string]bool{}
	for _, budget := range []time.Duration{6 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, 2 * time.Hour} {
		p := proposed(t, w, plan, Want{Budget: budget})
		tried, sum := 0, time.Duration(0)
		for _, s := range p.Steps {
			if s.Arm != "" {
				tried++
			} else if _, longer, ok := strings.Cut(s.Left, "by itself: "); ok && said[longer] {
			} else if ok {
				said[longer] = true
				more, err := time.ParseDuration(strings.Fields(longer)[0]) // what is said is so
				if q := proposed(t, w, plan, Want{Budget: budget + more}); err != nil || slices.ContainsFunc(q.Steps, func(s Step) bool { return s.Arm == "" }) {
					t.Errorf("%s: %q, which is not so", budget, s.Left)
				}
			} else {
				t.Errorf("%s: %q", budget, s.Left)
			}
		}
		for _, stage := range p.Stages {
			takes := experiment.Estimate(stage.Experiment)
			if x := stage.Experiment; x.Budget > budget || takes.Least-takes.Loading > x.Budget {
				t.Errorf("%s: stage %s has %s and takes %+v", budget, stage.Name, x.Budget, takes)
			}
			if sum += takes.Least; stage.Name != stageAll {
				sum -= takes.Loading // the data are there
			}
		}
		if sum > budget || tried < last {
			t.Errorf("%s: %d steps, at least %s", budget, tried, sum)
		}
		t.Logf("%s: %d steps, scale %.2f, at least %s, trials of %s after %s", budget, tried, p.Scale, sum, p.Stages[0].Experiment.Measure, p.Stages[0].Experiment.Warmup)
		last = tried
	}
	if last != len(plan.Steps) {
		t.Errorf("two hours leave time for %d steps", last)
	}
	_, err := Propose(w, known(), plan, nil, Want{Budget: 45 * time.Second})
	if err == nil || !strings.Contains(err.Error(), "is too short: the server as it is and with all advice take at least ") || !strings.HasPrefix(hintOf(err), "--max-time ") {
		t.Errorf("%v, %s", err, hintOf(err))
	}
}

func hintOf(err error) string {
	if h, ok := errors.AsType[hint.Hinted](err); ok {
		return h.Hint()
	}
	return ""
}

func TestProposalsThatCannotBe(t *testing.T) {
	for name, c := range map[string]struct {
		with        func(*stack.Stack, *stack.Thing)
		want        Want
		error, hint string
	}{
		"no server":      {with: func(s *stack.Stack, _ *stack.Thing) { s.Things = s.Things[:1] }, error: "no MariaDB, MySQL or PostgreSQL", hint: "--sandbox"},
		"another":        {want: Want{Server: stack.Ref{Kind: "mysql", Name: "3307"}}, error: "no server mysql:3307", hint: "plumb stack"},
		"no such engine": {want: Want{Server: stack.Ref{Kind: "host", Name: "db1"}}, error: "no private server like host:db1", hint: "PostgreSQL can"},
		"two": {with: func(s *stack.Stack, _ *stack.Thing) {
			s.Add("test", stack.Observation{Things: []*stack.Thing{stack.NewThing("postgres", "5432")}})
		}, error: "2 servers here: mysql:3306, postgres:5432", hint: "--server mysql:3306"},
		"remote": {with: func(_ *stack.Stack, db *stack.Thing) { db.Set("remote", stack.Bool(true), "test") }, error: "on another machine", hint: "on the machine"},
		"no login": {with: func(s *stack.Stack, db *stack.Thing) {
			db.Set("logged_in", stack.Bool(false), "test")
			s.Add("test", stack.Observation{Gaps: []stack.Gap{{Of: db.Ref, Facts: []string{"*"}, Why: "it refused", Hint: "give a login"}}})
		}, error: "could not be read", hint: "give a login"},
		"no version":     {with: func(_ *stack.Stack, db *stack.Thing) { delete(db.Facts, "version") }, error: "version of mysql:3306 is not known", hint: "plumb stack"},
		"no place":       {with: func(_ *stack.Stack, db *stack.Thing) { delete(db.Links, "data") }, error: "find a place", hint: "--dir"},
		"no memory":      {with: func(s *stack.Stack, _ *stack.Thing) { s.Host().Set("memory_available", stack.Int(100<<20), "test") }, error: "could have 50M of memory, half of what is free here, but needs at least 128M", hint: "free memory"},
		"no such volume": {want: Want{Volume: "gp9"}, error: `no volume is called "gp9"`, hint: "gp3"},
	} {
		t.Run(name, func(t *testing.T) {
			s, db := mariadb()
			if c.with != nil {
				c.with(s, db)
			}
			_, err := Propose(s, known(), planned(placed, "sync_binlog", 1), nil, c.want)
			if err == nil || !strings.Contains(err.Error(), c.error) || !strings.Contains(hintOf(err), c.hint) {
				t.Errorf("%v\nhint: %s", err, hintOf(err))
			}
		})
	}
}

func TestVolumeOfItsOwn(t *testing.T) {
	s, _ := mariadb()
	p := proposed(t, s, planned(placed, "sync_binlog", 1), Want{Volume: "gp3", Workload: experiment.TPCC, Threads: 3, Data: 300 << 20})
	u := armOf(t, p.Stages[0], AsIs)
	if u.Volume.Kind != experiment.Loop || u.Volume.Profile != "gp3" || u.Volume.Filesystem != "ext4" || int64(u.Volume.Size)*2 < 5*experiment.DataBytes(u) || u.Load.Warehouses != 2 || u.Load.Threads != 3 {
		t.Errorf("%+v %+v", u.Volume, u.Load)
	}
	if p.Title != "MariaDB 10.11.14 on ext4 limited to gp3" || !slices.Contains(p.Stages[0].Experiment.Checks, experiment.Consistency) {
		t.Errorf("%s, %q", p.Title, p.Stages[0].Experiment.Checks)
	}
}

func TestMemoryOfTheGroup(t *testing.T) {
	s, db := mariadb()
	group := stack.NewThing("cgroup", "/db")
	group.Set("memory_limit", stack.Int(768<<20), "test")
	group.Set("cpu_limit", stack.Float(1.5), "test")
	s.Add("test", stack.Observation{Things: []*stack.Thing{group}})
	s.Find(stack.Ref{Kind: "process", Name: "42"}).Link("cgroup", group.Ref)
	db.Set("innodb_data_size", stack.Int(100<<20), "test")
	p := proposed(t, s, planned(placed, "innodb_buffer_pool_size", 499<<20), Want{})
	if u := armOf(t, p.Stages[0], AllAdvice); u.Server.Memory != 768<<20 || u.Server.Settings["innodb_buffer_pool_size"] != "499M" || p.Scale != 1 {
		t.Errorf("%+v, scale %g", u.Server, p.Scale)
	}
	if !strings.Contains(strings.Join(p.Says, "\n"), "The server may use 1.5 CPUs") {
		t.Errorf("%q", p.Says)
	}
}

func TestProgramOfTheSandbox(t *testing.T) {
	for exe, c := range map[string]struct {
		deleted          bool
		version, basedir string
	}{
		"/usr/sbin/mariadbd":          {false, "10.11.14", ""},
		"/opt/mariadb-11/bin/mysqld":  {false, "10.11.14", ""},
		"/home/dba/my/bin/mysqld":     {false, "10.11.14", "/home/dba/my"},
		"/usr/sbin/mariadbd (latest)": {true, "10.11", ""},
	} {
		s, _ := mariadb()
		process := s.Find(stack.Ref{Kind: "process", Name: "42"})
		process.Set("exe", stack.Text(exe), "test")
		process.Set("exe_deleted", stack.Bool(c.deleted), "test")
		p := proposed(t, s, planned(placed, "sync_binlog", 1), Want{})
		if u := armOf(t, p.Stages[0], AsIs); u.Server.Version != c.version || u.Server.Basedir != c.basedir {
			t.Errorf("%s: %q %q", exe, u.Server.Version, u.Server.Basedir)
		}
	}
}

// What is made for a rehearsal is tried in the set-up in which it was looked
// at, and can be kept as JSON though it has no name.
func TestLikeALook(t *testing.T) {
	look, err := Observe(Observation{Engine: "mariadb", Memory: gigabyte, Data: 512 << 20, Time: 20 * time.Second, Want: Want{Volume: "iops=200"}})
	if err != nil {
		t.Fatal(err)
	}
	s, db := mariadb()
	configured(db, map[string]stack.Value{"innodb_buffer_pool_size": stack.Int(128 << 20), "tmpdir": stack.Text("/box/run")})
	like := look.Experiment.Arms[0].Setup
	p := proposed(t, s, planned(placed, "innodb_buffer_pool_size", 640<<20, "innodb_flush_neighbors", 0), Want{Server: placed, Settings: map[string]string{}, Like: &like})
	now := armOf(t, p.Stages[0], AsIs)
	if experiment.LayoutKey(now) != experiment.LayoutKey(like) || len(now.Server.Settings) != 0 || now.Server.Memory != gigabyte || p.Scale != 1 || p.Stages[0].Experiment.Fill == 0 {
		t.Errorf("%+v %+v", now.Volume, now.Server)
	}
	if with := armOf(t, p.Stages[0], AllAdvice); with.Server.Settings["innodb_buffer_pool_size"] != "640M" {
		t.Errorf("%+v", with.Server)
	}
	text, err := json.Marshal(p)
	var back Proposal
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if err != nil || !back.Server.IsZero() || len(back.Stages) != 2 || !strings.HasPrefix(p.Stages[0].Experiment.Name, "rehearse-default-mariadb-2026") {
		t.Errorf("%v: %+v", err, back.Server)
	}
}
