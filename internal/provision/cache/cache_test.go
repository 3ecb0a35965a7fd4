package cache

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
	"plumb/internal/zfs"
)

func TestBetween(t *testing.T) {
	a := zfs.ParseKstat([]byte("hits 4 100\nmisses 4 10\nl2_hits 4 1\nl2_write_bytes 4 0\n"))
	b := zfs.ParseKstat([]byte("hits 4 180\nmisses 4 30\nl2_hits 4 11\nl2_write_bytes 4 4096\n"))
	began := time.Now()
	at := func(seconds time.Duration, counters map[string]int64) look {
		return look{began.Add(seconds * time.Second), counters}
	}
	w, err := between(at(0, a), at(2, b))
	if want := (Window{Seconds: 2, Reads: 100, Misses: 20, Served: 10, Fed: 4096}); err != nil || w != want {
		t.Errorf("%+v, %v", w, err)
	}
	if _, err := between(at(0, b), at(1, a)); err == nil {
		t.Error("counters that began anew")
	}
	delete(b, "l2_hits")
	if _, err := between(at(0, a), at(1, b)); err == nil || !strings.Contains(err.Error(), "l2_hits") {
		t.Errorf("a counter that is not there is no nought: %v", err)
	}
}

// windows make n of them, with a share that went to the disks.
func windows(n int, share float64, swing float64) (all []Window) {
	for i := range n {
		s := share + swing*math.Cos(float64(i)*math.Pi)
		all = append(all, Window{Seconds: 1, Reads: 100000, Misses: 100000, Served: int64(100000 * (1 - s))})
	}
	return all
}

func TestMoved(t *testing.T) {
	for name, c := range map[string]struct {
		before, after []Window
		known         bool
		sign          int
	}{
		"fewer":          {windows(10, 0.9, 0.02), windows(10, 0.3, 0.02), true, -1},
		"more":           {windows(10, 0.3, 0.02), windows(10, 0.9, 0.02), true, 1},
		"chance":         {windows(10, 0.5, 0.1), windows(10, 0.49, 0.1), true, 0},
		"nothing before": {[]Window{{Seconds: 1}, {Seconds: 1}}, windows(10, 0.3, 0.02), false, 0},
		"nothing now":    {windows(10, 0.3, 0.02), nil, false, 0},
	} {
		e, known := Moved(Measure(c.before).Disk, Measure(c.after).Disk)
		sign := 0
		if known && e.High < 0 {
			sign = -1
		} else if known && e.Low > 0 {
			sign = 1
		}
		if known != c.known || sign != c.sign {
			t.Errorf("%s: %+v, %v", name, e, known)
		}
	}
	if f := Measure([]Window{{Seconds: 1}, {Seconds: 1}}); f.Disk.N != 0 || f.Cache.N != 0 {
		t.Errorf("shares of nothing: %+v", f)
	}
}

func TestWarm(t *testing.T) {
	var obs stack.Observation
	m := obs.New("zfs", "module")
	for name, n := range map[string]int64{"l2arc_noprefetch": 1, "l2arc_write_max": 8 << 20, "l2arc_headroom": 16, "l2arc_mfuonly": 0} {
		m.Set(name, stack.Int(n), "test")
	}
	p := obs.New("pool", "t")
	p.Set("has_cache", stack.Bool(true), "test")
	disk := obs.New("block", "sdb")
	disk.Set("size", stack.Int(512<<20), "test")
	p.Link("cache_disks", disk.Ref)
	for name, first := range map[string]string{"t/a": "all", "t/meta": "metadata"} {
		d := obs.New("dataset", name)
		for fact, v := range map[string]string{"primarycache": first, "secondarycache": "all", "mounted": "yes", "mountpoint": "/" + name} {
			d.Set(fact, stack.Text(v), "test")
		}
		d.Set("referenced", stack.Int(1<<30), "test")
	}
	s := &stack.Stack{}
	s.Add("test", obs)
	w, err := Warm(s, "t", []string{"t/a"}, time.Hour)
	if err != nil || len(w.Plan.Steps) != 2 || len(w.Notes) != 1 || w.Dirs[0] != "/t/a" {
		t.Fatalf("%+v, %v", w, err)
	}
	if to, _ := w.Plan.Steps[1].To.Int(); to != 32<<20 {
		t.Errorf("a device of 512 MiB is fed %d a second", to)
	}
	if _, err := Warm(s, "t", []string{"t/meta"}, time.Hour); err == nil || !strings.Contains(err.Error(), "none of its data reaches it") {
		t.Errorf("primarycache=metadata: %v", err)
	}
	legacy := s.Find(stack.Ref{Kind: "dataset", Name: "t/a"})
	legacy.Set("mountpoint", stack.Text("legacy"), "test")
	if _, err := Warm(s, "t", []string{"t/a"}, time.Hour); err == nil || !strings.Contains(err.Error(), "where t/a is mounted was not seen") {
		t.Errorf("a mount point that fstab has: %v", err)
	}
	var mounted stack.Observation
	fs := mounted.New("filesystem", "/srv/a")
	fs.Set("mountpoint", stack.Text("/srv/a"), "test")
	fs.Link("dataset", legacy.Ref)
	s.Add("test", mounted)
	if w, err := Warm(s, "t", []string{"t/a"}, time.Hour); err != nil || w.Dirs[0] != "/srv/a" {
		t.Errorf("a mount point that fstab has: %v, %v", w.Dirs, err)
	}
	m.Set("implementation", stack.Text("zfs-fuse"), "test")
	if _, err := Warm(s, "t", []string{"t/a"}, time.Hour); err == nil {
		t.Error("zfs-fuse has no parameters")
	}
}

// A drift that is as large as what the device brings falls out.
func TestCompareDrift(t *testing.T) {
	var turns []Turn
	for i, with := range Order(2) {
		d := 1000 * math.Pow(1.1, float64(i)) // everything gets slower by a tenth each turn
		if with {
			d /= 2
		}
		turns = append(turns, Turn{with, Durable{Median: d * (1 + 0.01*float64(i%3))}})
	}
	e := Compare(turns).Effect
	if e.Low > -0.5 || e.High < -0.5 || e.High > -0.3 {
		t.Errorf("half as long, and %+v", e)
	}
	for i := range turns {
		turns[i].Median = 1000 * math.Pow(1.1, float64(i))
	}
	if e := Compare(turns).Effect; e.Low > 0 || e.High < 0 {
		t.Errorf("the device brings nothing, and %+v", e)
	}
	if e := Compare(turns[:1]).Effect; e.N != 0 && !math.IsInf(e.High, 0) && !math.IsNaN(e.High) {
		t.Errorf("one turn is no comparison: %+v", e)
	}
}

// Without counters a log is judged all the same, and nothing is said of reads.
func TestLookWithoutCounters(t *testing.T) {
	h := hosttest.Map{}
	if _, err := Look(t.Context(), h, 2, 100*time.Millisecond, ""); err == nil || !strings.Contains(err.Error(), "counters of the ARC") {
		t.Error(err)
	}
	dir, err := os.MkdirTemp("/dev/shm", "plumb-test-") // in memory: on a disk that others use, no write may be durable in so short a time
	if err != nil {
		t.Skip("no memory to write to: ", err)
	}
	defer os.RemoveAll(dir)
	all, err := Look(t.Context(), h, 3, 300*time.Millisecond, dir)
	if err != nil || len(all) != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	if f := Measure(all); f.Durable.N == 0 || f.Durable.Value <= 0 || f.Disk.N != 0 || f.Cache.N != 0 || f.Fed.N != 0 {
		t.Errorf("%+v", f)
	}
}
