package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"plumb/internal/await"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/units"
	"plumb/internal/watch"
)

// Options say how to record.
type Options struct {
	Dir     string
	Plumb   string // version
	Host    string // what the host is known by
	Cap     int64  // bytes that the recording takes at most; 0: MostBytes
	Counter func(of stack.Ref, name string) bool
	Say     func(text string)                     // called when recording stops and goes on; may be nil
	Now     func() time.Time                      // nil: the clock
	Room    func() (free, total int64, err error) // of the filesystem, bytes; nil: it is asked

	again time.Duration // how long it waits after a write that failed
}

// MostBytes is what a recording takes at most unless another limit is given.
const MostBytes = 1 << 30

// leastFree is the part of the filesystem that must be free.
const leastFree = 0.05

// Writer records. It is a watch.Sink: its methods only note what they are
// given. Encoding is done by a goroutine, and writing by another, so that a disk
// that is full or hangs stops nobody.
type Writer struct {
	opt    Options
	db     *sql.DB
	host   *host.LiveDoer
	unlock func()
	words  *words
	queue  *queue
	store  *store

	earlier []watch.Baseline // learned by an earlier run

	concluded  sync.Mutex
	conclusion conclusion
	told       map[spanKey]time.Time // spans that were taken, and until when they went

	mu       sync.Mutex
	now      *minute
	pictures []picture
	number   int64     // of the block that is being filled
	began    time.Time // when its first batch came, by the monotonic clock
	halved   bool      // it was written once
	closed   bool
	jobs     chan job
	numbers  *atomic.Int64 // of the block that was begun last
	encoded  chan struct{} // closed when the encoder has ended
	written  chan struct{} // closed when the writer has ended
	ending   chan struct{} // closed when both are to end
}

type job struct {
	number   int64
	minute   *minute
	pictures []picture
}

// Open begins a recording, or goes on with one. The error is ErrLocked when
// another process records there, and ErrNewer when a newer plumb did.
func Open(ctx context.Context, opt Options) (*Writer, error) {
	w, err := open(ctx, opt)
	if err != nil {
		return nil, fmt.Errorf("record into %s: %w", opt.Dir, explain(err))
	}
	return w, nil
}

func open(ctx context.Context, opt Options) (w *Writer, err error) {
	opt, err = opt.complete()
	if err != nil {
		return nil, err
	}
	d := host.NewLiveDoer(host.NewLive(host.LiveOptions{Plumb: opt.Plumb}))
	real, unlock, err := prepare(ctx, d, opt.Dir)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	opt.Dir = real
	w = &Writer{opt: opt, host: d, unlock: unlock, words: newWords(), queue: newQueue(), jobs: make(chan job, mostWaiting),
		encoded: make(chan struct{}), written: make(chan struct{}), ending: make(chan struct{}), numbers: &atomic.Int64{},
		conclusion: conclusion{spans: map[spanKey]watch.Span{}}, told: map[spanKey]time.Time{}}
	if err := w.begin(ctx); err != nil {
		unlock()
		return nil, errors.Join(err, d.Close())
	}
	go w.encode()
	go w.write()
	return w, nil
}

func (o Options) complete() (Options, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o, err
	}
	o.Dir = dir
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	if o.Counter == nil {
		o.Counter = func(stack.Ref, string) bool { return false }
	}
	if o.again == 0 {
		o.again = 5 * time.Second
	}
	if o.Cap == 0 {
		o.Cap = MostBytes
	}
	if o.Room == nil {
		o.Room = func() (int64, int64, error) { return room(dir) }
	}
	return o, nil
}

// begin opens the database and notes that nothing was recorded until now.
func (w *Writer) begin(ctx context.Context) (err error) {
	w.db, err = database(w.opt.Dir, url.Values{"_pragma": {"synchronous(NORMAL)", "wal_autocheckpoint(2000)", "journal_size_limit(8388608)"}, "_txlock": {"immediate"}})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.db.Close())
		}
	}()
	old, err := made(ctx, w.db)
	if err != nil {
		return err
	}
	if !old {
		err = create(ctx, w.db, map[string]string{"form": strconv.Itoa(Form), "plumb": w.opt.Plumb, "host": w.opt.Host})
	} else if err = check(ctx, w.db); err == nil {
		err = renew(ctx, w.db)
	}
	if err != nil {
		return err
	}
	for _, d := range w.words.each() {
		if err := d.load(ctx, w.db); err != nil {
			return err
		}
	}
	var number int64
	var last sql.NullInt64
	// What was written last, whatever the clock had said before.
	if err := w.db.QueryRowContext(ctx, `SELECT coalesce(max(id), 0), (SELECT last FROM block WHERE tier = ? ORDER BY id DESC LIMIT 1) FROM block`, seconds).Scan(&number, &last); err != nil {
		return err
	}
	w.numbers.Store(number)
	// A verdict that held when an earlier run ended is known to have held until then: not to before it began, where the clock was set back.
	if _, err := w.db.ExecContext(ctx, `UPDATE verdict SET until = max(since, ?) WHERE until = 0`, last.Int64); err != nil {
		return err
	}
	if w.earlier, _, err = learned(ctx, w.db, w.opt.Now()); err != nil && !Damaged(err) { // what is damaged is learned again
		return err
	}
	w.store = &store{db: w.db, words: w.words, numbers: w.numbers, opt: w.opt}
	if now := w.opt.Now(); last.Valid && now.Sub(time.Unix(0, last.Int64)) > 2*time.Second {
		w.queue.lost(loss{since: time.Unix(0, last.Int64), until: now, why: "nothing was recorded: plumb watch record did not run, or was killed"})
	}
	return nil
}

