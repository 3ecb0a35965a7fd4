package protect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/inventory"
	"plumb/internal/stack"
)

// The fakes of these tests stand for a server and a storage that are asked in an order;
// what real ones answer is tested where they are.

// shelf is a storage whose snapshots are files in a directory.
type shelf struct {
	dir  string
	swap bool // the second snapshot is of a later moment
	fail int  // the snapshot that fails, from 1
	part bool // the second snapshot is one in part
	mute bool // the answer leaves the second out
	lose bool // nothing is found again by its name

	clones map[string][]string // by snapshot
	tidied func()              // is called when all beside the members is to go
	busy   error               // what a removal of the second volume's snapshots says
	lost   error               // what a look for snapshots says
	dead   map[string]error    // what a look at anything of a volume says
}

func (*shelf) Name() string                                          { return "shelf" }
func (*shelf) Volume(*stack.Stack, *stack.Thing) (Volume, bool)      { return Volume{}, false }
func (*shelf) Atomic([]Volume) string                                { return "" }
func (*shelf) Room(*stack.Stack, []Volume) error                     { return nil }
func (*shelf) Settle(context.Context, host.Streamer, []Volume) error { return nil }
func (s *shelf) file(v Volume, name string) string                   { return path.Join(s.dir, v.Name+"@"+name) }

func (s *shelf) Snapshot(ctx context.Context, d host.Streamer, vols []Volume, name string, _ map[string]string) (all []Member, err error) {
	for i, v := range vols {
		if i+1 == s.fail {
			return all, errors.New("no space left")
		}
		birth := "7"
		if s.swap && i > 0 {
			birth = "8"
		}
		if _, err := d.ReadFile(ctx, s.file(v, name)); err == nil {
			return all, errors.New(s.file(v, name) + " is there already")
		}
		if err := d.Replace(ctx, s.file(v, name), []byte(birth), 0o600); err != nil {
			return all, err
		}
		if s.mute && i > 0 {
			continue
		}
		all = append(all, Member{Volume: v, Snapshot: v.Name + "@" + name, GUID: v.Name, Birth: birth, Part: s.part && i > 0})
	}
	return all, nil
}

func (s *shelf) Find(ctx context.Context, h host.Reader, vols []Volume, name string) (all []Member, err error) {
	if s.lost != nil {
		return nil, s.lost
	}
	for _, v := range vols {
		if err := s.dead[v.Name]; err != nil {
			return nil, err
		}
		if s.lose {
			continue
		}
		if text, err := h.ReadFile(ctx, s.file(v, name)); err == nil {
			all = append(all, Member{Volume: v, Snapshot: v.Name + "@" + name, GUID: v.Name, Birth: string(text)})
		}
	}
	return all, nil
}

func (s *shelf) State(ctx context.Context, h host.Reader, m Member) (MemberState, error) {
	if err := s.dead[m.Name]; err != nil {
		return MemberState{Space: -1}, err
	}
	_, err := h.ReadFile(ctx, path.Join(s.dir, m.Snapshot))
	return MemberState{Gone: err != nil, Clones: s.clones[m.Snapshot], Space: -1}, nil
}

func (*shelf) Holds(v Volume, t inventory.Thing) bool { return strings.HasPrefix(t.Name, v.Name+"/") }

func (s *shelf) Tidy(context.Context, host.Streamer, []Member, string) error {
	if s.tidied != nil {
		s.tidied()
	}
	return nil
}

func (*shelf) Mark(context.Context, host.Streamer, Member, map[string]string) error { return nil }
func (*shelf) Clone(context.Context, host.Streamer, Member, CloneAt) error {
	return errors.New("not here")
}

func (s *shelf) Destroy(ctx context.Context, d host.Streamer, members []Member) error {
	for _, m := range members {
		if s.busy != nil && m.Name == "log" {
			return s.busy
		}
		if err := d.Remove(ctx, path.Join(s.dir, m.Snapshot)); err != nil {
			return err
		}
	}
	return nil
}

// quietServer is an engine under whose lock things can go wrong.
type quietServer struct {
	Starter
	moves, unread, kept bool
	released            int
	waited              time.Duration
}

