package volume

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"plumb/internal/await"
	"plumb/internal/draw"
	"plumb/internal/host"
	"plumb/internal/host/scratch"
	"plumb/internal/lab/experiment"
)

// Errors of a limit that was measured.
var (
	errLoose = errors.New("the limit is not kept")
	errSlow  = errors.New("the limit was not reached: what is below the volume is slower")
)

const (
	probeList   = "plumb-limit.json"
	probeFile   = "plumb-limit.0"
	probeBytes  = 32 << 20
	probeSmall  = 4 << 10   // of a request that tells IOPS
	probeLarge  = 256 << 10 // of one that tells bytes
	probeWays   = 16        // requests under way
	probeSettle = 300 * time.Millisecond
	probeTime   = 900 * time.Millisecond
	probeTries  = 3 // each longer: others use the machine too, and the kernel lets requests through ten times a second, in heaps
	tolerance   = 0.05
	syncMost    = 32 // buffered writes between two calls of fsync, of each worker
)

// phase is one state of a profile that is measured.
type phase struct {
	profile experiment.Profile // in which nothing changes while it is measured
	suffix  string             // of the facts' names
	short   bool               // reads alone
}

// phases gives what is to be measured: what lasts, and what the credits
// allow at the beginning.
func phases(p experiment.Profile) []phase {
	p.Dip = nil // while it lasts
	if p.Burst == nil {
		return []phase{{p, "", false}}
	}
	lasting, burst := p, p
	lasting.Burst, burst.Burst = nil, nil
	burst.IOPS.Both = p.Burst.IOPS
	if p.Burst.Bytes > 0 {
		burst.Bytes.Both = p.Burst.Bytes
	}
	return []phase{{lasting, ", without credits", p.Burst.Full > 0}, {burst, ", with credits", false}}[:phasesOf(p)]
}

func phasesOf(p experiment.Profile) int {
	if p.Burst.Full > 0 {
		return 2
	}
	return 1
}

// measurement is one load and what it tells.
type measurement struct {
	what    string
	asked   float64
	of      func(paces) float64
	unit    float64 // that the fact counts in
	reads   bool    // by the odd workers where writes is set too
	writes  bool
	size    int64
	through bool // the page cache, and fsync
}

// measurements gives what tells whether a profile is kept. IOPS that would be
// more bytes than allowed cannot be reached, nor bytes that would be more
// IOPS; they are left out.
func measurements(ph phase) (all []measurement) {
	p := ph.profile
	reads := func(c paces) float64 { return c.readIOPS }
	writes := func(c paces) float64 { return c.writeIOPS }
	both := func(c paces) float64 { return c.readIOPS + c.writeIOPS }
	add := func(most float64, m measurement) {
		if m.asked > 0 && (most <= 0 || m.asked*float64(m.size) < most) {
			m.what, m.unit = m.what+" IOPS"+ph.suffix, 1
			all = append(all, m)
		}
	}
	readMost, writeMost := either(p.Bytes.Both, p.Bytes.Read), either(p.Bytes.Both, p.Bytes.Write)
	add(readMost, measurement{what: "read", asked: either(p.IOPS.Both, p.IOPS.Read), of: reads, reads: true, size: probeSmall})
	if ph.short {
		return all
	}
	add(writeMost, measurement{what: "write", asked: either(p.IOPS.Both, p.IOPS.Write), of: writes, writes: true, size: probeSmall})
	add(writeMost, measurement{what: "buffered write", asked: either(p.IOPS.Both, p.IOPS.Write), of: writes, writes: true, size: probeSmall, through: true})
	add(readMost, measurement{what: "read and write", asked: p.IOPS.Both, of: both, reads: true, writes: true, size: probeSmall})
	return append(all, byteMeasurements(p, ph.suffix)...)
}

