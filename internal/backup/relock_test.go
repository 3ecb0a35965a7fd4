package backup

import (
	"errors"
	"strings"
	"testing"
	"time"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
)

const day = 24 * time.Hour

// built is a job that builds on a backup; nil for none.
func built(on *manifest.Manifest) Job {
	j := command("seq 60000")
	j.Sources[0].Stream = manifest.Stream{Name: "tank/db", Kind: manifest.ZFS, GUID: "10"}
	if on != nil {
		j.Sources[0].Base = &manifest.Base{Backup: on.ID, GUID: on.Streams[0].GUID}
	}
	return j
}

// A backup that is locked has all that it builds on locked for as long, down to the full one: else the lock of that ends first, and what
// is locked is of no use.
func TestLocksWhatItBuildsOn(t *testing.T) {
	w := newWorld(t)
	at := newLocking(w.Store)
	w.Store = at
	run := func(lock time.Duration, on *manifest.Manifest) *manifest.Manifest {
		t.Helper()
		w.Lock = lock
		res, err := w.Run(t.Context(), built(on))
		if err != nil {
			t.Fatal(err)
		}
		return &res.Manifest
	}
	kept := func(lock time.Duration, all ...*manifest.Manifest) {
		t.Helper()
		for _, m := range all {
			if open := at.open(*m, time.Now().Add(lock-time.Minute)); len(open) > 0 {
				t.Errorf("%s is not locked for %s: %v", m.ID, lock, open)
			}
		}
	}
	full := run(0, nil)
	other := run(0, nil)
	next := run(2*day, full)
	kept(2*day, full, next)
	third := run(9*day, next)
	kept(9*day, full, next, third)
	w.Now = func() time.Time { return time.Now().Add(9*day - 12*time.Hour) } // half a day before the lock ends
	last := run(day, third)
	kept(9*day+12*time.Hour, full, next, third, last)
	if open := at.open(*other, time.Now()); int64(len(open)) != other.Objects() {
		t.Errorf("of one on which nothing builds %v are not locked", open)
	}

	w.Now, w.Lock, at.gone = time.Now, 20*day, manifest.ChunkName(full.ID, 0, 1)
	_, err := w.Run(t.Context(), built(last))
	if !errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), at.gone) {
		t.Errorf("an object that it needs is gone: %v", err)
	}
	if all, err := w.vault(t).List(t.Context()); err != nil || len(all) != 5 {
		t.Errorf("there are %d backups: %v", len(all), err)
	}
}

// What a run that was killed had sent is locked from then on: the run that goes on with it days later locks it anew.
func TestLocksWhatItGoesOnWith(t *testing.T) {
	w := newWorld(t)
	w.Workers, w.Lock = 1, 2*day
	good := w.Store
	at := newLocking(dyingAfter(good, 4))
	w.Store = at
	if _, err := w.Run(t.Context(), built(nil)); !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	at.Store = good
	w.Now = func() time.Time { return time.Now().Add(30 * time.Hour) }
	res, err := w.Run(t.Context(), built(nil))
	if err != nil || !res.GoesOn || res.Skipped == 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	if open := at.open(res.Manifest, w.Now().Add(2*day-time.Minute)); len(open) > 0 {
		t.Errorf("not locked as long as the rest: %v", open)
	}
}

// TestShortLock: a backup that is locked for less time than the last prune keeps it is made, and that is told.
func TestShortLock(t *testing.T) {
	w := newWorld(t)
	w.Store = newLocking(w.Store)
	for name, c := range map[string]struct {
		lease string
		lock  time.Duration
		told  bool
	}{
		"shorter":        {`{"by":"db1","keeps_ns":31104000000000000}`, 7 * day, true},
		"as long":        {`{"by":"db1","keeps_ns":604800000000000}`, 7 * day, false},
		"no lock at all": {`{"by":"db1","keeps_ns":31104000000000000}`, 0, false},
		"no rules":       {`{"by":"db1"}`, 7 * day, false},
		"anything":       {"!", 7 * day, false},
		"no prune":       {"", 7 * day, false},
	} {
		if err := w.Store.Delete(t.Context(), manifest.LeaseName); err != nil {
			t.Fatal(err)
		}
		if c.lease != "" {
			if _, err := w.Store.Put(t.Context(), manifest.LeaseName, []byte(c.lease), store.Put{}); err != nil {
				t.Fatal(err)
			}
		}
		var told []string
		w.Lock, w.Warn = c.lock, func(_ string, err error) { told = append(told, err.Error()) }
		if _, err := w.Run(t.Context(), command("echo "+name)); err != nil {
			t.Fatal(err)
		}
		if (len(told) == 1) != c.told || c.told && !strings.Contains(told[0], "keeps backups for 360 days, but --lock-days locks this one only for 7 days") {
			t.Errorf("%s: told %q", name, told)
		}
	}
}

// TestShortLockInTwo: of several places he who is warned is told one after the other, in their order.
func TestShortLockInTwo(t *testing.T) {
	w := newWorld(t)
	second, _ := other(t)
	w.Store, w.Also, w.Lock = newLocking(w.Store), []store.Store{newLocking(second)}, 7*day
	for _, s := range w.Stores() {
		if _, err := s.Put(t.Context(), manifest.LeaseName, []byte(`{"by":"db1","keeps_ns":31104000000000000}`), store.Put{}); err != nil {
			t.Fatal(err)
		}
	}
	var told []string
	w.Warn = func(_ string, err error) { told = append(told, err.Error()) }
	for range 30 {
		told = nil
		if _, err := w.reached(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(told) != 2 || !strings.Contains(told[0], w.Store.URL()) || !strings.Contains(told[1], second.URL()) {
			t.Fatalf("told %q", told)
		}
	}
}
