package watch_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/rule"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/watch"
)

// own adds what the server's process has read, of which the disk's reads are this share.
func (m *made) own(share float64) {
	var out []series.Batch
	for i, b := range m.batches {
		out = append(out, b)
		if b.Source != "block" || i/3%10 != 0 {
			continue
		}
		reads := 0.0
		for _, r := range b.Readings {
			if r.Name == "read_bytes" {
				reads = r.Value
			}
		}
		p := series.Batch{Source: "process 17 I/O", Every: 10 * time.Second, At: b.At}
		p.Set(proc, "read_bytes", share*reads)
		p.Set(proc, "written_bytes", 0)
		out = append(out, p)
	}
	m.batches = out
}

// onLoop has the filesystem be one on a loop device, sda, whose file is on a disk that does next to nothing.
func onLoop() *stack.Stack {
	s := picture()
	s.Find(disk).Set("layer", stack.Text("loop"), "test")
	below := stack.Ref{Kind: "block", Name: "vda"}
	var o stack.Observation
	o.New("block", "vda").Set("layer", stack.Text("disk"), "test")
	s.Add("test", o)
	s.Find(stack.Ref{Kind: "filesystem", Name: "/data"}).Links["disks"] = []stack.Ref{below}
	return s
}

func (m *made) feed(j *watch.Judge, p *stack.Stack) watch.Moment {
	j.Picture(start, p)
	for _, b := range m.batches {
		j.Batch(b)
	}
	return j.Moment(j.Known())
}

// TestAnIntruder has somebody else read what the server does not: on a disk, and on
// a loop device, of which the bytes are the same and those of the disk below are not.
func TestAnIntruder(t *testing.T) {
	for name, p := range map[string]func() *stack.Stack{"disk": picture, "loop": onLoop} {
		for share, want := range map[float64]bool{0.1: true, 1: false} {
			m := &made{}
			m.add(calm)
			m.add(full)
			m.own(share)
			got := m.feed(judge(), p())
			if is := find(got, "intruder/others") != nil; is != want {
				t.Errorf("%s, the server has %v of its bytes: raised %v, want %v; %+v", name, share, is, want, unknownOf(got, "intruder/others"))
			}
			if want && got.Verdicts[0].ID != "intruder/others" {
				t.Errorf("%s: at the top is %s", name, got.Verdicts[0].ID)
			}
		}
	}
}

// TestWhatAServerWroteBefore: the kernel writes out what a server has changed for a while after it did. Those bytes are not somebody else's.
func TestWhatAServerWroteBefore(t *testing.T) {
	before, flushed := calm, full
	before.writes, flushed.writes = true, true
	for late, want := range map[float64]bool{0: true, 1: false} { // as a share of what the disk writes
		m := &made{}
		m.add(before)
		m.add(flushed)
		for i, b := range m.batches {
			for k := range b.Readings {
				if b.Readings[k].Name == "pages_written" {
					b.Readings[k].Value = late * flushed.reads * 16384 / 4096 * float64(max(0, i/3-calm.seconds))
				}
			}
		}
		m.own(0)
		if got := m.feed(judge(), picture()); find(got, "intruder/others") != nil != want {
			t.Errorf("%v of what is written was changed before: raised %q, want others %v; %+v", late, ids(got), want, unknownOf(got, "intruder/others"))
		}
	}
}

// TestADiskThatDiscards: fstrim keeps requests under way while nothing is read or written, and does not have the disk hang.
func TestADiskThatDiscards(t *testing.T) {
	for discards, want := range map[float64]bool{0: true, 40: false} {
		m := &made{}
		m.add(calm)
		trim := load{seconds: 40, sessions: calm.sessions}
		m.add(trim)
		m.hang(trim)
		for i := range m.batches {
			if m.batches[i].Source == "block" {
				m.batches[i].Set(disk, "discards", discards*float64(i/3))
			}
		}
		if got := m.feed(judge(), picture()); find(got, "device/hung") != nil != want {
			t.Errorf("%v discards a second: raised %q", discards, ids(got))
		}
	}
}

// onHidden has the filesystem be one on a device, sda, of which nobody knows what it lies on.
func onHidden() *stack.Stack {
	p := picture()
	fs := stack.Ref{Kind: "filesystem", Name: "/data"}
	delete(p.Find(fs).Links, "disks")
	p.Gaps = append(p.Gaps, stack.Gap{Of: fs, Facts: []string{"disks"}, Probe: "test", Why: "the devices below a DRBD device are not read"})
	return p
}

