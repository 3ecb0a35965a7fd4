package volume

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"plumb/internal/host/hosttest"
	"plumb/internal/host/scratch"
	"plumb/internal/inventory/kinds"
	"plumb/internal/lab/experiment"
	"plumb/test/sandbox"
)

// liveVolume makes a filesystem on a loop device and its limiter.
func liveVolume(t *testing.T, fstype, profile string) (*limiter, string) {
	t.Helper()
	sandbox.NeedLong(t, "makes volumes: run without -short")
	box, err := sandbox.New(t.TempDir())
	sandbox.Need(t, err)
	t.Cleanup(func() { box.Close() })
	dir, err := box.Filesystem("v", fstype, 600, nil, "")
	sandbox.Need(t, err)
	do := hosttest.LiveDoer(t)
	if _, err := findGate(t.Context(), do, ""); err != nil {
		t.Skip(err)
	}
	st, err := do.Stat(t.Context(), dir)
	must(t, err)
	p, err := experiment.ParseProfile(profile)
	must(t, err)
	b, err := kinds.Books(do, t.TempDir()).Open(t.Context(), "limittest")
	must(t, err)
	l := &limiter{do: do, book: b, profile: p, devices: []string{fmt.Sprintf("%d:%d", st.DevMajor, st.DevMinor)}, dir: dir}
	t.Cleanup(func() {
		if err := l.Unlimit(context.Background()); err != nil {
			t.Error(err)
		}
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return l, dir
}

// drive does direct requests from many threads and counts what the threads
// saw done, each tenth of a second: not what the kernel counted.
func drive(t *testing.T, dir string, size int64, threads int, reading func(thread, n int) bool, length time.Duration) (tenths []int64) {
	t.Helper()
	const bytes = 64 << 20
	name := filepath.Join(dir, "drive")
	if _, err := os.Stat(name); err != nil {
		must(t, os.WriteFile(name, make([]byte, bytes), 0o600))
		syscall.Sync() // direct reads would write it first
	}
	f, err := os.OpenFile(name, os.O_RDWR|syscall.O_DIRECT, 0)
	must(t, err)
	defer f.Close()
	var done atomic.Int64
	var stop atomic.Bool
	var all sync.WaitGroup
	for i := range threads {
		all.Go(func() {
			b, err := scratch.Buffer(int(size))
			for n := 0; !stop.Load() && err == nil; n++ {
				at := rand.Int64N(bytes/size) * size
				if reading(i, n) {
					_, err = f.ReadAt(b, at)
				} else {
					_, err = f.WriteAt(b, at)
				}
				done.Add(1)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	before := int64(0)
	tick := time.NewTicker(100 * time.Millisecond)
	for range length / (100 * time.Millisecond) {
		<-tick.C
		now := done.Load()
		tenths = append(tenths, now-before)
		before = now
	}
	stop.Store(true)
	all.Wait()
	return tenths
}

func sum(tenths []int64) (n int64) {
	for _, v := range tenths {
		n += v
	}
	return n
}

func onlyReads(int, int) bool { return true }

func TestLiveLimitHolds(t *testing.T) {
	cases := []struct{ fstype, profile string }{{"ext4", "riops=1000"}}
	if os.Getenv("PLUMB_REAL") != "" {
		cases = nil
		for _, fs := range []string{"ext4", "xfs"} {
			for _, p := range []string{"iops=1000,mbps=20", "iops=3000,mbps=125", "gp3", "riops=500,wiops=200", "hdd", "p15,credits=1%"} {
				cases = append(cases, struct{ fstype, profile string }{fs, p})
			}
		}
	}
	for _, c := range cases {
		t.Run(c.fstype+" "+c.profile, func(t *testing.T) {
			l, _ := liveVolume(t, c.fstype, c.profile)
			began := time.Now()
			facts, err := l.Limit(t.Context())
			t.Logf("measured for %v: %s", time.Since(began).Round(time.Millisecond), l.profile.Words())
			for _, f := range facts {
				t.Logf("%-40s %9.4g asked %9.4g measured %+.1f %%", f.What, f.Asked, f.Measured, (f.Measured/f.Asked-1)*100)
			}
			if errors.Is(err, errSlow) && !errors.Is(err, errLoose) { // the limit was not exceeded
				if tight := tooTight(t, l, l.profile, l.begin); len(tight) > 0 {
					t.Fatalf("the disk does what was asked without the limit, and less with it: %q: %v", tight, err)
				}
				t.Skipf("others keep the disk busy: %v", err)
			}
			if err != nil || len(facts) == 0 {
				t.Errorf("%d facts, %v", len(facts), err)
			}
		})
	}
}

// tooTight names what a limit holds back more than it should: in each of three turns, the disk would do what was asked, and does less
// with the limit. One that is only slow does not do it without a limit either, at least once.
func tooTight(t *testing.T, l *limiter, asked experiment.Profile, begin func(context.Context, experiment.Profile) error) (tight []string) {
	t.Helper()
	must(t, l.Unlimit(t.Context()))
	p, err := newProbe(l.dir, l.do, l.devices)
	must(t, err)
	defer func() { must(t, p.close()) }()
	short := func(ph phase, m measurement) bool {
		must(t, begin(t.Context(), ph.profile))
		held, err := p.load(t.Context(), m, 3*probeTime)
		must(t, errors.Join(err, l.Unlimit(t.Context())))
		return m.of(held) < m.asked*(1-tolerance) && !bound(ph.profile, held)
	}
	for _, ph := range phases(asked) {
		for _, m := range measurements(ph) {
			turns := 0
			for turns < 3 && short(ph, m) && would(t, p, m) {
				turns++
			}
			if turns == 3 {
				tight = append(tight, m.what)
			}
		}
	}
	return tight
}

// would tells whether the disk does what was asked while nothing limits it. A tenth of a second in which it does more does not make good
// for one in which others keep it busy: a limit that holds nothing else back would not let it catch up either.
func would(t *testing.T, p *probe, m measurement) bool {
	t.Helper()
	var done, length float64
	must(t, p.during(t.Context(), m, func() error {
		before, err := p.counts(t.Context())
		for at := time.Now(); length < 3 && err == nil; {
			time.Sleep(period)
			var now []paces
			if now, err = p.counts(t.Context()); err == nil {
				took := time.Since(at).Seconds()
				done += min(m.of(now[0].since(before[0], took)), m.asked) * took
				at, before, length = at.Add(time.Duration(took*float64(time.Second))), now, length+took
			}
		}
		return err
	}))
	return done/length >= m.asked*(1-tolerance)
}

// A limit of half of what was asked is found to be too tight, and the one that was asked is not.
func TestALimitThatIsTooTightIsFound(t *testing.T) {
	sandbox.NeedTime(t, "measures a disk for a quarter of a minute: PLUMB_REAL=1")
	l, _ := liveVolume(t, "ext4", "riops=100")
	var err error
	if l.gate, err = findGate(t.Context(), l.do, ""); err != nil { // as Limit would
		t.Fatal(err)
	}
	half := func(ctx context.Context, p experiment.Profile) error {
		p.IOPS.Read /= 2
		return l.begin(ctx, p)
	}
	if tight := tooTight(t, l, l.profile, l.begin); len(tight) > 0 {
		t.Errorf("what was asked is too tight: %q", tight)
	}
	if tight := tooTight(t, l, l.profile, half); len(tight) != 1 || tight[0] != "read IOPS" {
		t.Errorf("of half of what was asked these are found: %q", tight)
	}
}

func TestLiveReadsAndWritesShareALimit(t *testing.T) {
	if os.Getenv("PLUMB_REAL") == "" {
		t.Skip("takes half a minute: PLUMB_REAL=1")
	}
	l, dir := liveVolume(t, "ext4", "iops=2000")
	drive(t, dir, 4096, 16, onlyReads, 300*time.Millisecond) // makes the file
	if facts, err := l.Limit(t.Context()); err != nil && !errors.Is(err, errSlow) {
		t.Fatal(facts, err)
	}
	for name, reading := range map[string]func(int, int) bool{
		"reads":                   onlyReads,
		"writes":                  func(int, int) bool { return false },
		"60 % reads, each thread": func(_, n int) bool { return n%5 < 3 },
		"90 % reads, each thread": func(_, n int) bool { return n%10 < 9 },
		"threads of both kinds":   func(i, _ int) bool { return i%2 == 0 },
		"one thread that writes":  func(i, _ int) bool { return i != 0 },
		"turns of half a second":  func(_, _ int) bool { return time.Now().UnixMilli()%1000 < 500 },
	} {
		tenths := drive(t, dir, 4096, 16, reading, 5*time.Second)
		for range 2 { // others use the machine too
			if sum(tenths) < 5*1900 {
				tenths = drive(t, dir, 4096, 16, reading, 5*time.Second)
			}
		}
		got := float64(sum(tenths)) / 5
		limit := 0.95
		if name == "turns of half a second" {
			limit = 0.8 // a tenth of a second goes by until a turn is seen
		}
		t.Logf("%-26s %.0f IOPS of 2000, %+.1f %%: %v", name, got, (got/2000-1)*100, tenths[:10])
		if got > 2000*1.05 || got < 2000*limit {
			t.Errorf("%s: %.0f IOPS", name, got)
		}
	}
}

func TestLiveCreditsEnd(t *testing.T) {
	if os.Getenv("PLUMB_REAL") == "" {
		t.Skip("takes half a minute: PLUMB_REAL=1")
	}
	l, dir := liveVolume(t, "ext4", "gp2,size=10G,credits=0.3%") // 16200 requests: 5.6 s at 3000 with an income of 100
	drive(t, dir, 4096, 16, onlyReads, 300*time.Millisecond)
	if facts, err := l.Limit(t.Context()); err != nil && !errors.Is(err, errSlow) {
		t.Fatal(facts, err)
	}
	tenths := drive(t, dir, 4096, 16, onlyReads, 12*time.Second)
	end := 0
	for i, n := range tenths {
		if n > 150 {
			end = i + 1
		}
	}
	// Other users of the disk may hold the burst up: it lasts as long as the credits do.
	done, credits := float64(sum(tenths[:end])), 16200+100*float64(end)/10
	t.Logf("the burst ended after %.1f s, %.1f are foreseen at full rate; %.0f requests were done in it, with credits for %.0f; %d in the last 4 s",
		float64(end)/10, l.profile.Lasts().Seconds(), done, credits, sum(tenths[80:]))
	if math.Abs(done/credits-1) > 0.05 {
		t.Errorf("%.0f requests were done with credits for %.0f: %v", done, credits, tenths)
	}
	if n := float64(sum(tenths[80:])) / 4; n < 90 || n > 108 {
		t.Errorf("%.0f IOPS without credits: %v", n, tenths)
	}
}
