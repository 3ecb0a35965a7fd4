package protect

import (
	"context"
	"errors"
	"os"
	"path"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
)

func TestLabels(t *testing.T) {
	for _, c := range []struct {
		name  string
		mode  string
		with  func(*scene)
		m     machine
		label Label
		doubt string
		fails string
	}{
		{"no lock", ModeCrash, nil, machine{}, Crash, "", ""},
		{"lock held", ModeLocked, nil, machine{}, Locked, "", ""},
		{"position moved", ModeLocked, func(s *scene) { s.server.moves = true }, machine{}, Crash, "moved under the lock", ""},
		{"position unread", ModeLocked, func(s *scene) { s.server.unread = true }, machine{}, Crash, "could not be read", ""},
		{"another connection", ModeLocked, nil, machine{broken: true}, Crash, "the lock was lost", ""},
		{"release failed", ModeLocked, func(s *scene) { s.server.kept = true }, machine{}, Crash, "could not be released", ""},
		{"known doubts change nothing", ModeLocked, func(s *scene) { s.plan.Modes[1].Doubts = []string{"flush = 2"} }, machine{}, Locked, "flush = 2", ""},
		{"two moments", ModeCrash, func(s *scene) { s.shelf.swap = true }, machine{}, "", "", "not of one moment"},
		{"snapshot failed", ModeLocked, func(s *scene) { s.shelf.fail = 2 }, machine{}, "", "", "no space left"},
		{"a part", ModeCrash, func(s *scene) { s.shelf.part = true }, machine{}, "", "", "only a part of the snapshot of log was made: log@plumb-"},
		{"a part under a lock", ModeLocked, func(s *scene) { s.shelf.part = true }, machine{}, "", "", "only a part of the snapshot of log"},
		{"an answer that leaves one out", ModeLocked, func(s *scene) { s.shelf.mute = true }, machine{}, "", "", "no snapshot of log was made"},
		{"a part, and none is found again", ModeLocked, func(s *scene) { s.shelf.part, s.shelf.lose = true, true }, machine{}, "", "", "only a part"},
		{"nothing can freeze", ModeFreeze, nil, machine{}, "", "", "freeze"},
		{"a stray", ModeCrash, func(s *scene) { s.plan.Set.Strays = []Stray{{Path: "/x", Why: "on tmpfs"}} }, machine{}, "", "", "would not include /x, which is on tmpfs"},
		{"a stray of another kind", ModeCrash, func(s *scene) { s.plan.Set.Strays = []Stray{{Path: "/x", Why: "its top is not mounted"}} }, machine{}, "", "", "would not include /x: its top"},
		{"no such mode", "fast", nil, machine{}, "", "", "no mode"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t, c.m)
			if c.with != nil {
				c.with(s)
			}
			p, err := s.Take(t.Context(), s.plan, TakeOptions{Mode: c.mode})
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Fatalf("error %v, want one with %q", err, c.fails)
				}
				if len(s.points(t)) > 0 || len(s.snapshots(t)) > 0 {
					t.Errorf("left %v and %v", s.points(t), s.snapshots(t))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if p.Label != c.label || !strings.Contains(strings.Join(p.Doubts, "; "), c.doubt) {
				t.Errorf("label %s with %q, want %s with %q", p.Label, p.Doubts, c.label, c.doubt)
			}
			if c.mode == ModeLocked && s.server.released != 1 {
				t.Errorf("released %d times", s.server.released)
			}
			if err := s.whole(t); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOneVolumeInTwoPlaces: what the server has mounted twice has one snapshot, which is a copy's in both places, and so have two
// directories of it; one by one it is taken at its last turn.
func TestOneVolumeInTwoPlaces(t *testing.T) {
	for i, order := range [][]string{nil, {"/d", "/l", "/e"}, nil, {"/d", "/l", "/e"}} {
		s := newScene(t, machine{})
		twin := s.plan.Set.Volumes[0]
		twin.Mountpoint = "/e"
		if i > 1 {
			twin.Within = "other"
		}
		s.plan.Set.Volumes = append(s.plan.Set.Volumes, twin)
		s.plan.Modes = []Mode{{Name: ModeBackupAPI, Order: order}}
		p, err := s.Take(t.Context(), s.plan, TakeOptions{})
		if err != nil {
			t.Fatalf("%v: %v", order, err)
		}
		var places []string
		for _, m := range p.Members {
			places = append(places, m.Name+" on "+m.Mountpoint)
		}
		if want := "data on /d, data on /e, log on /l"; strings.Join(places, ", ") != want {
			t.Errorf("%v: it has %q; want %q", order, places, want)
		}
		if all := s.snapshots(t); len(all) != 2 {
			t.Errorf("%v: there are %q", order, all)
		}
		if err := s.Destroy(t.Context(), p.ID); err != nil || len(s.snapshots(t))+len(s.points(t)) > 0 {
			t.Errorf("%v: destroyed with %v, and there are %q", order, err, s.snapshots(t))
		}
	}
}

// TestTheMachineDies lets the machine die before, amid and after every change that taking and
// destroying a point makes. The next run leaves whole points, or nothing.
func TestTheMachineDies(t *testing.T) {
	for _, mode := range []string{ModeCrash, ModeLocked} {
		for _, how := range []string{hosttest.Before, hosttest.Amid, hosttest.After} {
			for at := 1; ; at++ {
				s := newScene(t, machine{})
				alive := s.Do
				live := hosttest.LiveDoer(t)
				s.Do = machine{LiveDoer: live, front: hosttest.NewMortal(live, at, how)}
				p, err := s.Take(t.Context(), s.plan, TakeOptions{Mode: mode})
				if err == nil {
					err = s.Destroy(t.Context(), p.ID)
				}
				done := err == nil
				s.Do = alive
				if err := s.Sweep(t.Context()); err != nil {
					t.Fatalf("%s: died %s %d: %v", mode, how, at, err)
				}
				if err := s.whole(t); err != nil {
					t.Errorf("%s: died %s %d: %v", mode, how, at, err)
				}
				for _, p := range s.points(t) {
					if p.Label != Crash && mode == ModeCrash {
						t.Errorf("died at %d: the label is %s", at, p.Label)
					}
				}
				if done {
					if at < 6 {
						t.Errorf("only %d changes were seen", at)
					}
					break
				}
			}
		}
	}
}

func TestTwoPlumbs(t *testing.T) {
	s := newScene(t, machine{})
	unlock, err := s.Store.Lock(t.Context(), s.Do)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	other := hosttest.LiveDoer(t)
	s.Do = machine{LiveDoer: other, front: other}
	if _, err := s.Take(t.Context(), s.plan, TakeOptions{}); err == nil || !strings.Contains(err.Error(), "another Plumb") {
		t.Errorf("error %v", err)
	}
}

func TestStore(t *testing.T) {
	s := newScene(t, machine{})
	p, err := s.Take(t.Context(), s.plan, TakeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Store.Get(t.Context(), s.Do, p.ID[:18]); err != nil || got.ID != p.ID {
		t.Errorf("by its beginning: %v, %v", got.ID, err)
	}
	for name, text := range map[string]string{"newer": `{"form": 2, "id": "newer"}`, "damaged": `{`, "renamed": `{"form": 1, "id": "other"}`} {
		if err := os.WriteFile(path.Join(s.Store.Dir, name+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := s.Store.List(t.Context(), s.Do)
	if len(all) != 1 || err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("%d points, and %v", len(all), err)
	}
	told := 0
	s.Warn = func(string, error) { told++ }
	if _, err := s.Take(t.Context(), s.plan, TakeOptions{}); err != nil || told != 1 {
		t.Errorf("beside files that cannot be read a point is taken, and it is told: %v, %d times", err, told)
	}
	if err := s.Sweep(t.Context()); err == nil {
		t.Error("a sweep does not tell of files that cannot be read")
	}
}

// TestLeftElsewhere: what a killed run left on a disk that is not there now keeps no point from being taken, and is ended later.
func TestLeftElsewhere(t *testing.T) {
	s := newScene(t, machine{})
	alive, live := s.Do, hosttest.LiveDoer(t)
	s.Do = machine{LiveDoer: live, front: hosttest.NewMortal(live, 3, hosttest.Before)}
	if _, err := s.Take(t.Context(), s.plan, TakeOptions{Mode: ModeCrash}); err == nil {
		t.Fatal("it did not die")
	}
	if s.Do = alive; len(s.points(t)) != 1 || s.points(t)[0].State != Taking {
		t.Fatalf("it left %+v", s.points(t))
	}
	s.shelf.lost = errors.New("the pool is not imported")
	var told error
	s.Warn = func(_ string, err error) { told = err }
	if _, err := s.Take(t.Context(), s.plan, TakeOptions{Mode: ModeCrash}); err != nil || !errors.Is(told, s.shelf.lost) {
		t.Errorf("taken: %v, told: %v", err, told)
	}
	if err := s.Sweep(t.Context()); !errors.Is(err, s.shelf.lost) || len(s.points(t)) != 2 {
		t.Errorf("%v, and %d points", err, len(s.points(t)))
	}
	s.shelf.lost = nil
	if err := s.Sweep(t.Context()); err != nil || len(s.points(t)) != 1 {
		t.Errorf("%v, and %d points", err, len(s.points(t)))
	}
	if err := s.whole(t); err != nil {
		t.Error(err)
	}
}

// crowded is a machine on which another process has the lock at the first looks.
type crowded struct {
	machine
	looks int
}

func (c *crowded) Lock(ctx context.Context, name string) (func(), error) {
	if c.looks > 0 && path.Base(name) == "lock" {
		c.looks--
		return nil, host.ErrLocked
	}
	return c.machine.Lock(ctx, name)
}

// TestNotesWait: what came of a drill of an hour is not lost because another Plumb takes a point just then.
func TestNotesWait(t *testing.T) {
	s := newScene(t, machine{})
	p, err := s.Take(t.Context(), s.plan, TakeOptions{Mode: ModeLocked})
	if err != nil {
		t.Fatal(err)
	}
	s.Do = &crowded{s.Do.(machine), 2}
	if err := s.Drilled(t.Context(), p.ID, Drill{OK: true}); err != nil || s.points(t)[0].Label != Proven {
		t.Errorf("%v: the label is %s", err, s.points(t)[0].Label)
	}
	s.Do.(*crowded).looks = 1
	if _, err := s.Take(t.Context(), s.plan, TakeOptions{}); !errors.Is(err, ErrBusy) {
		t.Errorf("who wants to take a point is told at once: %v", err)
	}
	s.Do.(*crowded).looks = 2
	if err := s.Destroy(t.Context(), p.ID); err != nil || len(s.points(t)) != 0 {
		t.Errorf("%v: %d points are left", err, len(s.points(t)))
	}
}

// TestInexactDrills: each drill that recovers another position says so, and the point once.
func TestInexactDrills(t *testing.T) {
	s := newScene(t, machine{})
	p, err := s.Take(t.Context(), s.plan, TakeOptions{Mode: ModeLocked})
	if err != nil {
		t.Fatal(err)
	}
	inexact := false
	d := Drill{OK: true, Exact: &inexact}
	for range 3 {
		if err := s.Drilled(t.Context(), p.ID, d); err != nil {
			t.Fatal(err)
		}
	}
	if p = s.points(t)[0]; p.Label != Crash || len(p.Doubts) != 1 || p.Fell() == "" || d.Short() != p.Doubts[0] {
		t.Errorf("label %s, doubts %q, fell %q, short %q", p.Label, p.Doubts, p.Fell(), d.Short())
	}
	if (Drill{}).Short() == "" || (Drill{OK: true}).Short() != "" {
		t.Error("a drill that failed is not short of a proof, or one that did not is")
	}
}

func TestForWriting(t *testing.T) {
	for text, want := range map[string]bool{"pos:\t0\nflags:\t0100000\n": false, "flags:\t0100002\n": true, "flags:\t01\n": true, "": true} {
		if got := forWriting([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	maps := "7f00-7f01 rw-s 00000000 08:01 12 /var/lib/a b\n7f02-7f03 r--s 0 08:01 13 /etc/x\n7f04-7f05 rw-p 0 08:01 14 /lib/y\n7f06-7f07 rw-s 0 00:01 15 /dev/zero (deleted)\n"
	if got := mapped([]byte(maps)); len(got) != 1 || got[0] != "/var/lib/a b" {
		t.Errorf("mapped %q", got)
	}
}

// TestWritten finds a file that this process has open for writing, and not one that it reads.
func TestWritten(t *testing.T) {
	dir := t.TempDir()
	w, err := os.Create(path.Join(dir, "written"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	files, err := written(t.Context(), hosttest.LiveDoer(t), os.Getpid(), func(string) bool { return false })
	got := strings.Join(files, "\n")
	if err != nil || !strings.Contains(got, w.Name()) || strings.Contains(got+"\n", dir+"\n") {
		t.Errorf("%v, %v", files, err)
	}
}

var _ host.Held = heldFake{}

// What a storage took beside the members goes when the server is free again.
func TestTidyAfterTheRelease(t *testing.T) {
	s := newScene(t, machine{})
	released := -1
	s.shelf.tidied = func() { released = s.server.released }
	if _, err := s.Take(t.Context(), s.plan, TakeOptions{Mode: ModeLocked}); err != nil || released != 1 {
		t.Errorf("tidied after %d releases, %v", released, err)
	}
}
