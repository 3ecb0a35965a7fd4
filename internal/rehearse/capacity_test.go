package rehearse

import (
	"testing"

	"plumb/internal/lab/experiment"
	"plumb/internal/stack"
)

// Servers take turns where memory holds them all at once, and nothing that
// they share is changed between them.
func TestTurns(t *testing.T) {
	for name, c := range map[string]struct {
		with func(*stack.Stack, *draft)
		want int
	}{
		"twenty gigabytes":    {func(*stack.Stack, *draft) {}, 10},
		"little memory":       {func(s *stack.Stack, _ *draft) { s.Host().Set("memory_available", stack.Int(3<<30), "test") }, 1},
		"memory not known":    {func(_ *stack.Stack, d *draft) { d.stack = &stack.Stack{Root: true} }, 1},
		"little disk":         {func(_ *stack.Stack, d *draft) { d.want.Room = 2 << 30 }, 3},
		"a directory's disk":  {func(_ *stack.Stack, d *draft) { d.want.Dir, d.want.Room = "/small", 700<<20 }, 1},
		"without root":        {func(s *stack.Stack, _ *draft) { s.Root = false }, 1},
		"a volume's limit":    {func(_ *stack.Stack, d *draft) { d.volume.Profile = "gp3" }, 1},
		"a dataset":           {func(_ *stack.Stack, d *draft) { d.volume.Kind = experiment.Dataset }, 1},
		"a volume of its own": {func(_ *stack.Stack, d *draft) { d.volume.Kind = experiment.Loop }, 10},
	} {
		t.Run(name, func(t *testing.T) {
			s, db := mariadb()
			s.Root = true
			d := &draft{stack: s, volume: experiment.Volume{Kind: experiment.Directory}, size: sizes{memory: 1 << 30, data: 64 << 20}, server: db}
			c.with(s, d)
			if got := d.atOnce(); got != c.want {
				t.Errorf("%d servers at once, want %d", got, c.want)
			}
		})
	}
	s, db := mariadb()
	s.Root = true
	d := &draft{stack: s, server: db, volume: experiment.Volume{Kind: experiment.Directory}, size: sizes{memory: 1 << 30, data: 64 << 20}}
	own, host := arm{set: []change{{"server.settings.sync_binlog", "1"}}}, arm{set: []change{{"host.vm.swappiness", "1"}}}
	if got := d.design([]arm{{}, own}); got != experiment.Interleaved {
		t.Errorf("two servers: %s", got)
	}
	if got := d.design([]arm{{}, own, host}); got != experiment.Blocks {
		t.Errorf("a setting of the host: %s", got)
	}
}
