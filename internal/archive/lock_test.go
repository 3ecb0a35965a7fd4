package archive

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"plumb/internal/backup/store"
)

// locking is a store that remembers until when it was to keep an object.
type locking struct {
	store.Store
	until map[string]time.Time
}

func (l *locking) Put(ctx context.Context, name string, data []byte, o store.Put) (string, error) {
	l.until[name] = o.Until
	o.Until = time.Time{}
	return l.Store.Put(ctx, name, data, o)
}

// All objects of a piece are locked, the entry among them, for as long as is asked for.
func TestLocked(t *testing.T) {
	w := newWorld(t)
	now := time.Date(2026, 11, 29, 3, 0, 0, 0, time.UTC)
	w.Now = func() time.Time { return now }
	plain := w.Keeper.Store
	for lock, want := range map[time.Duration]time.Time{0: {}, 48 * time.Hour: now.Add(48 * time.Hour)} {
		l := &locking{plain, map[string]time.Time{}}
		w.Keeper.Store, w.Lock = l, lock
		p := piece(small + 1)
		p.File = fmt.Sprint("locked-for-", int(lock.Hours()))
		if _, err := w.Keep(t.Context(), Entry{Piece: p}, bytes.NewReader(noise(t, small+1))); err != nil {
			t.Fatal(err)
		}
		if len(l.until) != 3 {
			t.Errorf("%s: %v", lock, l.until)
		}
		for name, until := range l.until {
			if !until.Equal(want) {
				t.Errorf("%s: %s is locked until %s", lock, name, until)
			}
		}
	}
}
