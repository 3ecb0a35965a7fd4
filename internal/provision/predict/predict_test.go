package predict_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plumb/internal/advise"
	"plumb/internal/budget"
	"plumb/internal/catalog"
	"plumb/internal/check"
	"plumb/internal/product"
	"plumb/internal/provision"
	"plumb/internal/provision/predict"
	"plumb/internal/stack"
	"plumb/test/captured"
)

func knowledge(t *testing.T) check.Knowledge {
	t.Helper()
	k, err := captured.Knowledge()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// recorded reads a captured host, and gives its one server and the directory of that.
func recorded(t *testing.T, name string, cat *catalog.Catalog) (s *stack.Stack, db stack.Ref, data string) {
	t.Helper()
	s, err := captured.Stack(t.Context(), "../../../fixtures/"+name+".tape.gz", cat)
	if err == nil {
		db, data, err = captured.Server(s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s, db, data
}

// planned is a layout on a new pool: a dataset above, one for the data and one for the log.
func planned(db stack.Ref, data string, log provision.Volume) predict.Layout {
	return predict.Layout{Server: db, FSType: "zfs", Pool: "tank",
		Made:    map[string]stack.Value{"ashift": stack.Int(12), "layout": stack.Text("mirror"), "redundant": stack.Bool(true)},
		Volumes: []provision.Volume{{Dataset: "tank/db"}, {Role: "data", Dataset: "tank/db/data", At: data}, log}}
}

// What the source documents set up by hand comes of the rules: compression and atime above, records by pages and disk
// where the data lie, and the log with the record that it inherits.
func TestPredictGivesBirthProperties(t *testing.T) {
	k := knowledge(t)
	redo := map[string]string{"recordsize": "16384"}
	wal := func(data string) string { return data + "/pg_wal" }
	for _, c := range []struct {
		host   string
		flash  bool // the new pool's disk
		record map[string]string
		role   string
		log    func(data string) string
	}{
		{"mariadb-ext4", true, redo, "redo", func(data string) string { return data + "-log" }},
		{"mysql-9.7", false, redo, "redo", func(data string) string { return data + "/#innodb_redo" }},
		{"postgres-17", true, map[string]string{"recordsize": "32768"}, "wal", wal},
		{"postgres-17", false, map[string]string{}, "wal", wal},
	} {
		t.Run(fmt.Sprintf("%s, flash %t", c.host, c.flash), func(t *testing.T) {
			s, db, data := recorded(t, c.host, k.Catalog)
			disk := stack.NewThing("block", "nvme9n1")
			disk.Set("layer", stack.Text("disk"), "test")
			disk.Set("solid_state", stack.Bool(c.flash), "test")
			s.Add("test", stack.Observation{Things: []*stack.Thing{disk}})
			log := provision.Volume{Role: c.role, Dataset: "tank/db/log", At: c.log(data)}
			l := planned(db, data, log)
			l.Disks = []stack.Ref{disk.Ref}
			p := predict.Predict(s, l, k.Catalog, k.Verdicts)
			want := []map[string]string{{"atime": "off", "compression": "lz4"}, c.record, {}}
			for i, v := range p.Volumes {
				if diff := cmp.Diff(want[i], v.Properties); diff != "" {
					t.Errorf("%s: %s", v.Dataset, diff)
				}
			}
			for _, f := range p.Left {
				t.Errorf("above a note is left: %s %s", f.Rule.ID, f.Cases[0].Title)
			}
			if len(p.Waits) == 0 {
				t.Error("nothing waits for a load: then its counters were taken for those of the server that is to come")
			}
			for role, at := range map[string]string{"data": data, c.role: log.At} {
				to := p.Stack.Find(db).Links[role]
				if len(to) != 1 || p.Stack.Find(to[0]) == nil || p.Stack.Find(to[0]).Text("mountpoint") != at {
					t.Errorf("%s lies on %v, want what is mounted at %s", role, to, at)
				}
			}
			if s.Find(stack.Ref{Kind: "pool", Name: "tank"}) != nil {
				t.Error("the stack that was read has the pool: it was changed")
			}
		})
	}
}

// What the disks of a plan are is unknown where not all of them were seen: it is neither that of those that were, nor nothing.
func TestUnseenDisksAreUnknown(t *testing.T) {
	k := knowledge(t)
	s, db, data := recorded(t, "postgres-17", k.Catalog)
	flash := stack.NewThing("block", "nvme9n1")
	flash.Set("layer", stack.Text("disk"), "test")
	flash.Set("solid_state", stack.Bool(true), "test")
	s.Add("test", stack.Observation{Things: []*stack.Thing{flash}})
	for _, disks := range [][]stack.Ref{nil, {flash.Ref}} {
		l := planned(db, data, provision.Volume{Role: "wal", Dataset: "tank/db/log", At: data + "/pg_wal"})
		l.Disks, l.Unseen = disks, true
		told := 0
		for _, f := range l.Stack(s, k.Catalog).OfKind("filesystem") {
			if f.Text("source") != "tank/db/data" {
				continue
			}
			told++
			for _, fact := range []string{"solid_state", "write_cache", "virtual_disks", "disk_names", "cloud_volume"} {
				if v, known := f.Facts[fact]; known {
					t.Errorf("of %d disks: %s is %v", len(disks), fact, v)
				}
			}
		}
		if told != 1 {
			t.Errorf("%d filesystems hold the data", told)
		}
	}
}

// What is there is not made: a dataset that exists keeps its properties, and gets no birth values.
func TestPredictLeavesWhatIsThere(t *testing.T) {
	k := knowledge(t)
	s, db, data := recorded(t, "mariadb-zfs-128K", k.Catalog)
	fs, _ := s.Follow(s.Find(db), "data")
	ds := fs[0].Text("source")
	l := predict.Layout{Server: db, FSType: fs[0].Text("fstype"), Pool: "db1", Volumes: []provision.Volume{{Role: "data", Dataset: ds, At: fs[0].Text("mountpoint")}}}
	p := predict.Predict(s, l, k.Catalog, k.Verdicts)
	if len(p.Volumes[0].Properties) > 0 {
		t.Errorf("birth properties %v for %s with %s, which is there", p.Volumes[0].Properties, ds, data)
	}
	set := func(steps []advise.Step) bool {
		return slices.ContainsFunc(steps, func(s advise.Step) bool { return s.Knob.Of.Name == ds && s.Knob.Name == "recordsize" })
	}
	if !set(p.Settings) || !set(predict.Settings(s, l, k.Catalog, k.Verdicts)) {
		t.Errorf("its recordsize is 128K, and nobody sets it: %v", p.Settings)
	}
}

// A server is given no more than its memory, and nothing of another server is touched.
func TestPredictKeepsToItsServer(t *testing.T) {
	k := knowledge(t)
	s, db, data := recorded(t, "two-servers", k.Catalog)
	p := predict.Predict(s, planned(db, data, provision.Volume{}), k.Catalog, k.Verdicts)
	for _, step := range p.Settings {
		if product.IsServer(step.Knob.Of.Kind) && step.Knob.Of != db {
			t.Errorf("%s is set, and the plan is for %s", step.Knob, db)
		}
	}
}

// large gives a host with 64 GiB of memory and one server, which has a buffer pool of that size and more data.
func large(t *testing.T, k check.Knowledge, pool int64) (s *stack.Stack, ref stack.Ref, data string) {
	t.Helper()
	s, ref, data = recorded(t, "mariadb-ext4", k.Catalog)
	ints(s.Find(ref), map[string]int64{"innodb_buffer_pool_size": pool, "innodb_data_size": 200 * gib, "buffer_pool_reads": 10 << 20, "innodb_page_size": 16 << 10, "uptime": 9000})
	s.Find(ref).Set("buffer_pool_reads_per_second", stack.Float(900), "test")
	ints(s.Host(), map[string]int64{"memory_total": 64 * gib, "memory_available": 55 * gib})
	budget.Apply(s)
	return s, ref, data
}

const gib = 1 << 30

func ints(t *stack.Thing, facts map[string]int64) {
	for name, n := range facts {
		t.Set(name, stack.Int(n), "test")
	}
}

// pools gives what the buffer pool of a server is set to; 0: it is left as it is.
func pools(steps []advise.Step, ref stack.Ref) (to int64) {
	for _, step := range steps {
		if step.Knob == (stack.Knob{Of: ref, Name: "innodb_buffer_pool_size"}) {
			to, _ = step.To.Int()
		}
	}
	return to
}

// The memory that a spec gives a server is its own: what the rest of the host takes, an ARC above all, is not counted against it, and
// it is not given more for what the host has.
func TestMemoryIsTheServersOwn(t *testing.T) {
	k := knowledge(t)
	s, ref, data := large(t, k, 4*gib)
	ints(s.Host(), map[string]int64{"memory_available": 15 * gib})
	var see stack.Observation
	ints(see.New("zfs", "module"), map[string]int64{"arc_size": 40 * gib, "arc_limit": 60 * gib, "zfs_arc_max": 0})
	see.New("pool", "other")
	s.Add("test", see)
	budget.Apply(s)
	for memory, want := range map[int64][2]int64{24 * gib: {16 * gib, 24 * gib}, 8 * gib: {5 * gib, 8 * gib}} {
		l := planned(ref, data, provision.Volume{})
		l.Memory = memory
		if to := pools(predict.Settings(s, l, k.Catalog, k.Verdicts), ref); to < want[0] || to > want[1] {
			t.Errorf("with %d bytes of memory, the buffer pool gets %d", memory, to)
		}
		if d := l.Demand(s, nil); d.Over || d.Unknown != "" || d.Least < 4*gib {
			t.Errorf("of %d bytes of memory: %+v", memory, d)
		}
	}
	little, none := planned(ref, data, provision.Volume{}), planned(ref, data, provision.Volume{})
	little.Memory = 2 * gib
	if d := little.Demand(s, nil); !d.Over || d.Least < 4*gib {
		t.Errorf("a buffer pool of 4 GiB in 2 GiB of memory: %+v", d)
	}
	lower := []advise.Step{{Knob: stack.Knob{Of: ref, Name: "innodb_buffer_pool_size"}, To: stack.Int(gib)}}
	if d := little.Demand(s, lower); d.Over || d.Unknown != "" {
		t.Errorf("once it is lowered: %+v", d)
	}
	if d := none.Demand(s, nil); d != (predict.Demand{}) {
		t.Errorf("nothing is said of its memory: %+v", d)
	}
}

// What is not known of a server's memory is not taken for nothing: nobody says then that it keeps to its own.
func TestUnknownMemoryIsNotEnough(t *testing.T) {
	k := knowledge(t)
	s, ref, data := large(t, k, 4*gib)
	l := planned(ref, data, provision.Volume{})
	l.Memory = 8 * gib
	for what, c := range map[string]struct {
		of   stack.Ref
		fact string
		want string
	}{
		"a part": {ref, "max_used_connections", "needs " + ref.String() + "#max_used_connections, which is not known"},
		"all":    {s.Host().Ref, "memory_total", "the memory of the host is not known"},
	} {
		blind := s.Clone()
		delete(blind.Find(c.of).Facts, c.fact)
		if what == "all" {
			delete(blind.Find(ref).Links, "memory")
		}
		if d := l.Demand(blind, nil); d.Over || d.Unknown != c.want {
			t.Errorf("%s: %+v", what, d)
		}
	}
	delete(s.Find(ref).Facts, "max_used_connections")
	l.Memory = 2 * gib
	if d := l.Demand(s, nil); !d.Over || d.Unknown != "" {
		t.Errorf("what is known is too much already: %+v", d)
	}
}

// A buffer pool that was set before for more than the spec gives the server is lowered, and what is said of the memory then is of the
// pool as it will be. What check says goes by the memory of the host alone.
func TestThePoolKeepsToItsMemory(t *testing.T) {
	k := knowledge(t)
	for _, c := range []struct{ pool, memory, least, most int64 }{
		{12 * gib, 8 * gib, 4 * gib, 6 * gib},
		{15 * gib / 2, 8 * gib, 4 * gib, 6 * gib},
		{80 * gib, 0, 32 * gib, 32 * gib}, // more than the host has
		{60 * gib, 0, 32 * gib, 32 * gib}, // nearly all that it has
		{80 * gib, 8 * gib, 4 * gib, 6 * gib},
		{4 * gib, 8 * gib, 0, 0},
	} {
		s, ref, data := large(t, k, c.pool)
		l := planned(ref, data, provision.Volume{})
		l.Memory = c.memory
		p := predict.Predict(s, l, k.Catalog, k.Verdicts)
		if to := pools(p.Settings, ref); to < c.least || to > c.most {
			t.Errorf("%+v: the pool is set to %d", c, to)
		}
		for _, f := range p.Left {
			t.Errorf("%+v: above a note is left: %s %s", c, f.Rule.ID, f.Cases[0].Title)
		}
		if d := l.Demand(s, p.Settings); d.Over || d.Unknown != "" {
			t.Errorf("%+v: %+v", c, d)
		}
	}
}

// scheduled gives a disk the scheduler that a rule with the harm slow is about.
func scheduled(d *stack.Thing) {
	for name, v := range map[string]stack.Value{"name": stack.Text(d.Ref.Name), "layer": stack.Text("disk"), "scheduler": stack.Text("bfq"), "virtual_disk": stack.Bool(false), "transport": stack.Text("ata"), "pools": stack.List(nil)} {
		d.Set(name, v, "test")
	}
}

// What the rules say of the disks under a server is said of it: of those it lies on, and of those it will lie on. Of other
// disks nothing is.
func TestPredictJudgesTheDisksUnderIt(t *testing.T) {
	k := knowledge(t)
	s, db, data := recorded(t, "mariadb-ext4", k.Catalog)
	var under []stack.Ref
	for _, b := range s.OfKind("block") {
		if slices.Contains(b.List("servers"), db.String()) {
			scheduled(b)
			under = append(under, b.Ref)
		}
	}
	if len(under) == 0 {
		t.Fatal("the host shows no disk under its server")
	}
	var see stack.Observation
	for _, name := range []string{"planned", "others"} {
		b := see.New("block", name)
		scheduled(b)
		b.Set("roles", stack.List([]string{"data"}), "test")
		b.Set("servers", stack.List([]string{"postgres:5432"}), "test")
	}
	s.Add("test", see)
	l := planned(db, data, provision.Volume{})
	l.Disks = []stack.Ref{{Kind: "block", Name: "planned"}}
	set := func(steps []advise.Step, of stack.Ref) bool {
		return slices.ContainsFunc(steps, func(s advise.Step) bool { return s.Knob == stack.Knob{Of: of, Name: "scheduler"} })
	}
	steps := predict.Predict(s, l, k.Catalog, k.Verdicts).Settings
	for _, of := range append(under, l.Disks...) {
		if !set(steps, of) {
			t.Errorf("the scheduler of %s is left as it is: %v", of, steps)
		}
	}
	l.Disks = nil
	steps = predict.Settings(s, l, k.Catalog, k.Verdicts)
	if others := (stack.Ref{Kind: "block", Name: "others"}); !set(steps, under[0]) || set(steps, others) {
		t.Errorf("of the disks under the server %v, and not %s: %v", under, others, steps)
	}
	left, _ := predict.Left(s, l, k.Catalog, k.Verdicts)
	if !slices.ContainsFunc(left, func(f advise.Finding) bool { return f.Rule.ID == "block/scheduler-bfq" }) {
		t.Error("what check says of its disk is not left")
	}
}

// Nothing above a note is left on the hosts that there are most of: with swap and huge pages as they come, little memory or much, and
// disks with sectors of 4 KiB.
func TestCommonHosts(t *testing.T) {
	k := knowledge(t)
	memory := func(size, swap int64) func(*stack.Thing) {
		return func(h *stack.Thing) { // of which the kernel keeps a part free
			ints(h, map[string]int64{"memory_total": size, "memory_available": size * 8 / 10, "swap_total": swap, "vm_min_free_kbytes": min(size/20>>10, 67584)})
		}
	}
	hosts := map[string]func(*stack.Thing){
		"as it comes": func(h *stack.Thing) {
			h.Set("thp_enabled", stack.Text("always"), "test")
			h.Set("thp_defrag", stack.Text("madvise"), "test")
			ints(h, map[string]int64{"swap_total": 8 * gib, "vm_swappiness": 60})
		},
		"swap that is never used": func(h *stack.Thing) { ints(h, map[string]int64{"swap_total": 8 * gib, "vm_swappiness": 0}) },
		"little memory":           memory(gib/2, 0), "a GiB and swap": memory(gib, gib), "much memory": memory(512*gib, 0),
	}
	for _, name := range []string{"mariadb-ext4", "mysql-9.7", "postgres-17"} {
		recorded, db, data := recorded(t, name, k.Catalog)
		for what, is := range hosts {
			for _, fstype := range []string{"zfs", "ext4"} {
				s := recorded.Clone()
				is(s.Host())
				var see stack.Observation
				disk := see.New("block", "sda")
				scheduled(disk)
				ints(disk, map[string]int64{"logical_sector": 4096, "physical_sector": 4096})
				s.Add("test", see)
				budget.Apply(s)
				l := planned(db, data, provision.Volume{})
				if fstype != "zfs" {
					l = predict.Layout{Server: db, FSType: fstype, Volumes: []provision.Volume{{Role: "data", At: data}}}
				}
				l.Disks = []stack.Ref{disk.Ref}
				for _, f := range predict.Predict(s, l, k.Catalog, k.Verdicts).Left {
					t.Errorf("%s on %s, %s: %s %s", name, fstype, what, f.Rule.ID, f.Cases[0].Title)
				}
			}
		}
	}
}