func byteMeasurements(p experiment.Profile, suffix string) (all []measurement) {
	for _, m := range []struct {
		measurement
		io float64
	}{
		{measurement{what: "read", asked: either(p.Bytes.Both, p.Bytes.Read), of: func(c paces) float64 { return c.readBytes }, reads: true}, either(p.IOPS.Both, p.IOPS.Read)},
		{measurement{what: "write", asked: either(p.Bytes.Both, p.Bytes.Write), of: func(c paces) float64 { return c.writeBytes }, writes: true}, either(p.IOPS.Both, p.IOPS.Write)},
	} {
		if p.Unit > 0 && m.io > 0 {
			m.asked = min(m.asked, m.io*float64(p.Unit))
		}
		if m.asked <= 0 || m.io > 0 && p.Unit == 0 && m.asked > m.io*probeLarge {
			continue
		}
		m.measurement.what += " MiB/s" + suffix
		m.measurement.unit, m.measurement.size = experiment.MiB, probeLarge
		all = append(all, m.measurement)
	}
	return all
}

func either(both, one float64) float64 {
	if both > 0 {
		return both
	}
	return one
}

// probe is a test file, and the devices whose counters tell what reached them.
type probe struct {
	set     *scratch.Set
	h       host.Reader
	devices []string
	direct  bool
	seed    atomic.Uint64
}

