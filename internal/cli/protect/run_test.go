package protect

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/change"
	"plumb/internal/cli/protect/machine"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/internal/protect/keep"
	"plumb/internal/protect/policy"
	"plumb/internal/protect/rollback"
	"plumb/internal/stack"
)

// shelf is a storage of which some snapshots are gone, and some cannot be looked at.
type shelf struct{ protect.Storage }

func (shelf) Name() string { return "shelf" }

func (shelf) State(_ context.Context, _ host.Reader, m protect.Member) (s protect.MemberState, err error) {
	switch m.Snapshot {
	case "gone":
		s.Gone = true
	case "unread":
		err = errors.New("the disk does not answer")
	}
	return s, err
}

// deaf is this machine, without servers.
type deaf struct{ *host.LiveDoer }

func (deaf) Hold(context.Context, host.Target) (host.Held, error) { return nil, errors.New("not here") }

// TestPointsThatAreGonePutNothingOff: a policy takes and proves a new point when somebody destroyed the last one, and not while its
// storage hangs.
func TestPointsThatAreGonePutNothingOff(t *testing.T) {
	live := hosttest.LiveDoer(t)
	k := &protect.Keeper{Do: deaf{live}, Storages: []protect.Storage{shelf{}}, Store: protect.Store{Dir: t.TempDir()}}
	for i, snapshot := range []string{"there", "gone", "unread"} {
		p := protect.Point{ID: "20261124T01000" + string(rune('0'+i)) + "Z-0000", State: protect.Taken, Server: protect.Server{Ref: stack.Ref{Kind: "mysql", Name: "3306"}}, Members: []protect.Member{{Volume: protect.Volume{Storage: "shelf", Name: "data"}, Snapshot: snapshot}}}
		if err := k.Store.Put(t.Context(), k.Do, p); err != nil {
			t.Fatal(err)
		}
	}
	all, facts, err := (&acts{m: &machine.Machine{Doer: live, Keeper: k}}).Points(t.Context())
	points := keep.Standing(all, facts)
	if err != nil || len(all) != 3 || len(points) != 2 || points[0].Members[0].Snapshot != "there" || points[1].Members[0].Snapshot != "unread" {
		t.Errorf("%+v, %v", points, err)
	}
}

// calls is this machine, which writes down how it calls ssh, and cannot.
type calls struct {
	deaf
	said *string
}

func (c calls) Run(_ context.Context, argv ...string) ([]byte, error) {
	*c.said = strings.Join(argv, " ")
	return nil, errors.New("ssh: exit status 255")
}

// TestPolicySendsAsItSays: the options of a target in a policy are those of the command.
func TestPolicySendsAsItSays(t *testing.T) {
	p, err := policy.Parse("/p.yaml", []byte("points: [{server: all, every: 1h, replicate: [{to: 'ssh://b@vault/tank/db', ssh: [-i, /root/.ssh/backup]}]}]"))
	if err != nil {
		t.Fatal(err)
	}
	live, said := hosttest.LiveDoer(t), ""
	k := &protect.Keeper{Do: calls{deaf{live}, &said}, Store: protect.Store{Dir: t.TempDir()}, Now: time.Now}
	point := protect.Point{ID: "20261124T010000Z-0000", State: protect.Taken, Server: protect.Server{Ref: stack.Ref{Kind: "mysql", Name: "3306"}}, Members: []protect.Member{{Volume: protect.Volume{Storage: "zfs", Name: "pool/data"}, Snapshot: "pool/data@plumb-20261124T010000Z-0000"}}}
	if err := k.Store.Put(t.Context(), k.Do, point); err != nil {
		t.Fatal(err)
	}
	a := &acts{m: &machine.Machine{Doer: live, Keeper: k}}
	err = a.Do(t.Context(), policy.Act{Kind: policy.Replicate, Point: point.ID, Target: "ssh://b@vault/tank/db", Rule: &p.Rules[0]})
	if err == nil || !strings.Contains(err.Error(), "vault cannot be reached") || !strings.Contains(said, " -i /root/.ssh/backup -l b vault ") {
		t.Errorf("%q, %v", said, err)
	}
}

// TestUndoOfARollbackBesideAnotherPlumb: the lock that an undo takes is the one under which points of that journal's host are taken.
func TestUndoOfARollbackBesideAnotherPlumb(t *testing.T) {
	state, d := t.TempDir(), deaf{hosttest.LiveDoer(t)}
	store := protect.Store{Dir: filepath.Join(state, "points")}
	unlock, err := store.Lock(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	a := machine.Adapters{Storages: func(string, string) []protect.Storage { return []protect.Storage{shelf{}} }}
	rolled := []*change.Change{{Begin: change.Begin{Steps: []change.Step{{Knob: stack.Knob{Name: rollback.Knob}}}}}}
	r, undone := Rollbacks(d, a, state, nil), false
	if err := r.Undoing(t.Context(), rolled, func() { undone = true }); !errors.Is(err, protect.ErrBusy) || undone {
		t.Errorf("%v, undone: %v", err, undone)
	}
	unlock()
	if err := r.Undoing(t.Context(), rolled, func() { undone = true }); err != nil || !undone {
		t.Errorf("alone: %v, undone: %v", err, undone)
	}
}
