package record

import (
	"testing"
	"time"
)

// TestALossThatGoesOnWhileItIsWritten: a disk that hangs while a loss is written
// can lose more. What is written then is the loss as it was.
func TestALossThatGoesOnWhileItIsWritten(t *testing.T) {
	at := func(minute int) time.Time { return time.Unix(int64(minute)*60, 0) }
	lost := func(from, to int) loss { return loss{since: at(from), until: at(to), why: "the disk did not answer"} }
	q := newQueue()
	q.lost(lost(0, 1))
	q.lost(lost(1, 2)) // follows, and is one with it
	q.put(&flush{number: 1})
	f, losses := q.head()
	if len(losses) != 1 || !losses[0].until.Equal(at(2)) {
		t.Fatalf("losses %+v", losses)
	}
	q.lost(lost(2, 3))
	q.lost(lost(3, 4))
	q.wrote(f)
	if _, left := q.head(); len(left) != 1 || !left[0].since.Equal(at(2)) || !left[0].until.Equal(at(4)) {
		t.Errorf("of minutes 2 to 4, lost meanwhile, is left %+v", left)
	}
	q.put(&flush{number: 2})
	q.head()
	q.failed("no room")
	q.lost(lost(4, 5)) // nothing is being written: one with it again
	if _, left := q.head(); len(left) != 1 || !left[0].until.Equal(at(5)) {
		t.Errorf("after a write that failed: %+v", left)
	}
}

// TestALossIsNotedOnce: a block is written again where only what came behind it failed, and
// the losses before it with it.
func TestALossIsNotedOnce(t *testing.T) {
	w := opened(t, Options{Dir: t.TempDir() + "/watch"})
	f := w.words.flushOf(1, seconds, &minute{t0: sunday}, nil, &bases{})
	for range 3 {
		if err := w.store.save(f, []loss{{since: sunday, until: sunday.Add(time.Minute), why: "the disk did not answer"}}, conclusion{}); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	if err := w.db.QueryRow(`SELECT count(*) FROM gap`).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d losses are noted, want 1; %v", n, err)
	}
	if err := w.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestLossesOverWhichTheClockWentBack are two: one would end before it began, and be found at no time.
func TestLossesOverWhichTheClockWentBack(t *testing.T) {
	at := func(minute int) time.Time { return time.Unix(int64(minute)*60, 0) }
	q := newQueue()
	for _, l := range [][2]int{{100, 101}, {101, 102}, {42, 43}, {43, 44}} {
		q.lost(loss{since: at(l[0]), until: at(l[1]), why: "the disk did not answer"})
	}
	_, losses := q.head()
	if len(losses) != 2 || !losses[0].since.Equal(at(100)) || !losses[0].until.Equal(at(102)) || !losses[1].since.Equal(at(42)) || !losses[1].until.Equal(at(44)) {
		t.Errorf("lost is %+v", losses)
	}
}
