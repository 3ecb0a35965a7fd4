package files

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"plumb/internal/host/proc"
	"plumb/internal/host/scratch"
	"plumb/internal/load"
	"plumb/internal/units"
)

const (
	pageBytes     = 16384
	pageFileBytes = 64 << 20
	longestAppend = 1 << 30 // then it begins anew, and after a quarter of what is free
	usualTime     = 1500 * time.Millisecond
	usualSize     = 32 << 20
	leastRowTime  = 50 * time.Millisecond
)

// prober is a probe under way.
type prober struct {
	c     FsyncConfig
	set   *scratch.Set // the writers' files, and last the page writers'
	place scratch.Place
	pool  []byte
	row   uint64 // counted, so that no two write the same
}

// Fsync measures the rows one after the other, in files that it makes and
// removes. The function done, which may be nil, is called after each row.
// What was measured before ctx was cancelled is given with its error. Like
// Run it changes GOMAXPROCS while it runs.
func Fsync(ctx context.Context, c FsyncConfig, done func(FsyncMeasured)) (out *FsyncResult, err error) {
	p, err := newProber(c)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.set.Remove()) }()
	if err := p.fill(ctx); err != nil {
		return nil, err
	}
	out = &FsyncResult{Dir: c.Dir, Place: p.place}
	for _, row := range p.c.Rows {
		if ctx.Err() != nil {
			break
		}
		m := p.measure(ctx, row)
		if ctx.Err() != nil {
			break // a row cut short tells nothing
		}
		out.Rows = append(out.Rows, m)
		if done != nil {
			done(m)
		}
	}
	out.Hints = hints(out.Place, out.Rows)
	return out, ctx.Err()
}

func newProber(c FsyncConfig) (*prober, error) {
	if c.Rows == nil {
		c.Rows = FsyncPlan()
	}
	if c.Time == 0 {
		c.Time = usualTime
	}
	if c.Size == 0 {
		c.Size = usualSize
	}
	files, err := checkRows(c)
	if err != nil {
		return nil, err
	}
	old, err := scratch.Open(c.Dir, scratch.Fsync) // of a probe that was killed
	if err == nil {
		err = old.Remove()
	}
	if err != nil && !errors.Is(err, scratch.ErrNoSet) {
		return nil, err
	}
	place, err := scratch.Where(c.Dir)
	if err != nil {
		return nil, err
	}
	if err := scratch.Fits(c.Dir, int64(files)*c.Size+2*pageFileBytes); err != nil {
		return nil, err
	}
	names := make([]string, files+1)
	for i := range names {
		names[i] = fmt.Sprintf("plumb_fsync.%d", i)
	}
	set, err := scratch.Make(c.Dir, scratch.Fsync, scratch.Manifest{Purpose: "fsync", Seed: c.Seed, Size: c.Size}, names)
	if err != nil {
		return nil, err
	}
	return &prober{c: c, set: set, place: place, pool: newPool(c.Seed)}, nil
}

// checkRows gives how many files the writers of any row need.
func checkRows(c FsyncConfig) (files int, err error) {
	if c.Time < leastRowTime {
		return 0, fmt.Errorf("%s for each row is too short: at least %s", units.Short(c.Time), units.Short(leastRowTime))
	}
	files = 1
	for _, r := range c.Rows {
		switch {
		case r.By != ByFsync && r.By != ByFdatasync && r.By != ByDsync && r.By != ByDirectDsync:
			return 0, fmt.Errorf("row %q: there is no %q", r.Name, r.By)
		case r.Threads < 1 || r.Threads > 1024 || r.PageWriters < 0 || r.PageWriters > 1024:
			return 0, fmt.Errorf("row %q: %d writers and %d page writers", r.Name, r.Threads, r.PageWriters)
		case r.WriteBytes < 512 || r.WriteBytes > c.Size:
			return 0, fmt.Errorf("row %q: writes of %d bytes, and the files have %d", r.Name, r.WriteBytes, c.Size)
		}
		if !r.Shared {
			files = max(files, r.Threads)
		}
	}
	return files, nil
}

// fill writes all files, so that writing over them needs no new space.
func (p *prober) fill(ctx context.Context) error {
	last := len(p.set.Manifest.Files) - 1
	for i := range p.set.Manifest.Files {
		size := p.c.Size
		if i == last {
			size = pageFileBytes
		}
		if err := p.refill(ctx, i, size); err != nil {
			return err
		}
	}
	return nil
}