// TestWhatLiesBelowIsNotKnown: what is known of the device above still counts, and nothing is ruled out.
func TestWhatLiesBelowIsNotKnown(t *testing.T) {
	p := onHidden()
	m := &made{}
	waits := calm
	waits.sessions = full.sessions
	m.add(waits)
	u := unknownOf(m.feed(judge(), p), "device/saturated")
	if u == nil || !slices.ContainsFunc(u.Missing, func(m rule.Missing) bool { return strings.Contains(m.Why, "DRBD") }) {
		t.Errorf("sessions wait, and not for what is known: %+v", u)
	}
	m.add(full)
	if got := m.feed(judge(), p); !slices.Equal(ids(got), []string{"device/saturated"}) {
		t.Errorf("loaded: %q", ids(got))
	}
}

// TestADeviceThatIsWaitedForIsNamed: however busy it is, one verdict is about the disk that sessions wait for.
func TestADeviceThatIsWaitedForIsNamed(t *testing.T) {
	sessions := map[series.Class]float64{series.ClassRead: 10}
	for ratio, want := range map[float64]string{
		1: "device/latency", 1.2: "device/latency", 1.4: "device/busy", 1.7: "device/busy", 1.95: "device/busy", 2.05: "device/saturated", 5: "device/saturated",
	} {
		m := &made{}
		m.add(calm)
		m.add(load{seconds: 60, reads: 20000, each: 0.2 * ratio, sessions: sessions, psi: 0.8})
		if got := ids(m.run(judge())); !slices.Equal(got, []string{want}) {
			t.Errorf("%v times as long as unloaded: raised %q, want %s", ratio, got, want)
		}
	}
}

// TestRequestsThatComeAloneDoNotWaitForEachOther: a limit above the device that lets them through in bursts makes them
// slower than unloaded as well, and a device with less than one request in flight is not busy.
func TestRequestsThatComeAloneDoNotWaitForEachOther(t *testing.T) {
	m := &made{}
	m.add(calm)
	m.add(load{seconds: 60, reads: 500, each: 0.2 * 1.6, sessions: map[series.Class]float64{series.ClassRead: 4}, psi: 0.8})
	if got := ids(m.run(judge())); len(got) > 0 {
		t.Errorf("500 reads a second of 0.32 ms: raised %q", got)
	}
}

// TestAVolumeAtItsLimit: one that did more of the same before is held at a number. One that did more of something else,
// and does what it can of this now, is not: it is what it was. Nor is one whose requests wait for a processor.
func TestAVolumeAtItsLimit(t *testing.T) {
	sessions := map[series.Class]float64{series.ClassRead: 10, series.ClassCPU: 2}
	quiet := map[series.Class]float64{series.ClassCPU: 2}
	held := load{seconds: 60, reads: 500, each: 20, sessions: sessions, psi: 0.8}
	starved := held
	starved.working = 3.5
	few := load{seconds: 60, reads: 50, each: 200, size: 1 << 20, sessions: sessions, psi: 0.8}
	alone := load{seconds: 40, reads: 40, each: 2, size: 1 << 20, sessions: quiet}
	burst := load{seconds: 30, reads: 2000, each: 0.2, sessions: sessions}
	small := load{seconds: 30, reads: 9000, each: 0.1, size: 512, sessions: sessions}
	large := load{seconds: 30, reads: 100, each: 4, size: 1 << 20, sessions: sessions}
	for name, c := range map[string]struct {
		loads []load
		want  string
	}{
		"burst":               {[]load{burst, held}, "limit/volume"},
		"never":               {[]load{{seconds: 30, reads: 500, each: 0.2, sessions: sessions}, held}, "device/saturated"},
		"larger":              {[]load{alone, {seconds: 30, reads: 3200, each: 0.2, sessions: sessions}, few}, "device/saturated"},
		"smaller, and larger": {[]load{alone, small, large, held}, "device/saturated"},
		"writes":              {[]load{{seconds: 30, reads: 4000, each: 0.1, writes: true, sessions: sessions}, held}, "device/saturated"},
		"many more at a time": {[]load{{seconds: 30, reads: 5000, each: 40, sessions: sessions}, held}, "device/saturated"},
		"no processor":        {[]load{burst, starved}, "device/saturated"},
	} {
		m := &made{}
		m.add(calm)
		for _, l := range c.loads {
			m.add(l)
		}
		if got := m.feed(judge(), picture()); len(got.Verdicts) == 0 || got.Verdicts[0].ID != c.want || c.want != "limit/volume" && find(got, "limit/volume") != nil {
			t.Errorf("%s: raised %q, want %s first", name, ids(got), c.want)
		}
	}
}

