package backup

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/host"
)

// copied is a machine that was made from a copy of another's disk.
func (w *world) copied(t *testing.T) *world {
	t.Helper()
	other := *w
	other.Dir = t.TempDir()
	if err := os.CopyFS(other.Dir, os.DirFS(w.Dir)); err != nil {
		t.Fatal(err)
	}
	return &other
}

// met backs up, and gives of which backup of a twin it was told; "" for none.
func (w *world) met(t *testing.T) (id, told string) {
	t.Helper()
	warned := 0
	w.Warn = func(_ string, err error) {
		if errors.Is(err, ErrTwin) {
			warned++
		}
	}
	res, err := w.Run(t.Context(), command("echo "+time.Now().String()))
	if err != nil || (res.Twin == nil) != (warned == 0) {
		t.Fatalf("%v; %v, told %d times", err, res.Twin, warned)
	}
	if res.Twin != nil {
		told = strings.Fields(res.Twin.Error())[1]
	}
	return res.ID, strings.TrimSuffix(told, ",")
}

// TestTwin has two machines with one key back up to one place: each is told of what the other made, once. One that is alone is never
// told anything, also when it was killed, and goes on.
func TestTwin(t *testing.T) {
	w := newWorld(t)
	alone := func() {
		t.Helper()
		if _, told := w.met(t); told != "" {
			t.Errorf("it is alone, and told of %s", told)
		}
	}
	alone()
	good := w.Store
	w.Store = dyingAfter(good, 1)
	if _, err := w.Run(t.Context(), command("seq 60000")); !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	w.Store = good
	if res, err := w.Run(t.Context(), command("seq 60000")); err != nil || !res.GoesOn {
		t.Fatal(res.GoesOn, err)
	}
	alone()
	other := w.copied(t)
	first, told := other.met(t)
	if told != "" {
		t.Errorf("nobody else has backed up since, and it is told of %s", told)
	}
	second, told := w.met(t)
	if told != first {
		t.Errorf("told of %q, and the other made %s", told, first)
	}
	alone() // each is told once
	third, told := other.met(t)
	if told <= second || told >= third { // the newest of two
		t.Errorf("told of %q", told)
	}
	if _, told := w.met(t); told != third {
		t.Errorf("told of %q, and not of %s", told, third)
	}
}

// TestTwinOfAnEarlierState: what cannot be told from a twin is told once; what others put there, and what was there before anything was
// written down, never.
func TestTwinOfAnEarlierState(t *testing.T) {
	w := newWorld(t)
	w.met(t)
	if err := os.Remove(begunFile(w.Dir)); err != nil { // as a version before this one left it
		t.Fatal(err)
	}
	w.met(t)
	before := w.copied(t)
	last, _ := w.met(t)
	for _, name := range []string{manifest.NewID(time.Now().Add(time.Hour), "0badc0de"), "x"} {
		if _, err := w.Store.Put(t.Context(), manifest.Name(name), []byte("somebody else's"), store.Put{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{last, "", ""} { // it was put back to an earlier state
		if _, told := before.met(t); told != want {
			t.Errorf("told of %q, and not of %q", told, want)
		}
	}
}

// TestTwinAmidABackup copies a machine amid a backup, which goes on there: the copy makes another backup, and does not write the objects of
// this one. Both are whole.
func TestTwinAmidABackup(t *testing.T) {
	w := newWorld(t)
	good := w.Store
	job := command("seq 60000")
	die := func() {
		t.Helper()
		w.Store = dyingAfter(good, 1)
		if _, err := w.Run(t.Context(), job); !errors.Is(err, errDied) {
			t.Fatal(err)
		}
		w.Store = good
	}
	die()
	other := w.copied(t)
	die() // it went on meanwhile, and is not through
	theirs, err := other.Run(t.Context(), job)
	if err != nil || theirs.GoesOn {
		t.Errorf("the copy goes on with it: %t, %v", theirs.GoesOn, err)
	}
	ours, err := w.Run(t.Context(), job)
	if err != nil || !ours.GoesOn || ours.ID == theirs.ID {
		t.Errorf("%s and %s, gone on with: %t, %v", ours.ID, theirs.ID, ours.GoesOn, err)
	}
	for _, m := range []manifest.Manifest{ours.Manifest, theirs.Manifest} {
		if _, err := (Verify{Vault: w.vault(t), Percent: 100}).Run(t.Context(), m); err != nil {
			t.Error(err)
		}
	}
}

// TestAdopt: what was told of a twin, and what was not yet, stays foreign until a machine adopts it, and only that is adopted.
func TestAdopt(t *testing.T) {
	w := newWorld(t)
	own, _ := w.met(t)
	other := w.copied(t)
	first, _ := other.met(t)
	last, _ := w.met(t)
	second, _ := other.met(t)
	foreign := func(want ...string) {
		t.Helper()
		begun, err := ReadBegun(t.Context(), w.Do, w.Dir)
		var got []string
		for _, id := range []string{"20200101T000000Z-0badc0de", own, first, last, second} {
			if begun.Foreign(id) {
				got = append(got, id)
			}
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("foreign are %q, and not %q: %v", got, want, err)
		}
	}
	foreign(first, second)
	if err := Adopt(t.Context(), w.Do, w.Dir, []string{first, own}); err != nil {
		t.Error(err)
	}
	foreign(second)
	if _, told := w.met(t); told != second {
		t.Errorf("told of %q, and not of %s", told, second)
	}
	foreign(second)
	if err := Adopt(t.Context(), w.Do, w.Dir, []string{second}); err != nil {
		t.Error(err)
	}
	foreign()
	if (Begun{}).Foreign(own) {
		t.Error("nothing was written down, and one is another's")
	}
}

// full has no room for one file.
type full struct {
	host.Streamer
	file string
}

func (f full) Replace(ctx context.Context, name string, text []byte, perm fs.FileMode) error {
	if name == f.file {
		return syscall.ENOSPC
	}
	return f.Streamer.Replace(ctx, name, text, perm)
}

// TestTwinWithoutRoom: a backup that could not be written down is not taken for another's by the next.
func TestTwinWithoutRoom(t *testing.T) {
	w := newWorld(t)
	w.met(t)
	there := w.Do
	w.Do = full{there, begunFile(w.Dir)}
	w.met(t)
	w.Do = there
	for range 2 {
		if id, told := w.met(t); told != "" {
			t.Errorf("%s is told of %s", id, told)
		}
	}
}
