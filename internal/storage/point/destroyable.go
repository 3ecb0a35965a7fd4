package point

import (
	"context"
	"fmt"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
)

// destroyable tells why a snapshot must not be destroyed. One that is gone is fine.
func destroyable(m protect.Member, st protect.MemberState) error {
	switch {
	case st.Gone:
		return nil
	case st.Other:
		return hint.With(fmt.Errorf("%s is not the snapshot that was taken: left alone", m.Snapshot), "somebody made it under the name of a point: check it before you remove it by hand")
	case len(st.Clones) > 0:
		return hint.With(fmt.Errorf("the snapshot %s has clones: %v", m.Snapshot, st.Clones), "drop them first: plumb clone list")
	case st.Held:
		return fmt.Errorf("the snapshot %s is held", m.Snapshot)
	}
	return nil
}

// allDestroyable looks at all of a destruction before the first is destroyed.
func allDestroyable(ctx context.Context, s protect.Storage, h host.Reader, members []protect.Member) error {
	for _, m := range members {
		st, err := s.State(ctx, h, m)
		if err == nil {
			err = destroyable(m, st)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
