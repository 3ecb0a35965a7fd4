package backup

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"plumb/internal/host"
)

// fullDisk is a host on whose disk only some more lines have room.
type fullDisk struct {
	host.Streamer
	mu   sync.Mutex
	room int
}

func (f *fullDisk) Append(ctx context.Context, name string, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.room--; f.room >= 0 {
		return f.Streamer.Append(ctx, name, data)
	}
	return host.Answered(errors.Join(syscall.ENOSPC, f.Streamer.Append(ctx, name, data[:len(data)/2]))) // as a real one says it
}

// TestFullDisk backs up from a machine whose disk is full, or gets full meanwhile: the backup is made, and it is told once that nothing
// is written down of it.
func TestFullDisk(t *testing.T) {
	for room := range 5 {
		w := newWorld(t)
		w.Do = &fullDisk{Streamer: w.Do, room: room}
		told := 0
		w.Warn = func(string, error) { told++ }
		res, err := w.Run(t.Context(), command("seq 60000"))
		if err != nil || told != 1 {
			t.Fatalf("%d lines: told %d times, %v", room, told, err)
		}
		if got, err := w.restore(t, res.Manifest); err != nil || !bytes.HasSuffix(got, []byte("\n60000\n")) {
			t.Errorf("%d lines: %d bytes, %v", room, len(got), err)
		}
		if left, _ := filepath.Glob(w.Dir + "/running/*.log"); len(left) > 0 {
			t.Errorf("%d lines: left: %v", room, left)
		}
	}
}

// TestFullDiskThenKilled kills a run that replaced what an earlier one had written down, without room to write that. The next one must not
// take what the earlier one had sent for what is there.
func TestFullDiskThenKilled(t *testing.T) {
	w := newWorld(t)
	w.Workers = 1
	file := filepath.Join(t.TempDir(), "data")
	of := func(b byte) []byte { return bytes.Repeat([]byte{b}, 6*w.Chunk) }
	run := func(b byte, objects int) (Result, error) {
		t.Helper()
		if err := os.WriteFile(file, of(b), 0o600); err != nil {
			t.Fatal(err)
		}
		good := w.Store
		w.Store = dyingAfter(good, objects)
		defer func() { w.Store = good }()
		return w.Run(t.Context(), command("cat "+file))
	}
	if _, err := run('a', 3); !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	whole := w.Do
	w.Do = &fullDisk{Streamer: whole}
	if _, err := run('b', 2); !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	w.Do = whole
	res, err := run('a', 100)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := w.restore(t, res.Manifest); err != nil || !bytes.Equal(got, of('a')) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