func (*quietServer) Kind() string { return "quiet" }
func (*quietServer) Describe(context.Context, host.Reader, *stack.Stack, stack.Ref) (Server, host.Target, error) {
	return Server{}, host.Target{}, nil
}
func (*quietServer) Aside(_ *stack.Stack, _ Server, file string) bool {
	return strings.HasSuffix(file, ".log")
}
func (*quietServer) Modes(context.Context, host.Reader, host.Target, *stack.Stack, Server, Set) ([]Mode, error) {
	return nil, nil
}
func (*quietServer) Position(context.Context, host.Reader, host.Target) (Position, error) {
	return Position{Offset: 1}, nil
}
func (q *quietServer) Quiesce(_ context.Context, _ host.Held, _ Mode, limit time.Duration) (Quiet, error) {
	q.waited = limit
	return &quietNow{q: q}, nil
}

type quietNow struct {
	q *quietServer
	n int64
}

func (q *quietNow) Position(context.Context) (Position, error) {
	if q.q.unread {
		return Position{}, errors.New("gone away")
	}
	if q.q.moves {
		q.n++
	}
	return Position{File: "log", Offset: q.n}, nil
}

func (q *quietNow) Release(context.Context) (map[string]string, error) {
	q.q.released++
	if q.q.kept {
		return nil, errors.New("server has gone away")
	}
	return nil, nil
}

// machine is this one, with a held session that is whole or is not.
type machine struct {
	*host.LiveDoer
	front  host.Doer // nil, or what comes before it
	broken bool
}

type heldFake struct{ broken bool }

func (heldFake) Exec(context.Context, string) error               { return nil }
func (heldFake) Query(context.Context, string) (host.Rows, error) { return host.Rows{}, nil }
func (heldFake) ID() int64                                        { return 1 }
func (heldFake) Close() error                                     { return nil }
func (h heldFake) Beside(context.Context) (host.Held, error)      { return h, nil }
func (h heldFake) Whole(context.Context) error {
	if h.broken {
		return host.ErrBroken
	}
	return nil
}

func (m machine) Hold(context.Context, host.Target) (host.Held, error) {
	return heldFake{m.broken}, nil
}
func (m machine) Replace(ctx context.Context, name string, data []byte, perm os.FileMode) error {
	return m.front.Replace(ctx, name, data, perm)
}
func (m machine) Remove(ctx context.Context, name string) error { return m.front.Remove(ctx, name) }

// scene is a keeper with its fakes, and the plan of a point on two volumes.
type scene struct {
	*Keeper
	shelf  *shelf
	server *quietServer
	plan   Plan
}

func newScene(t *testing.T, m machine) *scene {
	t.Helper()
	m.LiveDoer = hosttest.LiveDoer(t)
	if m.front == nil {
		m.front = m.LiveDoer
	}
	dir := t.TempDir()
	s := &scene{shelf: &shelf{dir: path.Join(dir, "shelf")}, server: &quietServer{}}
	s.Keeper = &Keeper{Do: m, Engines: []Engine{s.server}, Storages: []Storage{s.shelf}, Store: Store{Dir: path.Join(dir, "points")}, Now: time.Now}
	s.plan = Plan{Server: Server{Ref: stack.Ref{Kind: "quiet", Name: "1"}, PID: os.Getpid()},
		Set:   Set{Volumes: []Volume{{Storage: "shelf", Name: "data", Mountpoint: "/d"}, {Storage: "shelf", Name: "log", Mountpoint: "/l"}}},
		Modes: []Mode{{Name: ModeCrash}, {Name: ModeLocked}, {Name: ModeFreeze}}}
	return s
}

// snapshots lists what is on the shelf.
func (s *scene) snapshots(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(s.shelf.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") { // half of a file that came about
			names = append(names, e.Name())
		}
	}
	return names
}

// points lists what is written down.
func (s *scene) points(t *testing.T) []Point {
	t.Helper()
	all, err := s.Store.List(t.Context(), s.Do)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// whole says what is wrong with what is left: each snapshot belongs to a point that has
// all of its snapshots.
func (s *scene) whole(t *testing.T) error {
	var belong []string
	for _, p := range s.points(t) {
		if p.State != Taken || len(p.Members) != 2 {
			return fmt.Errorf("point %s is %s, with %d members", p.ID, p.State, len(p.Members))
		}
		for _, m := range p.Members {
			belong = append(belong, m.Snapshot)
		}
	}
	have := s.snapshots(t)
	slices.Sort(belong)
	slices.Sort(have)
	if !slices.Equal(belong, have) {
		return fmt.Errorf("the points have %q, and there are %q", belong, have)
	}
	return nil
}
