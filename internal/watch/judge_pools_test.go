package watch_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/watch"
)

// onPool has the server's files on a pool of two disks, sda and sdb.
func onPool() *stack.Stack {
	s := picture()
	fs := s.Find(stack.Ref{Kind: "filesystem", Name: "/data"})
	fs.Set("fstype", stack.Text("zfs"), "test")
	fs.Links["block"], fs.Links["dataset"] = nil, []stack.Ref{{Kind: "dataset", Name: "tank/db"}}
	pool := stack.Ref{Kind: "pool", Name: "tank"}
	var o stack.Observation
	o.New("dataset", "tank/db").Link("pool", pool)
	o.New("pool", "tank").Link("disks", disk, stack.Ref{Kind: "block", Name: "sdb"})
	o.New("block", "sdb").Set("layer", stack.Text("disk"), "test")
	o.New("zfs", "module").Set("zfs_delay_min_dirty_percent", stack.Int(60), "test")
	s.Add("test", o)
	return s
}

// throttled adds what ZFS counts of writers that it slows, and what the second disk of the pool does: each
// of its reads takes so many milliseconds. Before the load it is as the first one.
func (m *made) throttled(each float64) {
	var out []series.Batch
	var delays, reads, millis float64
	for _, b := range m.batches {
		out = append(out, b)
		if b.Source != "block" {
			continue
		}
		ms := 0.2
		if b.At.Sub(start) > time.Duration(calm.seconds)*time.Second {
			delays, ms = delays+100, each
		}
		reads, millis = reads+300, millis+300*ms
		z := series.Batch{Source: "zfs", Every: time.Second, At: b.At}
		z.Set(stack.Ref{Kind: "zfs", Name: "module"}, "tx_delayed", delays)
		z.Set(stack.Ref{Kind: "zfs", Name: "module"}, "tx_over_max", 0)
		d := series.Batch{Source: "block sdb", Every: time.Second, At: b.At}
		for name, v := range map[string]float64{"reads": reads, "read_ms": millis, "read_bytes": reads * 16384, "queue_ms": millis, "writes": 0, "write_ms": 0, "written_bytes": 0} {
			d.Set(stack.Ref{Kind: "block", Name: "sdb"}, name, v)
		}
		out = append(out, z, d)
	}
	m.batches = out
}

// TestAPoolOfTwoDisks: one slow disk is what holds writers up. That the other could do more does not make it
// the parameter: one of the two verdicts is raised, and not both.
func TestAPoolOfTwoDisks(t *testing.T) {
	writes := map[series.Class]float64{series.ClassWrite: 10, series.ClassCPU: 2}
	for name, c := range map[string]struct {
		first  load
		second float64
		want   string
	}{
		"both calm": {load{seconds: 40, reads: 300, each: 0.2, sessions: writes}, 0.2, "zfs/throttle-parameter"},
		"one slow":  {load{seconds: 40, reads: 300, each: 0.2, sessions: writes}, 2, "zfs/throttle-disk"},
		"both slow": {load{seconds: 40, reads: 3000, each: 4, sessions: writes}, 2, "zfs/throttle-disk"},
	} {
		m := &made{}
		m.add(calm)
		m.add(c.first)
		m.throttled(c.second)
		got := ids(m.feed(judge(), onPool()))
		throttles := slices.DeleteFunc(got, func(id string) bool { return !strings.HasPrefix(id, "zfs/throttle") })
		if !slices.Equal(throttles, []string{c.want}) {
			t.Errorf("%s: raised %q, want %s", name, throttles, c.want)
		}
	}
}

// TestADiskThatIsNotKnown: nobody can tell then that the parameter is at fault.
func TestADiskThatIsNotKnown(t *testing.T) {
	m := &made{}
	m.add(calm)
	m.add(load{seconds: 40, reads: 300, each: 0.2, sessions: map[series.Class]float64{series.ClassWrite: 10}})
	m.throttled(0.2)
	m.batches = slices.DeleteFunc(m.batches, func(b series.Batch) bool { return b.Source == "block sdb" })
	got := m.feed(judge(), onPool())
	if unknownOf(got, "zfs/throttle-parameter") == nil || find(got, "zfs/throttle-parameter") != nil {
		t.Errorf("raised %q", ids(got))
	}
}

// TestBurstsAreNoCalm: a second in which forty requests came at once has one under way on average, and tells
// nothing of one that finds the disk idle.
func TestBurstsAreNoCalm(t *testing.T) {
	for busy, want := range map[float64]int{0.08: 0, 0.8: 1} {
		m := &made{}
		m.add(load{seconds: 60, reads: 100, each: 8, sessions: map[series.Class]float64{series.ClassCPU: 2}})
		for i := range m.batches {
			if m.batches[i].Source == "block" {
				m.batches[i].Set(disk, "busy_ms", busy*1000*float64(i/3+1))
			}
		}
		j := judge()
		m.run(j)
		if n := len(j.Baselines()); n != want {
			t.Errorf("busy for %v of the time: %d kinds of requests learned, want %d", busy, n, want)
		}
	}
}

// TestWhatIsGoneIsForgotten: where servers come and go under new names, a judge does not grow.
func TestWhatIsGoneIsForgotten(t *testing.T) {
	j := judge()
	j.Picture(start, picture())
	at := start
	for hour := range 6 {
		server := stack.Ref{Kind: "mysql", Name: string(rune('a' + hour))}
		at = at.Add(75 * time.Minute)
		for range 3 {
			at = at.Add(10 * time.Second)
			b := series.Batch{Source: "all", Every: time.Minute, At: at, Statements: []series.Statement{{Of: server, ID: "1", Text: "SELECT ?", Calls: 1}}}
			b.Set(server, "sessions_active", 1)
			b.Set(server, "checkpoints_requested", 1)
			b.Set(stack.Ref{Kind: "block", Name: server.Name}, "queue_ms", 1)
			j.Batch(b)
		}
	}
	if n := watch.Remembered(j); n > 8 {
		t.Errorf("%d things are remembered of two servers and devices that were heard of in the last hour", n)
	}
}
