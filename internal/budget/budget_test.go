package budget

import (
	"testing"

	"plumb/internal/stack"
)

const src = "test"

func ints(t *stack.Thing, facts map[string]int64) *stack.Thing {
	for name, n := range facts {
		t.Set(name, stack.Int(n), src)
	}
	return t
}

// mariadb is a server whose settings are all known.
func mariadb() *stack.Thing {
	t := ints(stack.NewThing("mysql", "mysql:3306"), map[string]int64{
		"innodb_buffer_pool_size": 4 * gib, "innodb_log_buffer_size": 16 * mib, "key_buffer_size": 128 * mib,
		"table_open_cache": 2000, "net_buffer_length": 16 * kib, "thread_stack": 292 * kib, "sort_buffer_size": 2 * mib,
		"join_buffer_size": 256 * kib, "read_buffer_size": 128 * kib, "read_rnd_buffer_size": 256 * kib,
		"binlog_cache_size": 32 * kib, "max_used_connections": 10, "max_connections": 151,
	})
	t.Set("performance_schema", stack.Bool(false), src)
	t.Link("process", stack.Ref{Kind: "process", Name: "7"})
	return t
}

func hostWith(things ...*stack.Thing) *stack.Stack {
	host := ints(stack.NewThing("host", "db1"), map[string]int64{"memory_total": 16 * gib, "memory_available": 10 * gib})
	process := ints(stack.NewThing("process", "7"), map[string]int64{"rss": 5 * gib})
	var s stack.Stack
	s.Add("test", stack.Observation{Things: append(things, host, process)})
	return &s
}

func memoryOf(t *testing.T, s *stack.Stack, name string) *stack.Thing {
	t.Helper()
	m := s.Find(stack.Ref{Kind: "memory", Name: name})
	if m == nil {
		t.Fatalf("no memory:%s", name)
	}
	return m
}

func TestHostBudget(t *testing.T) {
	s := hostWith(mariadb())
	Apply(s)
	m := memoryOf(t, s, "host")
	low, _ := m.Int("expected_low")
	high, _ := m.Int("expected_high")
	// pool 4.12–4.4 GiB, rest of the machine 16-10-5 = 1 GiB, small parts.
	if low < 5*gib || high > 6*gib || low >= high {
		t.Errorf("expected %d to %d, want within 5 to 6 GiB", low, high)
	}
	worst, _ := m.Int("worst_high")
	if worst-high < 141*2*mib {
		t.Errorf("worst %d is not above expected %d by the session buffers of 141 more connections", worst, high)
	}
	if got := s.Find(stack.Ref{Kind: "mysql", Name: "mysql:3306"}).Links["memory"]; len(got) != 1 || got[0].Name != "host" {
		t.Errorf("memory link is %v, want memory:host", got)
	}
}

// TestKeyCache: a key cache that no table uses is a reservation.
func TestKeyCache(t *testing.T) {
	spare := func(tables int64) int64 {
		db := mariadb()
		if tables >= 0 {
			db.Set("myisam_tables", stack.Int(tables), src)
		}
		s := hostWith(db)
		Apply(s)
		m := memoryOf(t, s, "host")
		if n, _ := m.Int("servers"); n != 1 {
			t.Errorf("%d servers draw on the host, want 1", n)
		}
		n, _ := m.Int("spare")
		return n
	}
	if used, unknown, unused := spare(3), spare(-1), spare(0); used != unknown || unused-used != 128*mib {
		t.Errorf("spare is %d with MyISAM tables, %d when not known, %d without", used, unknown, unused)
	}
}

func TestUnknownSettingLeavesOnlyALowerBound(t *testing.T) {
	db := mariadb()
	delete(db.Facts, "max_used_connections")
	s := hostWith(db)
	Apply(s)
	m := memoryOf(t, s, "host")
	if _, ok := m.Int("expected"); ok {
		t.Error("expected is set although max_used_connections is unknown")
	}
	if known, _ := m.Int("known"); known < 5*gib {
		t.Errorf("known = %d, want the sum of the known parts", known)
	}
	if g, ok := s.GapFor(m.Ref, "expected"); !ok || g.Why != "needs mysql:mysql:3306#max_used_connections, which is not known" {
		t.Errorf("gap = %+v", g)
	}
}

func TestLimitedControlGroup(t *testing.T) {
	group := ints(stack.NewThing("cgroup", "/db"), map[string]int64{"memory_limit": 2 * gib, "memory_anon": gib})
	s := hostWith(mariadb(), group)
	s.Find(stack.Ref{Kind: "process", Name: "7"}).Link("cgroup", group.Ref)
	Apply(s)
	m := memoryOf(t, s, "/db")
	if spare, _ := m.Int("spare"); spare >= 0 {
		t.Errorf("spare = %d: a 4 GiB pool fits into 2 GiB?", spare)
	}
	if got := s.Find(stack.Ref{Kind: "mysql", Name: "mysql:3306"}).Links["memory"]; len(got) != 1 || got[0].Name != "/db" {
		t.Errorf("memory link is %v, want the group's domain", got)
	}
	if worst, _ := m.Int("worst_low"); worst == 0 {
		t.Error("the group's worst case is missing")
	}
}

func TestUnlimitedGroupIsNoDomain(t *testing.T) {
	group := stack.NewThing("cgroup", "/")
	group.SetAbsent("memory_limit", src)
	s := hostWith(mariadb(), group)
	s.Find(stack.Ref{Kind: "process", Name: "7"}).Link("cgroup", group.Ref)
	Apply(s)
	if s.Find(stack.Ref{Kind: "memory", Name: "/"}) != nil {
		t.Error("a group without a limit became a memory domain")
	}
}