func (p *prober) refill(ctx context.Context, i int, size int64) (err error) {
	f, err := p.set.File(i, scratch.Flags{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	p.row++
	b := make([]byte, prepareChunk)
	for at := int64(0); at < size && ctx.Err() == nil; at += int64(len(b)) {
		part := b[:min(int64(len(b)), size-at)]
		fresh(part, p.pool, p.c.Seed+p.row, at, 0)
		if err := f.WriteAt(part, at); err != nil {
			return err
		}
	}
	return f.DropCache()
}

// measure measures a row.
func (p *prober) measure(ctx context.Context, row FsyncRow) (m FsyncMeasured) {
	m.Row = row
	p.row++
	w, err := p.open(row)
	if err != nil {
		m.Err = err
		return m
	}
	before := p.counters()
	processors := runtime.GOMAXPROCS(processors(row.Threads + row.PageWriters))
	res, err := load.Run(ctx, w, load.Options{Threads: row.Threads + row.PageWriters, Warmup: p.c.Warmup, Time: p.c.Time, Seed: p.c.Seed})
	runtime.GOMAXPROCS(processors)
	after := p.counters()
	err = errors.Join(err, w.close())
	if err == nil {
		err = res.Ended
	}
	if row.Append {
		err = errors.Join(err, p.refill(ctx, 0, p.c.Size))
	}
	if err != nil {
		m.Err = err
		return m
	}
	m.Result = res
	seconds := res.Measured.Seconds()
	m.Rate, m.Summary = float64(res.Ops[0].Done)/seconds, res.Ops[0].Response.Summary()
	m.Pages, m.Page = float64(res.Ops[1].Done)/seconds, res.Ops[1].Response.Summary()
	if p.c.Warmup == 0 {
		m.compare(before, after)
	}
	return m
}

// counters sums what the disks did; nil when that is not known.
func (p *prober) counters() *proc.Disk {
	if len(p.place.Disks) == 0 {
		return nil
	}
	sum := proc.Disk{HasFlushes: true}
	for _, d := range p.place.Disks {
		c, err := d.Count()
		if err != nil {
			return nil
		}
		sum.WrittenBytes += c.WrittenBytes
		sum.Flushes += c.Flushes
		sum.HasFlushes = sum.HasFlushes && c.HasFlushes
	}
	return &sum
}

// compare says what reached the disks. Others' writes are in it too.
func (m *FsyncMeasured) compare(before, after *proc.Disk) {
	if before == nil || after == nil || m.Result.Ops[0].Done == 0 {
		return
	}
	if before.HasFlushes && after.HasFlushes && after.Flushes >= before.Flushes {
		per := float64(after.Flushes-before.Flushes) / float64(m.Result.Ops[0].Done)
		m.Flushes = &per
	}
	asked := m.Result.Ops[0].WriteBytes + m.Result.Ops[1].WriteBytes
	if asked > 0 && after.WrittenBytes >= before.WrittenBytes {
		per := float64(after.WrittenBytes-before.WrittenBytes) / float64(asked)
		m.Written = &per
	}
}

// open opens the files of a row.
func (p *prober) open(row FsyncRow) (*durable, error) {
	w := &durable{row: row, pool: p.pool, key: p.c.Seed + p.row<<32, blocks: p.c.Size / row.WriteBytes}
	if row.Append {
		w.blocks = max(1, min(longestAppend, p.place.Free/4)/row.WriteBytes)
	}
	flags := scratch.Flags{Direct: row.By == ByDirectDsync, Dsync: row.By == ByDsync || row.By == ByDirectDsync}
	count := row.Threads
	if row.Shared {
		count = 1
	}
	for i := range count {
		f, err := p.set.File(i, flags)
		if err == nil {
			w.files = append(w.files, f)
			err = ready(f, row)
		}
		if err != nil {
			return nil, errors.Join(err, w.close())
		}
	}
	if row.PageWriters > 0 {
		f, err := p.set.File(len(p.set.Manifest.Files)-1, scratch.Flags{Direct: true})
		if err == nil {
			w.pages = f
			err = f.CheckDirect(pageBytes)
		}
		if err != nil {
			return nil, errors.Join(err, w.close())
		}
	}
	return w, nil
}

func ready(f *scratch.File, row FsyncRow) error {
	if row.Append {
		return errors.Join(f.Truncate(0), f.Sync())
	}
	if row.By == ByDirectDsync {
		return f.CheckDirect(row.WriteBytes)
	}
	return nil
}
