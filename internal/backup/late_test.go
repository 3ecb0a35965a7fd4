package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/backup/stream"
)

// late is a store in which an object of a run that died is on its way until the lists of the next one are written.
type late struct {
	store.Store
	name string // of the object that arrives late
	mu   sync.Mutex
	text []byte
	died bool
}

func (l *late) Put(ctx context.Context, name string, data []byte, o store.Put) (string, error) {
	l.mu.Lock() // several are sent at once
	defer l.mu.Unlock()
	switch {
	case !l.died && strings.HasSuffix(name, l.name):
		l.died, l.text = true, bytes.Clone(data)
		return "", errDied
	case l.text != nil && strings.Contains(name, "/list-"):
		id, _ := manifest.Split(name)
		if _, err := l.Store.Put(ctx, manifest.Folder(id)+l.name, l.text, store.Put{}); err != nil {
			return "", err
		}
		l.text = nil
	}
	return l.Store.Put(ctx, name, data, o)
}

// TestArrivesLate has an object of a run that was killed arrive after what the next one sent in its place. It holds the same and is
// of the same size, and is not the one that the next one signs.
func TestArrivesLate(t *testing.T) {
	const line = "seq 60000"
	w := newWorld(t)
	w.Workers = 2
	good := w.Store
	w.Store = &late{Store: good, name: "0/000000003.zst.age"}
	if _, err := w.Run(t.Context(), command(line)); !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	if _, err := w.Run(t.Context(), command(line)); !errors.Is(err, errLate) || !strings.Contains(err.Error(), "chunk 3") {
		t.Fatalf("%v", err)
	}
	if all, err := w.vault(t).List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	res, err := w.Run(t.Context(), command(line))
	if err != nil || res.GoesOn {
		t.Fatalf("%+v, %v", res, err)
	}
	if got, err := w.restore(t, res.Manifest); err != nil || !bytes.HasSuffix(got, []byte("\n60000\n")) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// A run that goes on with more objects at once than the one before leaves as many that may arrive late, whoever goes on after it.
func TestWiderRun(t *testing.T) {
	w := newWorld(t)
	good, job := w.Store, command("seq 60000")
	for i, workers := range []int{1, 8} {
		w.Workers, w.Store = workers, &late{Store: good, name: fmt.Sprintf("0/%09d.zst.age", i+1)}
		if _, err := w.Run(t.Context(), job); !errors.Is(err, errDied) {
			t.Fatal(err)
		}
	}
	w.Workers, w.Store = 1, good
	r, goesOn, end, err := w.begin(t.Context(), store.NewFan(good), job.Name)
	if err != nil || !goesOn || r.head.Workers != 8 {
		t.Fatalf("it goes on: %t, behind a run of %d, %v", goesOn, r.head.Workers, err)
	}
	end()
}

// What a run before noted is not read back, and what it can have had on its way is.
func TestUnsure(t *testing.T) {
	r := &running{head: head{Workers: 3}, sent: map[place]stream.Sent{}}
	for _, at := range []place{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {1, 2}, {1, 4}, {1, 5}} {
		r.sent[at] = stream.Sent{Mark: "x"}
	}
	r.sent[place{1, 1}] = stream.Sent{} // it was about to be replaced
	for number, want := range map[int][]int64{0: nil, 1: {1, 3, 6, 7, 8}, 2: {0, 1, 2}, 3: nil} {
		var got []int64
		if unsure := r.unsure(number); unsure != nil {
			for n := range int64(20) {
				if unsure(n) {
					got = append(got, n)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("of stream %d: %v, and not %v", number, got, want)
		}
	}
}