// Picture implements watch.Sink.
func (w *Writer) Picture(at time.Time, s *stack.Stack) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.turn(at)
	w.pictures = append(w.pictures, picture{at, len(w.now.order), s})
}

// Batch implements watch.Sink.
func (w *Writer) Batch(b series.Batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.turn(b.At)
	if more := len(b.Readings) - mostReadings; more > 0 {
		b.Readings = b.Readings[:mostReadings]
		b.Gaps = append(slices.Clone(b.Gaps), series.Gap{Why: fmt.Sprintf("%s left out: it had more than %d", units.Count(more, "value"), mostReadings)})
	}
	gaps := int64(0)
	if len(b.Gaps) > 0 {
		gaps = w.words.gapLists.id(seconds, w.now.t0.UnixNano(), encodeGaps(b.Gaps))
	}
	w.now.add(entry{Batch: b}, gaps)
}

// CatchUp waits while so much waits to be written that soon something would be lost: whoever records faster than time goes by calls it.
func (w *Writer) CatchUp(ctx context.Context) error {
	return await.Until(ctx, time.Minute, func() (bool, error) { return !w.behind(), nil })
}

func (w *Writer) behind() bool { return len(w.jobs)+w.queue.waiting() > mostWaiting/2 }

// turn begins a new minute when it is time. A batch that comes a little late
// stays with the one that is being filled, so that the order is kept; after the
// clock was set back, a new one begins.
func (w *Writer) turn(at time.Time) {
	if w.now != nil {
		off := at.Sub(w.now.t0)
		if off < time.Minute && off > -time.Minute && !w.now.full() {
			return
		}
		w.seal()
	}
	w.now, w.number, w.began = &minute{t0: at.UTC().Truncate(time.Minute)}, w.numbers.Add(1), time.Now()
	w.pictures, w.halved = nil, false
}

// seal hands the minute to the encoder, or loses it.
func (w *Writer) seal() {
	if w.now == nil {
		return
	}
	select {
	case w.jobs <- job{w.number, w.now, w.pictures}:
	default:
		w.queue.lost(loss{since: w.now.t0, until: w.now.t0.Add(time.Minute), why: "the processor was too busy to record"})
	}
	w.now = nil
}

// half gives the minute as it is when it is half over, and ends one to which
// nothing is added any more.
func (w *Writer) half() (j job, due bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.now == nil {
		return job{}, false
	}
	age := time.Since(w.began)
	if age > 65*time.Second {
		w.seal()
		return job{}, false
	}
	if w.halved || age < 25*time.Second {
		return job{}, false
	}
	w.halved = true
	return job{w.number, w.now.snapshot(), w.pictures}, true
}

// encode is the goroutine that makes blocks of minutes.
func (w *Writer) encode() {
	defer close(w.encoded)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	b := &bases{}
	one := func(j job) {
		if w.queue.put(w.words.flushOf(j.number, seconds, j.minute, j.pictures, b)) {
			b.number = 0 // what was lost may have been the base of all others
		}
	}
	for {
		select {
		case j, more := <-w.jobs:
			if !more {
				return
			}
			one(j)
		case <-tick.C:
			if len(w.jobs) > 0 {
				continue // the older first
			}
			if j, due := w.half(); due {
				one(j)
			}
		}
	}
}

// write is the goroutine that writes blocks.
func (w *Writer) write() {
	defer close(w.written)
	stopped := ""
	for {
		f, losses := w.queue.head()
		if f != nil {
			c := w.take()
			err := w.store.save(f, losses, c)
			if err == nil {
				if stopped != "" {
					w.opt.Say("recording continues")
				}
				stopped = ""
				w.queue.wrote(f)
				continue
			}
			w.giveBack(c)
			if stopped == "" {
				w.opt.Say(fmt.Sprintf("recording stopped: %v; %d minutes are kept in memory meanwhile", err, mostWaiting))
			}
			stopped = err.Error()
			w.queue.failed(stopped)
		}
		select {
		case <-w.ending:
			// Asked anew: the last block may have come since the look above.
			if stopped != "" || w.queue.waiting() == 0 {
				return
			}
		case <-w.wake(f != nil):
		}
	}
}

// wake tells when to look into the queue: when something comes, or, after a
// failure, some seconds later.
func (w *Writer) wake(failed bool) <-chan struct{} {
	if !failed {
		return w.queue.wake
	}
	later := make(chan struct{})
	time.AfterFunc(w.opt.again, func() { close(later) })
	return later
}

// Close writes what is there and ends the recording. It waits no longer than
// the context: what a disk that hangs has not taken by then is lost, and an
// error.
func (w *Writer) Close(ctx context.Context) error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.closed = true
	w.seal()
	close(w.jobs)
	w.mu.Unlock()
	<-w.encoded
	close(w.ending)
	select {
	case <-w.written:
	case <-ctx.Done():
		return hint.With(fmt.Errorf("record into %s: the disk does not answer, and %s lost", w.opt.Dir, units.Counted(w.queue.waiting(), "block", "is", "are")), "look into the kernel's log")
	}
	err := errors.Join(explain(w.db.Close()), w.host.Close())
	w.unlock()
	if n := w.queue.waiting(); n > 0 {
		err = errors.Join(err, fmt.Errorf("record into %s: %s lost: %s", w.opt.Dir, units.Counted(n, "block", "is", "are"), w.queue.reason()))
	}
	return err
}
