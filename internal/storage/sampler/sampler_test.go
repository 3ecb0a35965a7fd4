package sampler

import (
	"context"
	"errors"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/product"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/test/captured"
)

// onTape reads a recorded host.
func onTape(t *testing.T, name string) host.Reader {
	t.Helper()
	h, err := captured.Host("../../../fixtures/" + name + ".tape.gz")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// picture is a host with a pool that a server's files lie on.
func picture(implementation string) *stack.Stack {
	var see stack.Observation
	see.New("host", "h")
	see.New("zfs", "module").Set("implementation", stack.Text(implementation), "test")
	see.New("pool", "tank")
	s := &stack.Stack{}
	s.Add("test", see)
	return s
}

func take(t *testing.T, h host.Reader, all []sample.Source, name string) series.Batch {
	t.Helper()
	i := slices.IndexFunc(all, func(s sample.Source) bool { return s.Name() == name })
	if i < 0 {
		t.Fatalf("no source %q", name)
	}
	b, err := all[i].Take(context.Background(), h)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func values(b series.Batch) map[string]float64 {
	out := map[string]float64{}
	for _, r := range b.Readings {
		out[r.Of.Kind+"."+r.Name] = r.Value
	}
	return out
}

// TestOpenZFS reads the recorded figures of OpenZFS 2.1 and 2.3. All that the
// catalogue has of a file is read.
func TestOpenZFS(t *testing.T) {
	cat := hosttest.Windows(t)
	for name, want := range map[string]struct {
		txg   float64
		newer bool
	}{"mariadb-openzfs-2.1": {19, false}, "mariadb-openzfs-2.3": {25, true}} {
		h, all := onTape(t, name), Finder{}.Sources(picture("openzfs"))
		module := values(take(t, h, all, "zfs"))
		for _, file := range []string{"arcstats ", "zil ", "dmu_tx "} {
			for _, s := range cat.ReadFrom("zfs", file) {
				raw := !strings.HasSuffix(s.Fact.Name, catalog.RateOf) && !strings.HasSuffix(s.Fact.Name, catalog.LeastOf) &&
					!strings.HasSuffix(s.Fact.Name, catalog.MostOf) && !strings.HasSuffix(s.Fact.Name, catalog.GrowthOf)
				_, read := module["zfs."+s.Fact.Name]
				if since22 := strings.HasSuffix(s.Name, "_iohits"); raw && !read && !(since22 && !want.newer) && s.Fact.Name != "arc_min" {
					t.Errorf("%s: %s is not read", name, s.Fact.Name)
				}
			}
		}
		groups := values(take(t, h, all, "pool tank groups"))
		if groups["pool.txgs"] != want.txg || groups["pool.txg_sync_us"] <= 0 {
			t.Errorf("%s: groups %v", name, groups)
		}
	}
}

// TestZFSFuse: it counts nothing, and that is said.
func TestZFSFuse(t *testing.T) {
	all := Finder{}.Sources(picture("zfs-fuse"))
	b := take(t, hosttest.Map{}, all, "zfs")
	if len(b.Readings) != 0 || len(b.Gaps) != 1 || !strings.Contains(b.Gaps[0].Why, "zfs-fuse") {
		t.Errorf("%+v", b)
	}
	for _, s := range all {
		if strings.HasSuffix(s.Name(), "groups") {
			t.Errorf("%s was made for zfs-fuse", s.Name())
		}
	}
}

// TestSuspendedPoolStopsNoOther: commands about a pool hang, its figures do not,
// and neither do those of another pool.
func TestSuspendedPoolStopsNoOther(t *testing.T) {
	s := picture("openzfs")
	var more stack.Observation
	more.New("pool", "other")
	s.Add("test", more)
	h := hosttest.NewFaulty(hosttest.Map{
		Files: map[string]string{"/proc/spl/kstat/zfs/tank/state": "SUSPENDED\n", "/proc/spl/kstat/zfs/other/state": "ONLINE\n"},
		Outputs: map[string]string{
			"zpool list -Hp -o name,size,allocated,free,capacity,fragmentation,dedupratio,health other": "other\t1000\t400\t600\t40\t3\t1.00\tONLINE\n"},
	}, hosttest.Fault{Op: "run", Name: "*tank*", Delay: time.Hour})
	synctest.Test(t, func(t *testing.T) { // what does not hang is not late, however busy the machine
		for _, src := range (Finder{}).Sources(s) {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			b, err := src.Take(ctx, h)
			cancel()
			v := values(b)
			switch src.Name() {
			case "pool tank space", "pool tank scan":
				if len(b.Readings) != 0 || len(b.Gaps) == 0 && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %+v, %v", src.Name(), b, err)
				}
			case "pool tank groups":
				if v["pool.suspended"] != 1 {
					t.Errorf("%s: %v", src.Name(), v)
				}
			case "pool other space":
				if v["pool.size"] != 1000 || v["pool.capacity"] != 40 || v["pool.fragmentation"] != 3 {
					t.Errorf("%s: %v, %v", src.Name(), v, err)
				}
			}
		}
	})
	if err := h.AllFired(); err != nil {
		t.Error(err)
	}
}

// TestDevices: one that was taken away is a gap, one that is there again counts
// from zero, and a kernel without flushes leaves them out.
func TestDevices(t *testing.T) {
	var see stack.Observation
	see.New("host", "h")
	for _, name := range []string{"vda", "vdb", "cciss!c0d0"} {
		d := see.New("block", name)
		d.Set("layer", stack.Text("disk"), "test")
	}
	p := see.New("block", "vda1")
	p.Set("layer", stack.Text("partition"), "test")
	s := &stack.Stack{}
	s.Add("test", see)
	h := hosttest.Map{Files: map[string]string{
		"/proc/diskstats":               " 254 0 vda 10 1 80 4294967295 20 2 160 7 1 9 4294967290 5 0 8 0 3 2\n 254 1 vda1 1 1 1 1 1 1 1 1 1 1 1\n 104 0 cciss/c0d0 1 0 2 3 4 0 6 7 0 9 10\n",
		"/sys/class/block/vda/inflight": "       1        2\n",
	}}
	b := take(t, h, Finder{}.Sources(s), "block cciss!c0d0 vda vdb")
	got := map[string]float64{}
	for _, r := range b.Readings {
		got[r.Of.Name+" "+r.Name] = r.Value
	}
	for name, want := range map[string]float64{"vda read_ms": 4294967295, "vda queue_ms": 4294967290, "vda flush_ms": 2, "vda reads_in_flight": 1,
		"vda writes_in_flight": 2, "vda written_bytes": 160 * 512, "cciss!c0d0 queue_ms": 10} {
		if got[name] != want {
			t.Errorf("%s = %v, want %v", name, got[name], want)
		}
	}
	for _, absent := range []string{"cciss!c0d0 flushes", "vda1 reads", "vdb reads"} {
		if _, ok := got[absent]; ok {
			t.Errorf("%s was read", absent)
		}
	}
	if len(b.Gaps) != 1 || b.Gaps[0].Of.Name != "vdb" {
		t.Errorf("gaps %+v", b.Gaps)
	}
}

// TestRoleOf tells whose files are, as servers lay them out.
func TestRoleOf(t *testing.T) {
	my := sorter{files: product.Of(product.MySQL).Files, places: []place{{"data", "/db"}, {"redo", "/db/#innodb_redo"}, {"undo", "/db"}, {"binlog", "/db"},
		{"relaylog", "/db"}, {"temporary", "/tmp"}, {"temporary", "/db/#innodb_temp"}, {"temporary", "/db"}}}
	old := sorter{files: product.Of(product.MySQL).Files, places: []place{{"data", "/db"}, {"redo", "/db"}, {"binlog", "/logs"}}}
	pg := sorter{files: product.Of(product.Postgres).Files, places: []place{{"data", "/pg"}, {"wal", "/wal"}, {"temporary", "/pg/base"}, {"tablespace", "/ts"}}}
	mongo := sorter{places: []place{{"data", "/m"}, {"journal", "/m/journal"}}}
	for _, c := range []struct {
		of         sorter
		file, want string
	}{
		{my, "/db/ibdata1", "data"}, {my, "/db/#innodb_redo/#ib_redo12", "redo"}, {my, "/db/binlog.000001", "binlog"}, {my, "/db/shop/t.ibd", "data"},
		{my, "/db/host-relay-bin.000003", "relaylog"}, {my, "/db/undo_001", "undo"}, {my, "/db/undo_shop/t.ibd", "data"}, {my, "/db/aria_log.00000001", "data"},
		{my, "/db/ibtmp1", "temporary"}, {my, "/db/#innodb_temp/temp_1.ibt", "temporary"}, {my, "/db/shop/#sql-ib12-34.ibd", "temporary"}, {my, "/elsewhere", ""},
		{old, "/db/ib_logfile0", "redo"}, {old, "/logs/mariadb-bin.1000000", "binlog"}, {old, "/logs/error.log", ""},
		{pg, "/pg/base/5/1234", "data"}, {pg, "/pg/base/pgsql_tmp/pgsql_tmp12.0", "temporary"}, {pg, "/pg/base/5/t3_16403", "temporary"},
		{pg, "/wal/000000010000000000000001", "wal"}, {pg, "/ts/PG_15_202209061/5/16400", "tablespace"},
		{mongo, "/m/collection-1.wt", "data"}, {mongo, "/m/journal/WiredTigerLog.0000000001", "journal"},
	} {
		if got, _ := c.of.roleOf(c.file); got != c.want {
			t.Errorf("%s is %q, want %q", c.file, got, c.want)
		}
	}
	if got := my.tops(); !slices.Equal(got, []place{{"data", "/db"}, {"temporary", "/tmp"}}) {
		t.Errorf("tops %v", got)
	}
}

// tree is a host on which a directory holds so many files.
type tree struct {
	hosttest.Map
	dirs map[string][]string
}

func (h tree) Glob(_ context.Context, pattern string) ([]string, error) {
	var out []string
	dir, last := path.Split(strings.ReplaceAll(pattern, `\`, ""))
	for _, name := range h.dirs[path.Clean(dir)] {
		if ok, _ := path.Match(last, name); ok {
			out = append(out, path.Join(dir, name))
		}
	}
	return out, nil
}

func (h tree) Stat(_ context.Context, name string) (host.Stat, error) {
	st := host.Stat{Mode: 0o600, Size: 1000, Blocks: 2, UID: 7, Resolved: name}
	if _, dir := h.dirs[name]; dir {
		st.Mode = os.ModeDir
	}
	switch path.Base(name) {
	case "strange": // another user's
		st.UID = 8
	case "link":
		st.Resolved = "/etc/shadow"
	}
	return st, nil
}

func spaceOf(t *testing.T, h host.Reader) series.Batch {
	t.Helper()
	var see stack.Observation
	see.New("host", "h")
	p := see.New("process", "12")
	p.Set("engine", stack.Text(product.Postgres), "test")
	p.Set("uid", stack.Int(7), "test")
	db := see.New(product.Postgres, "5432")
	for name, dir := range map[string]string{"data": "/pg[1]", "wal": "/pg[1]/pg_wal"} {
		see.Roles = append(see.Roles, stack.Role{DB: db.Ref, Name: name, Path: dir, PID: 12, Placement: stack.Placement{Resolved: dir}})
	}
	s := &stack.Stack{}
	s.Add("test", see)
	return take(t, h, Finder{}.Sources(s), "space "+db.Ref.String())
}

// TestSpace adds up a server's own files, and neither links nor other people's.
func TestSpace(t *testing.T) {
	h := tree{dirs: map[string][]string{"/pg[1]": {"base", "pg_wal", "PG_VERSION", "link", "strange"}, "/pg[1]/base": {"5"}, "/pg[1]/base/5": {"1", "2"}, "/pg[1]/pg_wal": {"0001"}}}
	got := values(spaceOf(t, h))
	want := map[string]float64{"postgres.space_data": 3 * 1024, "postgres.space_data_logical": 3000, "postgres.space_wal": 1024,
		"table.space": 1024, "table.space_logical": 1000} // of two tables of one size, the last
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestSpaceOfVeryManyFiles: data is then unknown, and the WAL, which is small, is not.
func TestSpaceOfVeryManyFiles(t *testing.T) {
	h := tree{dirs: map[string][]string{"/pg[1]": {"base", "pg_wal"}, "/pg[1]/pg_wal": {"0001"}}}
	for i := range maxFiles {
		h.dirs["/pg[1]/base"] = append(h.dirs["/pg[1]/base"], "f"+strings.Repeat("x", i%5)+string(rune('a'+i%26)))
	}
	b := spaceOf(t, h)
	if got := values(b); !maps.Equal(got, map[string]float64{"postgres.space_wal": 1024}) {
		t.Errorf("got %v", got)
	}
	if len(b.Gaps) != 1 || b.Gaps[0].Name != "space_data" || !strings.Contains(b.Gaps[0].Why, "more than") {
		t.Errorf("gaps %+v", b.Gaps)
	}
}

func FuzzParseInflight(f *testing.F) {
	f.Add([]byte("       0        1\n"))
	f.Fuzz(func(t *testing.T, data []byte) { parseInflight(data) })
}
