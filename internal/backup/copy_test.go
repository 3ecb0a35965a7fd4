package backup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/hint"
	"plumb/internal/store/dir"
)

// other opens a store beside the world's.
func other(t *testing.T) (*dir.Dir, string) {
	t.Helper()
	at := t.TempDir()
	d, err := dir.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d, at
}

// in is the world with another store, to restore from.
func (w *world) in(s store.Store) *world {
	c := *w
	c.Store = s
	return &c
}

// gone fails for good after some objects.
type gone struct {
	store.Store
	left atomic.Int64
}

func goneAfter(s store.Store, objects int) *gone {
	g := &gone{Store: s}
	g.left.Store(int64(objects))
	return g
}

func (g *gone) Put(ctx context.Context, name string, data []byte, o store.Put) (string, error) {
	if g.left.Add(-1) < 0 {
		return "", store.ErrFull
	}
	return g.Store.Put(ctx, name, data, o)
}

// A target that fails, at whatever object, spoils none of the others, and is no backup itself.
func TestOneTargetOfTwoFails(t *testing.T) {
	for after := range 14 {
		w := newWorld(t)
		w.Workers = 1
		second, _ := other(t)
		w.Also = []store.Store{goneAfter(second, after)}
		res, err := w.Run(t.Context(), command("seq 60000"))
		if err != nil {
			t.Fatalf("after %d: %v", after, err)
		}
		if got, err := w.restore(t, res.Manifest); err != nil || !strings.HasSuffix(string(got), "\n60000\n") {
			t.Errorf("after %d: %d bytes, %v", after, len(got), err)
		}
		all, err := w.in(second).vault(t).List(t.Context())
		if err != nil || len(all) != 1-len(res.Lost) {
			t.Errorf("after %d: %d backups in the second, and lost is %+v, %v", after, len(all), res.Lost, err)
		}
		if len(res.Lost) > 0 && !errors.Is(res.Lost[0].Err, store.ErrFull) {
			t.Errorf("after %d: %v", after, res.Lost[0].Err)
		}
		if after == 13 && len(res.Lost) > 0 { // two of the probe, the owner, eight objects and the manifest
			t.Errorf("it fails where it need not: %+v", res.Lost)
		}
	}
	w := newWorld(t)
	w.Also = []store.Store{goneAfter(w.Store, 4)}
	w.Store = goneAfter(w.Store, 4)
	if _, err := w.Run(t.Context(), command("seq 60000")); !errors.Is(err, store.ErrFull) {
		t.Errorf("both fail: %v", err)
	}
}

// down is a store that answers nothing.
type down struct{ store.Store }

var errDown = errors.New("it is down")

func (down) Get(context.Context, string, []byte) ([]byte, string, error)    { return nil, "", errDown }
func (down) Put(context.Context, string, []byte, store.Put) (string, error) { return "", errDown }
func (down) List(context.Context, string, func(store.Info) error) error     { return errDown }
func (down) Delete(context.Context, string) error                           { panic("a store that is lost is asked again") }

