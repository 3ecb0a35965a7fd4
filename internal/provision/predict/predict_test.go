package predict_test

import (
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

// What the source documents set up by hand comes of the rules: compression and atime above, the record of the
// page where the data lie, and the log with the record that it inherits.
func TestPredictGivesBirthProperties(t *testing.T) {
	k := knowledge(t)
	for _, c := range []struct {
		host, record, role string
		log                func(data string) string
	}{
		{"mariadb-ext4", "16384", "redo", func(data string) string { return data + "-log" }},
		{"mysql-9.7", "16384", "redo", func(data string) string { return data + "/#innodb_redo" }},
		{"postgres-17", "32768", "wal", func(data string) string { return data + "/pg_wal" }},
	} {
		t.Run(c.host, func(t *testing.T) {
			s, db, data := recorded(t, c.host, k.Catalog)
			log := provision.Volume{Role: c.role, Dataset: "tank/db/log", At: c.log(data)}
			p := predict.Predict(s, planned(db, data, log), k.Catalog, k.Verdicts)
			want := []map[string]string{{"atime": "off", "compression": "lz4"}, {"recordsize": c.record}, {}}
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

// The memory that a spec gives a server is its own: what the rest of the host takes, an ARC above all, is not counted against it, and
// it is not given more for what the host has.
func TestMemoryIsTheServersOwn(t *testing.T) {
	const gib = 1 << 30
	k := knowledge(t)
	s, ref, data := recorded(t, "mariadb-ext4", k.Catalog)
	db := s.Find(ref)
	ints := func(t *stack.Thing, facts map[string]int64) {
		for name, n := range facts {
			t.Set(name, stack.Int(n), "test")
		}
	}
	ints(db, map[string]int64{"innodb_buffer_pool_size": 4 * gib, "innodb_data_size": 200 * gib, "buffer_pool_reads": 10 << 20, "innodb_page_size": 16 << 10, "uptime": 9000})
	db.Set("buffer_pool_reads_per_second", stack.Float(900), "test")
	ints(s.Host(), map[string]int64{"memory_total": 64 * gib, "memory_available": 15 * gib})
	var see stack.Observation
	ints(see.New("zfs", "module"), map[string]int64{"arc_size": 40 * gib, "arc_limit": 60 * gib, "zfs_arc_max": 0})
	see.New("pool", "other")
	s.Add("test", see)
	s.Things = slices.DeleteFunc(s.Things, func(t *stack.Thing) bool { return t.Ref.Kind == "memory" })
	delete(db.Links, "memory")
	budget.Apply(s)
	for memory, want := range map[int64][2]int64{24 * gib: {16 * gib, 24 * gib}, 8 * gib: {5 * gib, 8 * gib}} {
		l := planned(ref, data, provision.Volume{})
		l.Memory = memory
		var to int64
		for _, step := range predict.Settings(s, l, k.Catalog, k.Verdicts) {
			if step.Knob == (stack.Knob{Of: ref, Name: "innodb_buffer_pool_size"}) {
				to, _ = step.To.Int()
			}
		}
		if to < want[0] || to > want[1] {
			t.Errorf("with %d bytes of memory, the buffer pool gets %d", memory, to)
		}
		if takes, over := l.Over(s, nil); over {
			t.Errorf("of %d bytes of memory it takes %d", memory, takes)
		}
	}
	little, none := planned(ref, data, provision.Volume{}), planned(ref, data, provision.Volume{})
	little.Memory = 2 * gib
	if takes, over := little.Over(s, nil); !over || takes < 4*gib {
		t.Errorf("a buffer pool of 4 GiB in 2 GiB of memory: it takes %d, over %v", takes, over)
	}
	lower := []advise.Step{{Knob: stack.Knob{Of: ref, Name: "innodb_buffer_pool_size"}, To: stack.Int(gib)}}
	if takes, over := little.Over(s, lower); over {
		t.Errorf("once it is lowered, it takes %d", takes)
	}
	if _, over := none.Over(s, nil); over {
		t.Error("nothing is said of its memory")
	}
}

// scheduled gives a disk the scheduler that a rule with the harm slow is about.
func scheduled(d *stack.Thing) {
	for name, v := range map[string]stack.Value{"name": stack.Text(d.Ref.Name), "layer": stack.Text("disk"), "scheduler": stack.Text("bfq"), "virtual_disk": stack.Bool(false), "transport": stack.Text("ata")} {
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
