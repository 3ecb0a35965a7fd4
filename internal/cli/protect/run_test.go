package protect

import (
	"context"
	"errors"
	"testing"

	"plumb/internal/cli/protect/machine"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
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
	points, err := (&acts{m: &machine.Machine{Doer: live, Keeper: k}}).Points(t.Context())
	if err != nil || len(points) != 2 || points[0].Members[0].Snapshot != "there" || points[1].Members[0].Snapshot != "unread" {
		t.Errorf("%+v, %v", points, err)
	}
}