// The first target is no better than the others: when it is down they have the backup.
func TestFirstTargetIsDown(t *testing.T) {
	w := newWorld(t)
	w.Also, w.Store = []store.Store{w.Store}, down{w.Store}
	res, err := w.Run(t.Context(), command("seq 60000"))
	if err != nil || len(res.Lost) != 1 || !errors.Is(res.Lost[0].Err, errDown) {
		t.Fatalf("lost: %+v, %v", res.Lost, err)
	}
	if got, err := w.in(w.Also[0]).restore(t, res.Manifest); err != nil || !strings.HasSuffix(string(got), "\n60000\n") {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// A copy dies before every object, and the next one sends what is not there.
func TestCopyAtEveryDeath(t *testing.T) {
	w := newWorld(t)
	res, err := w.Run(t.Context(), command("seq 60000"))
	if err != nil {
		t.Fatal(err)
	}
	for after := range 15 {
		to, _ := other(t)
		c := Copying{From: w.vault(t), To: goneAfter(to, after), Workers: 1, Now: w.Now}
		_, err := c.Run(t.Context(), []manifest.Manifest{res.Manifest})
		all, bad := w.in(to).vault(t).List(t.Context())
		if (err == nil) != (len(all) == 1) || bad != nil {
			t.Fatalf("after %d: %v, and there are %d backups, %v", after, err, len(all), bad)
		}
		c.To = to
		got, err := c.Run(t.Context(), []manifest.Manifest{res.Manifest})
		if err != nil || !got[0].There && got[0].Objects != res.Objects {
			t.Fatalf("after %d: %+v, %v", after, got, err)
		}
		if sent := int64(max(0, min(after-4, int(res.Objects)))); sent > 0 && got[0].Sent >= res.Sent {
			t.Errorf("after %d objects all of them are sent again", after)
		}
		if out, err := w.in(to).restore(t, res.Manifest); err != nil || !strings.HasSuffix(string(out), "\n60000\n") {
			t.Errorf("after %d: %d bytes, %v", after, len(out), err)
		}
		if again, err := c.Run(t.Context(), []manifest.Manifest{res.Manifest}); err != nil || !again[0].There || again[0].Sent != 0 {
			t.Errorf("after %d it is copied again: %+v, %v", after, again, err)
		}
	}
}

// What was changed in the first store does not reach the second, and neither do backups of other hosts.
func TestCopyOfWhatIsWrong(t *testing.T) {
	w := newWorld(t)
	res, err := w.Run(t.Context(), command("seq 60000"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(w.at, manifest.ChunkName(res.ID, 0, 2))
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	wrong := append([]byte{good[0] ^ 1}, good[1:]...)
	if err := os.WriteFile(file, wrong, 0o600); err != nil {
		t.Fatal(err)
	}
	to, at := other(t)
	c := Copying{From: w.vault(t), To: to, Now: w.Now}
	if _, err := c.Run(t.Context(), []manifest.Manifest{res.Manifest}); err == nil || !strings.Contains(err.Error(), "chunk 2") {
		t.Errorf("a chunk that was flipped: %v", err)
	}
	if _, err := os.Stat(filepath.Join(at, manifest.ChunkName(res.ID, 0, 2))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is copied: %v", err)
	}
	if all, err := w.in(to).vault(t).List(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("%d backups, %v", len(all), err)
	}
	stranger := newWorld(t)
	if _, err := stranger.Run(t.Context(), command("seq 10")); err != nil {
		t.Fatal(err)
	}
	c.To = stranger.Store
	if _, err := c.Run(t.Context(), []manifest.Manifest{res.Manifest}); err == nil || !strings.Contains(err.Error(), "belongs to another host") {
		t.Errorf("another host's prefix: %v", err)
	}
}

// A prefix that is another host's is left alone, also where a run begins anew because it was given up elsewhere.
func TestGivenUpBesideAnotherHosts(t *testing.T) {
	w, theirs := newWorld(t), newWorld(t)
	if _, err := theirs.Run(t.Context(), command("seq 10")); err != nil {
		t.Fatal(err)
	}
	w.Workers = 1 // what dies counts objects one after the other
	good := w.Store
	w.Store, w.Also = dyingAfter(good, 2), []store.Store{theirs.Store}
	if _, err := w.Run(t.Context(), command("seq 60000")); !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	claims, err := filepath.Glob(filepath.Join(w.at, "backups/*/claim"))
	if err != nil || len(claims) != 1 {
		t.Fatalf("%v, %v", claims, err)
	}
	if err := os.Remove(claims[0]); err != nil { // as prune does, which gives the run up
		t.Fatal(err)
	}
	w.Store = good
	res, err := w.Run(t.Context(), command("seq 60000"))
	if err != nil || res.GoesOn || len(res.Lost) != 1 || !strings.Contains(res.Lost[0].Err.Error(), "belongs to another host") {
		t.Errorf("%+v, %v", res.Lost, err)
	}
	if left, err := filepath.Glob(filepath.Join(theirs.at, "backups/*")); err != nil || len(left) != 1 {
		t.Errorf("it wrote there: %v, %v", left, err)
	}
}

// A place that was made after a key was given up is the same host's as one that the old key claimed.
func TestCopyAfterRotation(t *testing.T) {
	w := newWorld(t)
	run := func() manifest.Manifest {
		t.Helper()
		res, err := w.Run(t.Context(), command("seq 10"))
		if err != nil {
			t.Fatal(err)
		}
		return res.Manifest
	}
	run()
	thief, old := w.Sign, w.Public
	w.rotate(t)
	evil, err := newKey("db1")
	if err != nil {
		t.Fatal(err)
	}
	signed, err := note.Sign(&note.Note{Text: strings.Join([]string{successionHead, old, evil.public, "2026-11-28T00:00:00Z"}, "\n") + "\n"}, thief, evil.sign)
	if err != nil {
		t.Fatal(err)
	}
	w.lay(t, successions+"00000000-00000000", signed)
	first := w.Store
	to, _ := other(t)
	w.Store = to
	run()
	w.Store = first
	for _, seen := range []bool{false, true} { // whether the new key was seen where it is copied from
		if seen {
			run()
		}
		v, err := Vault{Store: first}.Own(t.Context(), w.Do, w.Dir)
		if err != nil {
			t.Fatal(err)
		}
		m, err := v.Find(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		if done, err := (Copying{From: v, To: to, Now: w.Now}).Run(t.Context(), []manifest.Manifest{m}); err != nil || len(done) != 1 {
			t.Errorf("%+v, %v", done, err)
		}
	}
	all, err := Vault{Store: to}.successions(t.Context())
	if err != nil || len(all) != 1 || all[0].public != w.Public {
		t.Errorf("what a thief named comes along: %+v, %v", all, err)
	}
}

// What cannot be locked is told before anything is run or sent.
func TestNothingToLockWith(t *testing.T) {
	w := newWorld(t)
	w.Lock = 24 * time.Hour
	ran := filepath.Join(t.TempDir(), "ran")
	if _, err := w.Run(t.Context(), command("touch "+ran+"; echo x")); err == nil || !strings.Contains(err.Error(), "cannot lock objects") || !strings.Contains(hint.Of(err), "--lock-days") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the producer ran")
	}
	to, _ := other(t)
	if _, err := (Copying{From: w.vault(t), To: to, Lock: time.Hour, Now: w.Now}).Run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "cannot lock objects") {
		t.Errorf("a copy: %v", err)
	}
}
