package instance

import (
	"context"
	"errors"
	"strings"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
)

// shelf is a storage of which only how much of it is free is asked.
type shelf struct {
	protect.Storage
	free float64
	err  error
}

func (shelf) Name() string { return "shelf" }
func (s shelf) Free(context.Context, host.Reader, protect.Member) (float64, error) {
	return s.free, s.err
}

// TestCopiesLeaveRoom: where little is free, or nobody knows how much, no copy is made that could take the rest from the server.
func TestCopiesLeaveRoom(t *testing.T) {
	for name, test := range map[string]struct {
		shelf
		want string
	}{
		"room":      {shelf{free: 0.03}, ""},
		"full":      {shelf{free: 0.01}, "only 1.0 % of the storage that a copy of db@p would write to is free"},
		"not known": {shelf{err: errors.New("dmsetup: no such command")}, "look how much room a copy of db@p would have: dmsetup: no such command"},
	} {
		m := Maker{Keeper: &protect.Keeper{Storages: []protect.Storage{test.shelf}}}
		err := m.roomy(t.Context(), []protect.Member{{Volume: protect.Volume{Storage: "shelf"}, Snapshot: "db@p"}})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "full" && !strings.Contains(hint.Of(err), "plumb prune") {
			t.Errorf("its hint is %q", hint.Of(err))
		}
	}
}
