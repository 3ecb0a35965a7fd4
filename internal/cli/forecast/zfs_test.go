package forecast

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/cli/shell"
	"plumb/internal/forecast/model"
	"plumb/internal/stack"
)

// TestDatasetsThatAreLeftOut: a page shows the largest, and says how many there are besides.
func TestDatasetsThatAreLeftOut(t *testing.T) {
	host := &stack.Stack{}
	dataset := func(name, kind string, data int64) {
		d := stack.NewThing("dataset", name)
		d.Set("dataset_type", stack.Text(kind), "made")
		d.Set("logicalreferenced", stack.Int(data), "made")
		d.Set("recordsize", stack.Int(16<<10), "made")
		host.Things = append(host.Things, d)
	}
	for i := range int64(mostDatasets + 3) {
		dataset(fmt.Sprintf("tank/%d", i), "filesystem", 1<<30+i)
	}
	dataset("tank/disk", "volume", 1<<40)
	slices.SortFunc(host.Things, func(a, b *stack.Thing) int { return strings.Compare(a.Ref.Name, b.Ref.Name) })
	read := func(context.Context, shell.Source) (*stack.Stack, error) { return host, nil }
	text := says(t, func(s *shell.Shell) error {
		return runZFS(t.Context(), s, read, zfsFlags{Source: shell.Source{Timeout: time.Minute}})
	})
	if !strings.Contains(text, "3 datasets with less data are left out") || strings.Contains(text, "tank/2,") {
		t.Errorf("%s", text)
	}
	if _, err := datasets(host, "tank/disk"); err == nil || !strings.Contains(err.Error(), "is a volume") {
		t.Errorf("a volume: %v", err)
	}
}

// TestVdevsOfAPool: the pool tells its sectors and its vdevs; what is not known of them is not guessed.
func TestVdevsOfAPool(t *testing.T) {
	for name, c := range map[string]struct {
		layout string
		vdevs  int64
		paths  int
		want   model.Raidz
	}{
		"two of raidz2":      {"raidz2", 2, 12, model.Raidz{Parity: 2, Disks: 6}},
		"mirrors":            {"mirror", 3, 6, model.Raidz{Disks: 1}},
		"one is replaced":    {"raidz1", 2, 9, model.Raidz{}},
		"draid":              {"draid", 1, 11, model.Raidz{}},
		"nothing of a vdev":  {"raidz3", 1, 0, model.Raidz{}},
		"an unknown number":  {"raidz1", 0, 4, model.Raidz{}},
		"fewer than parity":  {"raidz3", 1, 3, model.Raidz{}},
		"a layout of future": {"", 1, 3, model.Raidz{}},
	} {
		pool := stack.NewThing("pool", "tank")
		pool.Set("ashift", stack.Int(13), "made")
		pool.Set("layout", stack.Text(c.layout), "made")
		pool.Set("vdevs", stack.Int(c.vdevs), "made")
		pool.Set("vdev_paths", stack.List(make([]string, c.paths)), "made")
		sector, got := vdevsOf(&stack.Stack{Things: []*stack.Thing{pool}}, "tank/db/data")
		if sector != 8192 || got != c.want {
			t.Errorf("%s: sectors of %g, %+v", name, sector, got)
		}
	}
	if sector, got := vdevsOf(&stack.Stack{}, "tank/db"); sector != 0 || got != (model.Raidz{}) {
		t.Errorf("a pool that was not seen: %g, %+v", sector, got)
	}
}

// TestADatasetHasItsPool: what the pool is made of, and with which recordsize the ratio was measured, goes into the forecast.
func TestADatasetHasItsPool(t *testing.T) {
	d, pool := stack.NewThing("dataset", "tank/db"), stack.NewThing("pool", "tank")
	d.Set("dataset_type", stack.Text("filesystem"), "made")
	for name, v := range map[string]int64{"logicalreferenced": 1 << 30, "recordsize": 16 << 10, "special_small_blocks": 8 << 10} {
		d.Set(name, stack.Int(v), "made")
	}
	pool.Set("ashift", stack.Int(12), "made")
	pool.Set("layout", stack.Text("raidz1"), "made")
	pool.Set("vdevs", stack.Int(1), "made")
	pool.Set("vdev_paths", stack.List([]string{"a", "b", "c"}), "made")
	all, err := datasets(&stack.Stack{Things: []*stack.Thing{d, pool}}, "")
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if z := all[0].ZFS; z.Sector != 4096 || z.Raidz != (model.Raidz{Parity: 1, Disks: 3}) || z.RatioRecord != 16<<10 || z.SmallBlocks != 8<<10 {
		t.Errorf("%+v", z)
	}
}