// TestALimitOrTheDeviceItself: while all requests have one size, that the device itself has become slow is said beside a
// limit; where their sizes change and their number does not, it is not.
func TestALimitOrTheDeviceItself(t *testing.T) {
	sessions := map[series.Class]float64{series.ClassRead: 10, series.ClassCPU: 2}
	held := load{seconds: 1, reads: 500, each: 20, sessions: sessions, psi: 0.8}
	wider := held
	wider.size = 20000
	for name, c := range map[string]struct {
		second load
		rival  bool
	}{"one size": {held, true}, "two sizes": {wider, false}} {
		m := &made{}
		m.add(calm)
		m.add(load{seconds: 30, reads: 2000, each: 0.2, sessions: sessions})
		for range 15 {
			m.add(held)
			m.add(held)
			m.add(c.second)
			m.add(c.second)
		}
		v := find(m.run(judge()), "limit/volume")
		if v == nil {
			t.Fatalf("%s: not raised", name)
		}
		said := slices.ContainsFunc(v.Against, func(a watch.Against) bool { return a.Holds == rule.Fires && strings.Contains(a.Says, "the same size") })
		if said != c.rival {
			t.Errorf("%s: the device itself is named %v, want %v: %+v", name, said, c.rival, v.Against)
		}
	}
}

// TestADeviceThatBecomesSlowIsNoLongerFine: that a device is as fast as ever ends when it is not, at the latest when
// what it is instead is raised; also where something lies below of which nothing is known, and where it hangs.
func TestADeviceThatBecomesSlowIsNoLongerFine(t *testing.T) {
	waiting := load{seconds: 30, reads: 2000, each: 0.2, sessions: full.sessions, psi: 0.8}
	held, hung := waiting, waiting
	held.seconds, held.reads, held.each = 60, 500, 20
	hung.seconds, hung.reads, hung.each = 60, 0, 0
	for name, c := range map[string]struct {
		picture func() *stack.Stack
		then    load
		want    []string
	}{
		"known below":  {picture, held, []string{"device/saturated", "limit/volume"}},
		"hidden below": {onHidden, held, []string{"device/saturated", "limit/volume"}},
		"hangs":        {picture, hung, []string{"device/hung"}},
	} {
		m := &made{}
		m.add(calm)
		m.add(waiting)
		m.add(c.then)
		m.hang(c.then)
		j := judge()
		j.Picture(start, c.picture())
		var raised []string
		for _, b := range m.batches {
			j.Batch(b)
			now := j.Moment(j.Known())
			for _, id := range ids(now) {
				if !slices.Contains(raised, id) {
					raised = append(raised, id)
				}
			}
			if old := find(now, "device/latency"); old != nil && len(now.Verdicts) > 1 {
				t.Fatalf("%s: beside %q stands: %s", name, ids(now), old.Title)
			}
		}
		if want := append([]string{"device/latency"}, c.want...); !slices.Equal(raised, want) {
			t.Errorf("%s: raised %q, want %q", name, raised, want)
		}
	}
}

// hang has the disk have requests under way that do not end, while a load of none lasts.
func (m *made) hang(l load) {
	if l.reads > 0 {
		return
	}
	for i := len(m.batches) - 3*l.seconds; i < len(m.batches); i += 3 {
		readings := m.batches[i].Readings
		for k := range readings {
			if readings[k].Name == "in_flight" {
				readings[k].Value = 10
			}
		}
	}
}

// TestRequestsOfTwoSizes: an unloaded mixture of sizes that were learned apart is told
// from one that waits.
func TestRequestsOfTwoSizes(t *testing.T) {
	quiet := map[series.Class]float64{series.ClassCPU: 2}
	mixed := load{seconds: 40, reads: 1000, size: 0.8*16384 + 0.2*(1<<18), sessions: map[series.Class]float64{series.ClassRead: 10}, psi: 0.8}
	for each, want := range map[float64]bool{0.8*0.2 + 0.2*3: false, 8: true} {
		m := &made{}
		m.add(calm)
		m.add(load{seconds: 40, reads: 100, each: 3, size: 1 << 18, sessions: quiet})
		mixed.each = each
		m.add(mixed)
		got := m.feed(judge(), picture())
		if is := find(got, "device/saturated") != nil; is != want || unknownOf(got, "device/saturated") != nil {
			t.Errorf("%v ms each: raised %v, want %v; unknown %+v", each, is, want, unknownOf(got, "device/saturated"))
		}
	}
}
