package files

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"plumb/internal/draw"
	"plumb/internal/host/scratch"
	"plumb/internal/load"
)

// durable is the workload of one row of the fsync probe. The first workers
// are the writers, the others the page writers; which file an operation goes
// to depends on its worker.
type durable struct {
	row    FsyncRow
	files  []file
	pages  file
	pool   []byte
	key    uint64
	blocks int64 // before the place begins anew

	mu      sync.Mutex
	workers []*durableWork
}

// Name implements load.Workload.
func (w *durable) Name() string { return "fsync: " + w.row.Name }

// Ops implements load.Workload.
func (w *durable) Ops() []string { return []string{"durable write", "page write"} }

// Open implements load.Workload.
func (w *durable) Open(_ context.Context, worker int) (load.Work, error) {
	k := &durableWork{durable: w, size: w.row.WriteBytes}
	switch {
	case worker >= w.row.Threads:
		k.file, k.size, k.page = w.pages, pageBytes, true
	case w.row.Shared:
		k.file = w.files[0]
	default:
		k.file = w.files[worker]
	}
	var err error
	if k.buffer, err = scratch.Buffer(int(k.size)); err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.workers = append(w.workers, k)
	w.mu.Unlock()
	return k, nil
}

// close closes the files, unless a request hangs.
func (w *durable) close() error {
	for _, k := range w.workers {
		k.closed.Store(true)
	}
	for _, k := range w.workers {
		if k.busy.Load() {
			return errors.New("a request has not completed: the files stay open until plumb ends")
		}
	}
	var bad []error
	for _, k := range w.workers {
		scratch.FreeBuffer(k.buffer)
	}
	for _, f := range w.files {
		bad = append(bad, f.Close())
	}
	if w.pages != nil {
		bad = append(bad, w.pages.Close())
	}
	return errors.Join(bad...)
}

type durableWork struct {
	*durable
	file   file
	buffer []byte
	size   int64
	page   bool
	turns  int
	own    int64 // operations of this writer
	busy   atomic.Bool
	closed atomic.Bool
}

// Do implements load.Work.
func (k *durableWork) Do(n int64, t *load.Tally) error {
	k.busy.Store(true)
	defer k.busy.Store(false)
	if k.closed.Load() {
		return &load.Failure{Class: load.Lost, Doing: k.Name(), Err: errClosed}
	}
	if k.turns++; k.turns%turn == 0 {
		runtime.Gosched()
	}
	fresh(k.buffer, k.pool, k.key, n, 0)
	t.Writes, t.WriteBytes = 1, k.size
	var err error
	if k.page {
		t.Op = 1
		s := draw.Keyed(k.key, streamPlace, n)
		err = k.file.WriteAt(k.buffer, s.Below(pageFileBytes/pageBytes)*pageBytes)
	} else {
		t.Other = 1
		err = k.write(n)
	}
	if err != nil {
		return &load.Failure{Class: load.Fatal, Doing: k.Name(), Err: err}
	}
	return nil
}

// write writes and makes durable. A writer that is alone goes on from its
// own last place; several in one file go on from each other's.
func (k *durableWork) write(n int64) error {
	place := k.own
	if k.row.Shared && k.row.Threads > 1 {
		place = n
	}
	k.own++
	if err := k.file.WriteAt(k.buffer, place%k.blocks*k.size); err != nil {
		return err
	}
	switch k.row.By {
	case ByFsync:
		return k.file.Sync()
	case ByFdatasync:
		return k.file.Datasync()
	}
	return nil // the file was opened so that the write itself is durable
}

// Close implements load.Work.
func (k *durableWork) Close() error {
	k.closed.Store(true)
	return nil
}
