package replay

import (
	"testing"
	"time"

	"plumb/internal/protect"
)

// TestStartOf: GTIDs that were read under a lock that held are those of the place, and others were read later.
func TestStartOf(t *testing.T) {
	at := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	times := protect.Times{Began: at, Snapshot: at.Add(time.Second), Storage: time.Second, Ended: at.Add(time.Hour)}
	said, drilled := protect.Position{LSN: "0/3000060"}, protect.Position{LSN: "0/3000100"}
	binary := protect.Position{File: "bin.000001", Offset: 700}
	drill := func(ok bool, p protect.Position) *protect.Drill { return &protect.Drill{OK: ok, Position: p} }
	for name, c := range map[string]struct {
		p     protect.Point
		apart bool
		at    protect.Position
	}{
		"locked":                        {protect.Point{Mode: protect.ModeLocked, Label: protect.Locked, Position: binary}, false, binary},
		"locked and proven":             {protect.Point{Mode: protect.ModeLocked, Label: protect.Proven, Position: binary, Drill: drill(true, protect.Position{File: "bin.000001", Offset: 900})}, false, binary},
		"locked, and the lock was lost": {protect.Point{Mode: protect.ModeLocked, Label: protect.Crash, Doubts: []string{"the lock was lost"}, Position: binary}, true, binary},
		"bare":                          {protect.Point{Mode: protect.ModeCrash, Label: protect.Crash, Position: said}, true, said},
		"bare and proven":               {protect.Point{Mode: protect.ModeCrash, Label: protect.Proven, Position: said, Drill: drill(true, drilled)}, true, drilled},
		"bare, and its drill failed":    {protect.Point{Mode: protect.ModeCrash, Label: protect.Crash, Position: said, Drill: drill(false, drilled)}, true, said},
		"frozen":                        {protect.Point{Mode: protect.ModeFreeze, Label: protect.Locked, Position: binary}, true, binary},
	} {
		c.p.Times = times
		if s := StartOf(c.p); s.Apart != c.apart || s.Position != c.at || !s.Until.Equal(at.Add(2*time.Second)) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