// newProbe makes the file, while no limit holds it up.
func newProbe(dir string, h host.Reader, devices []string) (p *probe, err error) {
	if old, err := scratch.Open(dir, probeList); err == nil { // of a lab that was killed
		if err := old.Remove(); err != nil {
			return nil, err
		}
	}
	if err := scratch.Fits(dir, 2*probeBytes); err != nil {
		return nil, err
	}
	set, err := scratch.Make(dir, probeList, scratch.Manifest{Purpose: "limit", Block: probeSmall, Size: probeBytes}, []string{probeFile})
	if err != nil {
		return nil, err
	}
	p = &probe{set: set, h: h, devices: devices}
	if err := p.fill(); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *probe) fill() error {
	f, err := p.set.File(0, scratch.Flags{})
	if err != nil {
		return err
	}
	buffer := make([]byte, 1<<20)
	for at := int64(0); at < probeBytes && err == nil; at += int64(len(buffer)) {
		draw.Content(buffer, p.seed.Add(1), -1, -1, 0)
		err = f.WriteAt(buffer, at)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.DropCache()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if at, err := scratch.Where(p.set.Dir); err != nil || at.Type == "fuse" || at.Type == "zfs" {
		return err // they take the flag and read from the ARC all the same
	}
	f, err = p.set.File(0, scratch.Flags{Direct: true})
	if errors.Is(err, scratch.ErrNoDirect) {
		return nil
	}
	if err != nil {
		return err
	}
	if err = f.CheckDirect(probeSmall); err == nil {
		p.direct = true
	} else if errors.Is(err, scratch.ErrNoDirect) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

func (p *probe) close() error { return p.set.Remove() }

// measure does all measurements of a phase. Without direct I/O, as on ZFS,
// reads would come from memory: only writes are measured then, and that they
// do not reach the limit says nothing of it.
func (p *probe) measure(ctx context.Context, ph phase) (facts []experiment.LimitFact, err error) {
	var bad []error
	for _, m := range measurements(ph) {
		if !p.direct && (m.reads || !m.through) {
			continue
		}
		did, err := p.one(ctx, m)
		if err != nil {
			return facts, fmt.Errorf("measure the limit of the volume: %w", err)
		}
		got := m.of(did)
		short := got < m.asked*(1-tolerance)
		if short && bound(ph.profile, did) {
			continue // the filesystem makes other requests of ours, which met another limit
		}
		facts = append(facts, experiment.LimitFact{What: m.what, Asked: m.asked / m.unit, Measured: got / m.unit})
		switch {
		case got > m.asked*(1+tolerance):
			bad = append(bad, fmt.Errorf("%w: %s: %.4g asked, %.4g measured", errLoose, m.what, m.asked/m.unit, got/m.unit))
		case short && p.direct: // without direct I/O it is not known what would have been reached
			bad = append(bad, fmt.Errorf("%w: %s: %.4g asked, %.4g measured", errSlow, m.what, m.asked/m.unit, got/m.unit))
		}
	}
	return facts, errors.Join(bad...)
}

// one measures, and once or twice more when it is off.
func (p *probe) one(ctx context.Context, m measurement) (did paces, err error) {
	for try := 1; try <= probeTries; try++ {
		if did, err = p.load(ctx, m, time.Duration(try*try)*probeTime); err != nil {
			return did, err
		}
		if got := m.of(did); got >= m.asked*(1-tolerance) && got <= m.asked*(1+tolerance) {
			break
		}
	}
	return did, nil
}

// bound tells whether something that a device did was as much as it may do.
func bound(p experiment.Profile, did paces) bool {
	near := func(did, most float64) bool { return most > 0 && did >= most*(1-tolerance) }
	return near(did.readIOPS+did.writeIOPS, p.IOPS.Both) || near(did.readIOPS, p.IOPS.Read) || near(did.writeIOPS, p.IOPS.Write) ||
		near(did.readBytes+did.writeBytes, p.Bytes.Both) || near(did.readBytes, p.Bytes.Read) || near(did.writeBytes, p.Bytes.Write)
}

// load keeps requests under way and gives what the busiest device did.
func (p *probe) load(ctx context.Context, m measurement, length time.Duration) (did paces, err error) {
	err = p.during(ctx, m, func() error {
		before, err := p.counts(ctx)
		if err != nil {
			return err
		}
		began := time.Now()
		_ = await.Pause(ctx, length)
		after, err := p.counts(ctx)
		if err != nil {
			return err
		}
		took := time.Since(began).Seconds()
		for i := range after {
			if d := after[i].since(before[i], took); m.of(d) >= m.of(did) {
				did = d
			}
		}
		return ctx.Err()
	})
	return did, err
}

// during does something while requests are under way.
func (p *probe) during(ctx context.Context, m measurement, do func() error) (err error) {
	f, err := p.set.File(0, scratch.Flags{Direct: !m.through})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	// A request that waits for the limit keeps a thread; without room for all of
	// them the others would wait for the scheduler to notice.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), probeWays+2)))
	var stop atomic.Bool
	bad := make([]error, probeWays)
	var all sync.WaitGroup
	for i := range probeWays {
		all.Go(func() { bad[i] = p.work(f, m, i, &stop) })
	}
	defer func() {
		stop.Store(true)
		all.Wait()
		err = errors.Join(err, errors.Join(bad...))
	}()
	_ = await.Pause(ctx, probeSettle)
	return do()
}

func (p *probe) counts(ctx context.Context) (all []paces, err error) {
	for _, d := range p.devices {
		c, err := counts(ctx, p.h, d)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// work does requests at drawn places until it is stopped.
func (p *probe) work(f *scratch.File, m measurement, worker int, stop *atomic.Bool) error {
	buffer, err := scratch.Buffer(int(m.size))
	if err != nil {
		return err
	}
	defer scratch.FreeBuffer(buffer)
	seed := p.seed.Add(1)
	draw.Content(buffer, seed, -1, -1, 0)
	reads := m.reads && (!m.writes || worker%2 == 1)
	// So few that the last calls take no second: each waits for the limit.
	syncEvery := int64(min(max(m.asked/100, 1), syncMost))
	for n := int64(0); !stop.Load(); n++ {
		s := draw.Keyed(seed, 0, n)
		at := s.Below(probeBytes/m.size) * m.size
		switch {
		case reads:
			err = f.ReadAt(buffer, at)
		default:
			err = f.WriteAt(buffer, at)
		}
		if err == nil && m.through && n%syncEvery == syncEvery-1 {
			err = f.Sync()
		}
		if err != nil {
			return err
		}
	}
	return nil
}
