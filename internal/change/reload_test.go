package change

import (
	"io/fs"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
)

// Where systemd does not run nobody is told of a new unit file; where that cannot be seen, it is not taken for granted.
func TestReloadsUnitsWhereSystemdRuns(t *testing.T) {
	t.Parallel()
	const systemd = "/run/systemd/system"
	for name, c := range map[string]struct {
		on    hosttest.Map
		op    string
		fails bool
	}{
		"it runs":        {on: hosttest.Map{Stats: map[string]host.Stat{systemd: {Mode: fs.ModeDir}}}, op: "systemctl daemon-reload"},
		"it does not":    {},
		"nobody can say": {on: hosttest.Map{Errors: map[string]error{"stat " + systemd: fs.ErrPermission}}, fails: true},
	} {
		got, err := ReloadUnits(t.Context(), c.on)
		if (err != nil) != c.fails || (got != nil) != (c.op != "") || got != nil && got.String() != c.op {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
