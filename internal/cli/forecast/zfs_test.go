package forecast

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/cli/shell"
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
