package lab

import (
	"errors"
	"strings"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/lab/experiment"
)

// Room is asked for where each volume lies: below the lab's directory, or in
// the pool.
func TestDemand(t *testing.T) {
	const gigabyte = 1 << 30
	h := hosttest.Map{Spaces: map[string]host.Statfs{"/srv": {AvailBytes: 5 * gigabyte}}}
	here := experiment.Volume{Kind: experiment.Loop, Size: 2 * gigabyte}
	pool := experiment.Volume{Kind: experiment.Dataset, Parent: "tank/db"}
	onLoop, inPool := Need{Disk: 2 * gigabyte, Why: "a volume of 2G"}, Need{Place: "tank/db", Room: 4 * gigabyte}
	for name, c := range map[string]struct {
		loops, sets int
		data        int64
		says, hint  string // of the error
	}{
		"all fits":        {loops: 2, sets: 1, data: gigabyte},
		"full disk":       {loops: 3, says: "/srv has 5G free, but the experiment takes 6G: 3 × a volume of 2G", hint: "--dir"},
		"full pool":       {sets: 2, data: gigabyte, says: "tank/db has 4G free, but the experiment takes 6G", hint: "66 % of it"},
		"only in a pool":  {sets: 1, data: gigabyte},
		"nothing is free": {sets: 1, data: 1 << 50, says: "tank/db has 4G free", hint: "less data helps"},
	} {
		t.Run(name, func(t *testing.T) {
			d := demand{}
			for range c.loops {
				d.add(here, onLoop, c.data)
			}
			for range c.sets {
				d.add(pool, inPool, c.data)
			}
			says, err := d.met(t.Context(), h, "/srv")
			if c.says == "" {
				if err != nil || len(says) != min(c.loops, 1)+min(c.sets, 1) {
					t.Errorf("%q, %v", says, err)
				}
				return
			}
			if help := hint.Hinted(nil); err == nil || !strings.Contains(err.Error(), c.says) || !errors.As(err, &help) || !strings.Contains(help.Hint(), c.hint) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}
