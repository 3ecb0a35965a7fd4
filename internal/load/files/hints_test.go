package files

import (
	"slices"
	"testing"
	"time"

	"plumb/internal/host/scratch"
	"plumb/internal/load"
)

// TestHintsWriteNumbersAsTheTableAboveThem: "99.583µs" below "99.6µs" makes a reader look for the difference.
func TestHintsWriteNumbersAsTheTableAboveThem(t *testing.T) {
	flushes := 1.03
	m := FsyncMeasured{Row: FsyncRow{By: ByFdatasync, Threads: 1}, Flushes: &flushes, Summary: load.Summary{N: 3155, P50: 99583 * time.Nanosecond}}
	var all []string
	for _, h := range measuredHints(scratch.Place{Disks: []scratch.Disk{{Name: "vda"}}}, m) {
		all = append(all, h.Text)
	}
	for _, want := range []string{
		"3,155 calls of fdatasync gave 1.03 flushes each at vda: they are passed on to the disk",
		"the median fdatasync took 99.6µs; flash without power-loss protection needs about a millisecond or more: either the disk has that protection (see its data sheet), or a cache in front of it answered",
	} {
		if !slices.Contains(all, want) {
			t.Errorf("no %q in %q", want, all)
		}
	}
}
