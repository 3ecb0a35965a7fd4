package backup

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
)

// committing is a store of whose manifests somebody decides.
type committing struct {
	store.Store
	commit func(put func() error) error
}

func (s *committing) Put(ctx context.Context, name string, data []byte, o store.Put) (tag string, err error) {
	put := func() error {
		tag, err = s.Store.Put(ctx, name, data, o)
		return err
	}
	if path.Base(name) == "manifest" {
		return tag, s.commit(put)
	}
	return tag, put()
}

// half is a host that died when the first of two places had the manifest of a backup, and the second all but that.
func half(t *testing.T, job Job) (w *world, second store.Store) {
	t.Helper()
	w = newWorld(t)
	first := w.Store
	second, _ = other(t)
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	done := make(chan struct{})
	w.Store = &committing{first, func(put func() error) error {
		defer close(done)
		return put()
	}}
	w.Also = []store.Store{&committing{second, func(func() error) error {
		<-done
		kill()
		return ctx.Err()
	}}}
	if _, err := w.Run(ctx, job); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	w.Store, w.Also = first, []store.Store{second}
	for s, want := range map[store.Store]int{first: 1, second: 0} {
		if all, err := w.in(s).vault(t).List(t.Context()); err != nil || len(all) != want {
			t.Fatalf("%s: %+v, %v", s.URL(), all, err)
		}
	}
	return w, second
}

// counting is a job that notes in a file how often what it backs up is produced.
func counting(t *testing.T, point string) (job Job, runs func() int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "runs")
	job = command("echo run >> " + file + "; seq 60000")
	job.Point = point
	return job, func() int {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "run\n")
	}
}

// A run that died when one place had the manifest and the other had not is ended where it was: a point is not sent again. A command
// gives something else by then: it makes another backup, and the first is whole in both all the same.
func TestDiedBetweenTwoManifests(t *testing.T) {
	for point, want := range map[string]int{"p-1": 1, "": 2} {
		job, runs := counting(t, point)
		w, second := half(t, job)
		res, err := w.Run(t.Context(), job)
		if err != nil || len(res.Lost) > 0 || res.GoesOn != (point != "") || runs() != want {
			t.Fatalf("%q: %+v, %d runs, %v", point, res, runs(), err)
		}
		for _, s := range []store.Store{w.Store, second} {
			all, err := w.in(s).vault(t).List(t.Context())
			if err != nil || len(all) != want || all[want-1].ID != res.ID {
				t.Fatalf("%q: %s: %+v, %v", point, s.URL(), all, err)
			}
			for _, f := range all {
				if got, err := w.in(s).restore(t, f.Manifest); f.Err != nil || err != nil || !bytes.HasSuffix(got, []byte("\n60000\n")) {
					t.Errorf("%q: %s: %d bytes, %v, %v", point, s.URL(), len(got), f.Err, err)
				}
				if _, _, err := s.Get(t.Context(), manifest.ClaimName(f.ID), make([]byte, manifest.MaxClaim)); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("%q: %s: its claim is left: %v", point, s.URL(), err)
				}
			}
		}
		if left, _ := filepath.Glob(w.Dir + "/running/*.log"); len(left) > 0 {
			t.Errorf("%q: left: %v", point, left)
		}
	}
}

// A place that lost an object meanwhile, or in which prune gave the run up, does not get the manifest, and the other has the backup.
func TestDiedBetweenTwoManifestsAndLostMore(t *testing.T) {
	for gone, want := range map[string]error{"/0/000000002.zst.age": store.ErrUnkept, "/claim": ErrGivenUp} {
		job, runs := counting(t, "p-1")
		w, second := half(t, job)
		all, err := w.vault(t).List(t.Context())
		if err != nil || len(all) != 1 {
			t.Fatalf("%+v, %v", all, err)
		}
		if err := second.Delete(t.Context(), manifest.Prefix+all[0].ID+gone); err != nil {
			t.Fatal(err)
		}
		res, err := w.Run(t.Context(), job)
		if err != nil || res.ID != all[0].ID || len(res.Lost) != 1 || !errors.Is(res.Lost[0].Err, want) || runs() != 1 {
			t.Errorf("%s: %+v, %d runs, %v", gone, res, runs(), err)
		}
		if all, err := w.in(second).vault(t).List(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("%s: %+v, %v", gone, all, err)
		}
	}
}

// Where it is the place with the manifest that lost an object, that does not have the backup, and the other gets it.
func TestDiedBetweenTwoManifestsAndLostTheFirst(t *testing.T) {
	job, runs := counting(t, "p-1")
	w, second := half(t, job)
	all, err := w.vault(t).List(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	if err := w.Store.Delete(t.Context(), manifest.ChunkName(all[0].ID, 0, 2)); err != nil {
		t.Fatal(err)
	}
	res, err := w.Run(t.Context(), job)
	if err != nil || len(res.Lost) != 1 || res.Lost[0].URL != w.Store.URL() || !errors.Is(res.Lost[0].Err, store.ErrUnkept) || runs() != 1 {
		t.Errorf("%+v, %d runs, %v", res, runs(), err)
	}
	if got, err := w.in(second).restore(t, res.Manifest); err != nil || !bytes.HasSuffix(got, []byte("\n60000\n")) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// A run that is told to end when all is sent but the manifest leaves no backup, or a whole one where the store took the manifest and the
// answer was lost; the next run sends none of the stream again where there is none.
func TestEndedAtTheManifest(t *testing.T) {
	for _, taken := range []bool{false, true} {
		w := newWorld(t)
		good := w.Store
		ctx, end := context.WithCancel(t.Context())
		w.Store = &committing{good, func(put func() error) error {
			if taken {
				_ = put()
			}
			end()
			return ctx.Err()
		}}
		if _, err := w.Run(ctx, command("seq 60000")); !errors.Is(err, context.Canceled) {
			t.Fatalf("%t: %v", taken, err)
		}
		w.Store = good
		want := map[bool]int{false: 0, true: 1}[taken]
		if all, err := w.vault(t).List(t.Context()); err != nil || len(all) != want {
			t.Errorf("%t: %+v, %v", taken, all, err)
		}
		res, err := w.Run(t.Context(), command("seq 60000"))
		if err != nil || !taken && (!res.GoesOn || res.Skipped != res.Bytes()) {
			t.Errorf("%t: the next run: %+v, %v", taken, res, err)
		}
		all, err := w.vault(t).List(t.Context())
		if err != nil || len(all) != want+1 {
			t.Errorf("%t: %+v, %v", taken, all, err)
		}
		for _, f := range all {
			if got, err := w.restore(t, f.Manifest); err != nil || !bytes.HasSuffix(got, []byte("\n60000\n")) {
				t.Errorf("%t: %d bytes, %v", taken, len(got), err)
			}
		}
	}
}
