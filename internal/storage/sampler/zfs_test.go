package sampler

import (
	"os"
	"slices"
	"testing"

	"plumb/internal/catalog"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/tape"
	"plumb/knowledge"
)

var (
	module = stack.Ref{Kind: "zfs", Name: "module"}
	tank   = stack.Ref{Kind: "pool", Name: "tank"}
)

// withPool is a picture of ZFS and one pool.
func withPool(implementation string) *stack.Stack {
	s := &stack.Stack{}
	var o stack.Observation
	o.New("zfs", "module").Set("implementation", stack.Text(implementation), "test")
	o.New("pool", "tank")
	s.Add("zfs", o)
	return s
}

// TestOpenZFS reads what OpenZFS 2.3 showed on a machine that was recorded.
func TestOpenZFS(t *testing.T) {
	file, err := os.Open("../../../fixtures/mariadb-openzfs-2.3.tape.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	recorded, err := tape.Read(file, file.Name())
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.NewTaped(recorded)
	if err != nil {
		t.Fatal(err)
	}
	var all series.Batch
	for _, s := range (Finder{}).Sources(withPool("openzfs")) {
		if s.Every() != sample.Second {
			continue
		}
		b := take(t, s, h)
		all.Readings, all.Gaps = append(all.Readings, b.Readings...), append(all.Gaps, b.Gaps...)
	}
	known(t, all)
	for file, readings := range kstats {
		for name := range readings {
			if n := value(t, all, module, name); n < 0 {
				t.Errorf("%s in %s is %g", name, file, n)
			}
		}
	}
	for name, least := range map[string]float64{"txgs": 1, "txg_sync_us": 1, "txg_wait_us": 0, "txg_dirty": 0} {
		if n := value(t, all, tank, name); n < least {
			t.Errorf("%s is %g", name, n)
		}
	}
	if n := value(t, all, module, "zil_commits"); n != 117 {
		t.Errorf("zil_commits is %g, the machine showed 117", n)
	}
	if len(all.Gaps) > 0 {
		t.Errorf("gaps: %v", all.Gaps)
	}
}

// TestKstatsAreThoseOfThePicture keeps the two lists the same.
func TestKstatsAreThoseOfThePicture(t *testing.T) {
	cat, err := catalog.Load(knowledge.FS)
	if err != nil {
		t.Fatal(err)
	}
	for file, readings := range kstats {
		for _, s := range cat.ReadFrom("zfs", file+" ") {
			if over := s.Fact.OverTime; over != stack.Counter && over != stack.Gauge {
				continue
			}
			if readings[s.Fact.Name] != s.Name {
				t.Errorf("%s is read from %s %s, and sampled from %q", s.Fact.Name, file, s.Name, readings[s.Fact.Name])
			}
		}
	}
}

func TestFuseSaysWhatItLacks(t *testing.T) {
	var gaps []string
	for _, s := range (Finder{}).Sources(withPool("zfs-fuse")) {
		if s.Every() == sample.Second {
			t.Errorf("%s is asked each second of zfs-fuse, which counts nothing", s.Name())
		}
		if f, ok := s.(fuseSource); ok {
			for _, g := range take(t, f, hosttest.Map{}).Gaps {
				gaps = append(gaps, g.Of.String()+" "+g.Name)
			}
		}
	}
	want := []string{"zfs:module ", "pool:tank txgs", "pool:tank txg_sync_us", "pool:tank txg_wait_us", "pool:tank txg_dirty"}
	if !slices.Equal(gaps, want) {
		t.Errorf("gaps about %q, want %q", gaps, want)
	}
}

// TestNoHistoryIsNoZero has the history of groups switched off, and cut.
func TestNoHistoryIsNoZero(t *testing.T) {
	const name = "/proc/spl/kstat/zfs/tank/txgs"
	for what, text := range map[string]string{"off": "", "cut": "txg birth state ndirty nread nwritten reads writes otime qtime wtime stime\n7 1 C 9 0 0"} {
		b := take(t, txgSource{tank}, hosttest.Map{Files: map[string]string{name: text}})
		if len(b.Readings) != 0 || len(b.Gaps) != 4 {
			t.Errorf("%s: readings %v, gaps %v", what, b.Readings, b.Gaps)
		}
	}
}

// TestPoolCommands has answers that were typed: what real pools print is tested
// where it is parsed.
func TestPoolCommands(t *testing.T) {
	const status = "  pool: tank\n state: ONLINE\n  scan: scrub in progress since Sun Nov 15 10:00:00 2026\n\t1G scanned at 1G/s, 500M issued at 500M/s, 2G total\n\t0B repaired, 25.00% done, 00:00:03 to go\nconfig:\n\n\tNAME  STATE READ WRITE CKSUM\n\ttank  ONLINE 0 0 0\n\t  /dev/a  ONLINE 0 0 0\n\nerrors: No known data errors\n"
	h := hosttest.Map{Outputs: map[string]string{
		"zpool status -P tank": status,
		"zpool list -Hp -o name,size,allocated,free,capacity,fragmentation,dedupratio,health": "tank\t1000\t850\t150\t85\t-\t1.00\tONLINE\n",
	}}
	var all series.Batch
	for _, s := range (Finder{}).Sources(withPool("openzfs")) {
		if s.Every() != sample.Second {
			all.Readings = append(all.Readings, take(t, s, h).Readings...)
		}
	}
	known(t, all)
	want := series.Batch{}
	want.Set(tank, "scanning", 1)
	want.Set(tank, "allocated", 850)
	want.Set(tank, "free", 150)
	want.Set(tank, "capacity", 85)
	if !slices.Equal(all.Readings, want.Readings) {
		t.Errorf("got %v, want %v", all.Readings, want.Readings)
	}
}
