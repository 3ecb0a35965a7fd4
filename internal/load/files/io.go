package files

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"plumb/internal/host/scratch"
	"plumb/internal/load"
)

// file is what a workload asks of an open file.
type file interface {
	ReadAt(p []byte, at int64) error
	WriteAt(p []byte, at int64) error
	Sync() error
	Datasync() error
	Close() error
}

// IO is the workload of fileio. It keeps its files open until Close.
type IO struct {
	c       IOConfig
	plan    plan
	files   []file
	pool    []byte
	key     uint64 // of what is written; another in each run
	locks   []sync.RWMutex
	mu      sync.Mutex
	workers []*ioWork
}

const (
	lockStripes = 1024
	// turn is how many operations a thread does before it lets the scheduler
	// have a look. One that never does is taken for stuck after 10 ms; its
	// processor is taken away within the next system call, and the scheduler's
	// watch then wakes every 20 µs: 2 to 4 µs of processor for each request.
	turn = 16
)

var errClosed = errors.New("closed")

// NewIO opens the test files that Prepare made; for seqwr it makes them, or
// empties the ones that Plumb made before.
func NewIO(c IOConfig) (*IO, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	set, err := openFor(c)
	if err != nil {
		return nil, err
	}
	if c.Writes() {
		set.Manifest.Runs++
		if err := set.Save(); err != nil {
			return nil, err
		}
	}
	w := newIO(c, set.Manifest.Runs)
	flags := scratch.Flags{ReadOnly: !c.Writes(), Direct: c.Direct, Sync: c.Sync, Dsync: c.Dsync}
	for i := range set.Manifest.Files {
		f, err := openOne(set, i, c, flags)
		if err != nil {
			_ = w.Close() // the first error is what is told
			return nil, err
		}
		w.files = append(w.files, f)
	}
	return w, nil
}

// newIO makes a workload without files.
func newIO(c IOConfig, run uint64) *IO {
	w := &IO{c: c, plan: newPlan(c), key: c.Seed ^ (run+1)*0x9e3779b97f4a7c15}
	if c.Writes() {
		w.pool = newPool(w.key)
	}
	if c.Validate {
		w.locks = make([]sync.RWMutex, lockStripes)
	}
	return w
}

func openOne(set *scratch.Set, i int, c IOConfig, flags scratch.Flags) (*scratch.File, error) {
	f, err := set.File(i, flags)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	switch {
	case err != nil:
	case c.Mode == SeqWrite:
		err = f.Truncate(0)
	case size != c.fileSize():
		err = fmt.Errorf("%s has %d bytes, and %d were prepared", f.Path(), size, c.fileSize())
	}
	if err == nil && c.Direct && i == 0 {
		err = f.CheckDirect(c.BlockSize)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Name implements load.Workload.
func (w *IO) Name() string { return "fileio " + w.c.Mode }

// Ops implements load.Workload.
func (w *IO) Ops() []string { return []string{"read", "write", "fsync"} }

// Config is what the workload was made from.
func (w *IO) Config() IOConfig { return w.c }

// Open implements load.Workload.
func (w *IO) Open(context.Context, int) (load.Work, error) {
	buffer, err := scratch.Buffer(int(w.plan.chunk * w.c.BlockSize))
	if err != nil {
		return nil, err
	}
	work := &ioWork{io: w, buffer: buffer}
	w.mu.Lock()
	w.workers = append(w.workers, work)
	w.mu.Unlock()
	return work, nil
}

// Close closes the files. When an operation hangs it leaves them open, and
// says so: the kernel would give their numbers to other files meanwhile.
func (w *IO) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, work := range w.workers {
		work.closed.Store(true)
	}
	for _, work := range w.workers {
		if work.busy.Load() {
			return errors.New("a request to a test file has not completed: the files stay open until plumb ends")
		}
	}
	for _, work := range w.workers {
		scratch.FreeBuffer(work.buffer)
	}
	var bad []error
	for _, f := range w.files {
		bad = append(bad, f.Close())
	}
	w.files, w.workers = nil, nil
	return errors.Join(bad...)
}

// ioWork is one thread.
type ioWork struct {
	io     *IO
	buffer []byte
	turns  int
	busy   atomic.Bool
	closed atomic.Bool
}

// Do implements load.Work.
func (k *ioWork) Do(n int64, t *load.Tally) error {
	k.busy.Store(true)
	defer k.busy.Store(false)
	if k.closed.Load() {
		return &load.Failure{Class: load.Lost, Doing: "use a test file", Err: errClosed}
	}
	if k.turns++; k.turns%turn == 0 {
		runtime.Gosched()
	}
	r := k.io.plan.at(n)
	t.Op = r.op
	var err error
	switch r.op {
	case opRead:
		t.Reads, t.ReadBytes = 1, r.length
		err = k.read(r)
	case opWrite:
		t.Writes, t.WriteBytes = 1, r.length
		err = k.write(r, n)
		if err == nil && k.io.c.FsyncAll {
			t.Other = 1
			err = k.io.sync(r.file)
		}
	case opFsync:
		t.Other = 1
		err = k.io.sync(r.file)
	}
	if err != nil {
		return &load.Failure{Class: load.Fatal, Doing: k.io.Name(), Err: err}
	}
	return nil
}

// Close implements load.Work. A request under way cannot be called back.
func (k *ioWork) Close() error {
	k.closed.Store(true)
	return nil
}

func (k *ioWork) read(r request) error {
	b := k.buffer[:r.length]
	if k.io.locks == nil {
		return k.io.files[r.file].ReadAt(b, r.at)
	}
	lock := k.io.lock(r)
	lock.RLock()
	defer lock.RUnlock()
	if err := k.io.files[r.file].ReadAt(b, r.at); err != nil {
		return err
	}
	size, place := k.io.c.BlockSize, k.io.place(r)
	for i := int64(0); i*size < r.length; i++ {
		if err := verify(b[i*size:(i+1)*size], place+i); err != nil {
			return fmt.Errorf("verify block %d of file %d: %w", r.at/size+i, r.file, err)
		}
	}
	return nil
}

func (k *ioWork) write(r request, n int64) error {
	b := k.buffer[:r.length]
	fresh(b, k.io.pool, k.io.key, n, k.io.c.Compressible)
	size, place := k.io.c.BlockSize, k.io.place(r)
	for i := int64(0); i*size < r.length; i++ {
		name(b[i*size:(i+1)*size], place+i, uint64(n), k.io.c.Validate)
	}
	if k.io.locks == nil {
		return k.io.files[r.file].WriteAt(b, r.at)
	}
	lock := k.io.lock(r)
	lock.Lock()
	defer lock.Unlock()
	return k.io.files[r.file].WriteAt(b, r.at)
}

// place numbers the first block of a request among all blocks.
func (w *IO) place(r request) int64 { return int64(r.file)*w.plan.perFile + r.at/w.c.BlockSize }

// lock keeps a read from seeing half of a write: the kernel does not promise
// that. Requests of one run all begin at multiples of their length.
func (w *IO) lock(r request) *sync.RWMutex {
	return &w.locks[uint64(w.place(r)/w.plan.chunk)%lockStripes]
}

func (w *IO) sync(file int) error {
	if w.c.FsyncMode == "fdatasync" {
		return w.files[file].Datasync()
	}
	return w.files[file].Sync()
}
