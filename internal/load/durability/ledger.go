package durability

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// interval is how often what was noted is brought to the disk.
const interval = 5 * time.Millisecond

// mostWaiting is how much may wait for a slow disk; then who acknowledges
// waits too.
const mostWaiting = 1 << 20

// Ledger notes what was acknowledged. Its methods may be called by any number
// of goroutines.
type Ledger struct {
	Header Header
	path   string
	file   *os.File

	mu      sync.Mutex
	room    *sync.Cond // when the disk has caught up, or will no more
	waiting []byte
	written []byte // the other buffer
	place   uint32
	err     error // the first; nothing is noted after it
	stop    chan struct{}
	done    chan struct{}
}

// newRun draws the number of a run.
func newRun() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, by its documentation
	return int64(binary.LittleEndian.Uint64(b[:])>>1) | 1
}

// Create begins a ledger. The file must not exist: a ledger is never written
// over. A Header.Run of 0 is drawn, an empty Began is now.
func Create(path string, h Header) (*Ledger, error) {
	if h.Run == 0 {
		h.Run = newRun()
	}
	if h.Began == "" {
		h.Began = time.Now().UTC().Format(time.RFC3339)
	}
	data, err := h.encode()
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("begin the ledger: %w", err)
	}
	if _, err := f.Write(data); err != nil {
		return nil, errors.Join(fmt.Errorf("begin the ledger: %w", err), f.Close(), os.Remove(path))
	}
	if err := errors.Join(f.Sync(), syncDir(filepath.Dir(path))); err != nil {
		return nil, errors.Join(fmt.Errorf("begin the ledger: %w", err), f.Close(), os.Remove(path))
	}
	return begin(f, path, h), nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func begin(f *os.File, path string, h Header) *Ledger {
	b := &Ledger{Header: h, path: path, file: f, stop: make(chan struct{}), done: make(chan struct{})}
	b.room = sync.NewCond(&b.mu)
	go b.keep()
	return b
}

// Path is where the ledger is.
func (b *Ledger) Path() string { return b.path }

// Acknowledge notes that operation n was committed and the server said so. It
// costs some tens of nanoseconds and does not wait for the disk, unless that
// falls behind by 64k records. Errors come from Err and Close.
func (b *Ledger) Acknowledge(n int64) {
	b.mu.Lock()
	for len(b.waiting) >= mostWaiting && b.err == nil {
		b.room.Wait()
	}
	if b.err == nil {
		b.waiting = appendRecord(b.waiting, b.Header.Run, n, b.place)
		b.place++
	}
	b.mu.Unlock()
}

// Err is the first error of writing the ledger. What was acknowledged after it
// is not noted, so the comparison is weaker, and no less true.
func (b *Ledger) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// keep brings records to the disk until the ledger is closed.
func (b *Ledger) keep() {
	defer close(b.done)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			b.flush()
		case <-b.stop:
			b.flush()
			return
		}
	}
}

func (b *Ledger) flush() {
	b.mu.Lock()
	todo := b.waiting
	b.waiting, b.written = b.written[:0], todo
	bad := b.err
	b.room.Broadcast()
	b.mu.Unlock()
	if len(todo) == 0 || bad != nil {
		return
	}
	_, err := b.file.Write(todo)
	if err == nil {
		err = b.file.Sync()
	}
	if err != nil {
		b.mu.Lock()
		b.err = fmt.Errorf("write the ledger: %w", err)
		b.room.Broadcast()
		b.mu.Unlock()
	}
}

// Close brings everything to the disk. Nothing may be acknowledged after it. A
// run without a ledger, nil, has nothing to bring.
func (b *Ledger) Close() error {
	if b == nil {
		return nil
	}
	close(b.stop)
	<-b.done
	return errors.Join(b.Err(), b.file.Close())
}
