package vm

import (
	_ "embed" // the script
	"strconv"
	"strings"
	"testing"
	"time"
)

//go:embed guest/arc.sh
var arc string

// TestMetadataInARC measures what block pointers take, packed on disk and in
// the ARC, and compares it with what the rules cross/zfs-arc-metadata say.
func TestMetadataInARC(t *testing.T) {
	for _, release := range Releases() {
		t.Run(release, func(t *testing.T) {
			m := Open(t, release)
			r, err := m.Run(t.Context(), Script{Line: arc, Out: t.ArtifactDir(), Deadline: 25 * time.Minute, Disks: []Disk{{Name: "data", Bytes: 4 << 30}}})
			t.Logf("took %v\n%s", r.Took, r.Output)
			if err != nil || r.Code != 0 {
				t.Fatalf("code %d, %v", r.Code, err)
			}
			measured := figures(string(r.Output))
			pointers(t, measured, "r128", "r128", 512<<20/(128<<10))
			pointers(t, measured, "r16", "r16", 160<<20/(16<<10))
			pointers(t, measured, "updated", "updated", 160<<20/(16<<10))
			pointers(t, measured, "updated", "few", 160<<20/(16<<10))
		})
	}
}

// block is the size of a block of 1,024 pointers before it is packed.
const block = 128 << 10

// pointers compares the pointers of a file of so many records, as they are on
// the disk, with how much the ARC's metadata grew when it was read at random.
func pointers(t *testing.T, measured map[string]int64, disk, name string, records int64) {
	t.Helper()
	plain := records * 128
	packed := measured[disk+" disk psize"]
	if packed < plain/4 || packed > plain*6/10 {
		t.Errorf("%s: pointers of %d bytes are %d packed", disk, plain, packed)
	}
	grown := func(when string) int64 {
		return measured[name+" "+when+" metadata_size"] - measured[name+" before metadata_size"]
	}
	idle, used := grown("idle"), grown("used")
	t.Logf("%s: pointers of %d bytes are %d packed (%.2f); in the ARC %d (%.2f), while records are in use %d (%.2f)",
		name, plain, packed, share(packed, plain), idle, share(idle, plain), used, share(used, plain))
	if name == "few" {
		// Four records in use, and some that were a moment ago.
		if used > packed+8*block {
			t.Errorf("%s: %d bytes for four records in use", name, used)
		}
		return
	}
	if idle < packed*7/10 || idle > packed*13/10+block {
		t.Errorf("%s: %d bytes on disk, %d in the ARC", name, packed, idle)
	}
	if used < packed+plain*8/10 || used > packed+plain*12/10+4*block {
		t.Errorf("%s: %d bytes of pointers in use, %d packed and %d plain", name, used, packed, plain)
	}
}

func share(part, whole int64) float64 { return float64(part) / float64(whole) }

// figures reads the lines of words and, last, a number.
func figures(text string) map[string]int64 {
	all := map[string]int64{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		if n, err := strconv.ParseInt(words[len(words)-1], 10, 64); err == nil {
			all[strings.Join(words[:len(words)-1], " ")] = n
		}
	}
	return all
}