func TestARC(t *testing.T) {
	for name, tc := range map[string]struct {
		arcMax, wantExpected int64
	}{
		"set":        {arcMax: 3 * gib, wantExpected: 3 * gib},
		"left_alone": {arcMax: 0, wantExpected: gib},
	} {
		t.Run(name, func(t *testing.T) {
			zfs := ints(stack.NewThing("zfs", "module"), map[string]int64{"arc_size": gib, "arc_limit": 3 * gib, "zfs_arc_max": tc.arcMax})
			s := hostWith(mariadb(), zfs, stack.NewThing("pool", "tank"))
			for _, d := range compute(s) {
				for _, p := range d.Parts {
					if p.Name == "ARC" && (p.Expected != exactly(tc.wantExpected) || p.Worst != exactly(3*gib)) {
						t.Errorf("ARC expected %v worst %v", p.Expected, p.Worst)
					}
				}
			}
		})
	}
}

func TestRemoteServerDrawsOnNothingHere(t *testing.T) {
	db := mariadb()
	db.Set("remote", stack.Bool(true), src)
	s := hostWith(db)
	for _, d := range compute(s) {
		if len(d.Servers) > 0 {
			t.Errorf("%v counts a remote server", d.Ref)
		}
	}
}

func TestNothingKnownOfTheHost(t *testing.T) {
	if got := compute(&stack.Stack{}); got != nil {
		t.Errorf("got %v", got)
	}
}

// TestHugePages: 16 GiB in all, 10 available. Six are in use: five by the
// server, of which four are huge pages that its RSS does not show.
func TestHugePages(t *testing.T) {
	for name, tc := range map[string]struct {
		db                *stack.Thing
		rss, huge, shared int64
		want              Range
	}{
		"mariadb":          {mariadb(), gib, 4 * gib, 0, exactly(gib)},
		"none":             {mariadb(), 5 * gib, 0, 0, exactly(gib)},
		"postgres":         {stack.NewThing("postgres", "postgres:5432"), gib, 2 * mib, 4 * gib, exactly(gib)},
		"postgres_without": {stack.NewThing("postgres", "postgres:5432"), 5 * gib, 0, 4 * gib, exactly(gib)},
		"not_known":        {mariadb(), 5 * gib, -1, 0, upTo(6 * gib)},
	} {
		t.Run(name, func(t *testing.T) {
			s := hostWith(tc.db)
			tc.db.Link("process", stack.Ref{Kind: "process", Name: "7"})
			if tc.shared > 0 {
				tc.db.Set("shared_buffers", stack.Int(tc.shared), src)
			}
			s.Host().Set("huge_pages_total", stack.Int(2048), src)
			process := s.Find(stack.Ref{Kind: "process", Name: "7"})
			process.Set("rss", stack.Int(tc.rss), src)
			if tc.huge >= 0 {
				process.Set("huge_pages", stack.Int(tc.huge), src)
			}
			all := compute(s)
			for _, p := range all[len(all)-1].Parts {
				if p.Name == "kernel and other processes" && p.Expected != tc.want {
					t.Errorf("the rest is %v, want %v", p.Expected, tc.want)
				}
			}
		})
	}
}

// TestOwnIsOfOneServer: what is one server's own is counted against what it takes alone, and is no more than the others leave.
func TestOwnIsOfOneServer(t *testing.T) {
	second := func() *stack.Thing {
		p := mariadb()
		p.Ref.Name, p.Links = "mysql:3307", map[string][]stack.Ref{}
		p.Link("process", stack.Ref{Kind: "process", Name: "8"})
		return p
	}
	for name, c := range map[string]struct {
		arcMax, limit, least, most int64 // of the limit that comes out
	}{
		"enough":             {0, 6 * gib, 6 * gib, 6 * gib},
		"the others' is not": {0, 14 * gib, 10 * gib, 12 * gib},     // 16, less the other server and the rest
		"an ARC that stays":  {6 * gib, 14 * gib, 4 * gib, 6 * gib}, // and less what it may take
		"less than it takes": {0, gib, gib, gib},
	} {
		db := mariadb()
		zfs := ints(stack.NewThing("zfs", "module"), map[string]int64{"arc_size": gib, "arc_limit": 6 * gib, "zfs_arc_max": c.arcMax})
		s := hostWith(db, second(), zfs, stack.NewThing("pool", "tank"), ints(stack.NewThing("process", "8"), map[string]int64{"rss": gib / 4}))
		s.Find(stack.Ref{Kind: "process", Name: "7"}).Set("rss", stack.Int(4*gib), src)
		Apply(s)
		was, _ := memoryOf(t, s, "host").Int("limit")
		Own(s, db.Ref, c.limit)
		own, limit := memoryOf(t, s, db.Ref.String()), int64(0)
		limit, _ = own.Int("limit")
		high, known := own.Int("expected_high")
		spare, _ := own.Int("spare")
		if servers, _ := own.Int("servers"); limit < c.least || limit > c.most || !known || high > 6*gib || spare != limit-high || servers != 1 {
			t.Errorf("%s: limit %d, expected up to %d, spare %d", name, limit, high, spare)
		}
		if got := s.Find(db.Ref).Links["memory"]; len(got) != 1 || got[0] != own.Ref {
			t.Errorf("%s: it draws on %v", name, got)
		}
		if now, _ := memoryOf(t, s, "host").Int("limit"); now != was {
			t.Errorf("%s: the host has %d bytes, and had %d", name, now, was)
		}
	}
	s := hostWith()
	Own(s, stack.Ref{Kind: "mysql", Name: "none"}, gib)
	if len(s.OfKind("memory")) > 0 {
		t.Error("a server that is not there has memory")
	}
}
