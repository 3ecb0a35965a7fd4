package disk

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/provision/spec"
)

// labelsOn gives where ZFS has its labels on a disk of a number of sectors: vdev_label_offset, of what vdev_open leaves of the size.
// A disk that it is given whole it divides first, as zpool_label_disk of a release does: up to 2.4 sectors count as if they were of 512
// bytes, later they are scaled. Then the labels are those of the first partition.
func labelsOn(sectors, sector, start, reserved int64) (at []int64) {
	const multiple = 2048 // PARTITION_END_ALIGNMENT
	from, size := int64(0), sectors*sector
	if start > 0 {
		table := 16384/sector + 1 // efi_alloc_and_init: the second GPT, and its header
		usable := sectors - table
		from, size = start*sector, (usable-reserved-start)/multiple*multiple*sector
	}
	size = size / label * label
	return []int64{from, from + label, from + size - 2*label, from + size - label}
}

// onDisk are the ways in which ZFS is given a disk: the first sector of its partition, and how many it reserves at the end; zeros for
// a partition or volume, of which it takes all.
func onDisk(sector int64) map[string][2]int64 {
	coeff := sector / 512
	return map[string][2]int64{"as it is": {0, 0}, "whole, up to 2.4": {2048, 16384}, "whole, later": {2048 / coeff, 16384 / coeff}}
}

// Each label is within what is read and made zero, on disks of all sizes, whatever their sectors are.
func TestLabelsOfZFSAreWithinTheParts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, sector := range []int64{512, 4096} {
		for i := range int64(20000) {
			sectors := (256<<20)/sector + i // each remainder of what it is rounded to
			if i > 5000 {
				sectors = (256<<20)/sector + r.Int64N((16<<40)/sector)
			}
			d := Disk{Size: sectors * sector, Logical: sector}
			for way, w := range onDisk(sector) {
				for n, at := range labelsOn(sectors, sector, w[0], w[1]) {
					within := false
					for _, p := range d.parts() {
						within = within || at >= p.at && at+label <= p.at+p.bytes
					}
					if !within {
						t.Fatalf("label %d of a disk of %d sectors of %d bytes, %s, is at %d, %d before the end", n, sectors, sector, way, at, d.Size-at)
					}
				}
			}
		}
	}
}

// A disk of sectors of 4 KiB, of an odd size: a label is found wherever a release wrote it, and made zero once its pool is gone.
func TestLabelsOnLargeSectors(t *testing.T) {
	box := disks(t)
	const sectors, sector = 65536 + 2052, 4096 // so that the partition ends as far before the end as it can
	i := aDisk(t, box, "large", 264)
	i.bytes = sectors * sector
	sh(t, `truncate -s "$3" "$2"; losetup --set-capacity "$1"`, i.loop, i.file, fmt.Sprint(i.bytes))
	if out, err := exec.Command("losetup", "--sector-size", fmt.Sprint(sector), i.loop).CombinedOutput(); err != nil {
		t.Skipf("no loop device of large sectors here: %s", out)
	}
	d := doer(t)
	used, err := looked(t, d, spec.Disk{Path: i.loop})
	if err != nil || Refuse(used) != nil || used.Logical != sector || used.Size != i.bytes {
		t.Fatalf("%v, %v, %+v", err, Refuse(used), used)
	}
	f, err := os.OpenFile(i.loop, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for way, w := range onDisk(sector) {
		all := labelsOn(sectors, sector, w[0], w[1])
		for n, at := range all {
			writeLabel(t, f, aLabel("tank", 2, 9), at)
			if prove(t, d, used) == nil {
				t.Errorf("%s: label %d at %d is not seen", way, n, at)
			}
		}
		if out, err := run(used.BlankPool("tank")); err != nil {
			t.Errorf("%s: %v: %s", way, err, out)
		}
		sh(t, `cmp -n "$2" "$1" /dev/zero`, i.loop, fmt.Sprint(i.bytes))
	}
}

// A pool that was exported, or has another name, is on its disks: it is known by its GUID, or by its name while that is not known.
func TestAPoolThatIsNotImportedIsFound(t *testing.T) {
	box := disks(t)
	i := aDisk(t, box, "asleep", 41)
	used, err := looked(t, doer(t), spec.Disk{Path: i.loop})
	if err != nil {
		t.Fatal(err)
	}
	const active, exported, destroyed = 0, 1, 2
	end := i.bytes &^ (label - 1)
	file := Disk{Spec: spec.Disk{Path: i.file, Size: i.bytes}, File: true, Size: i.bytes}
	f, err := os.OpenFile(i.loop, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for name, c := range map[string]struct {
		label string
		at    int64
		guid  string
		there bool
	}{
		"exported":                     {aLabel("tank", exported, 9), 0, "7", true},
		"exported, the last label":     {aLabel("tank", exported, 9), end - label, "7", true},
		"on a partition":               {aLabel("tank", exported, 9), 1 << 20, "7", true},
		"by another name":              {aLabel("other", active, 9), 0, "7", true},
		"by its name":                  {aLabel("tank", active, 9), 0, "", true},
		"destroyed":                    {aLabel("tank", destroyed, 9), 0, "7", false},
		"removed":                      {aLabel("tank", active, 0), 0, "7", false},
		"another's":                    {aLabel("tank", exported, 9), 0, "8", false},
		"another's, the GUID unknown":  {aLabel("other", exported, 9), 0, "", false},
		"a copy that is no label":      {aLabel("tank", exported, 9), 100 << 10, "7", false},
		"nothing":                      {"", 0, "7", false},
		"nothing, of a GUID that is 0": {"", 0, "0", false},
	} {
		writeLabel(t, f, c.label, c.at)
		if out, err := run(used.HasNoPool("tank", c.guid)); (err != nil) != c.there {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		out, err := run(file.HasNoPool("tank", c.guid))
		if (err != nil) != c.there {
			t.Errorf("%s, in a file: %v: %s", name, err, out)
		}
		if e, ok := errors.AsType[*exec.ExitError](err); c.there && (!ok || e.ExitCode() != change.Kept) {
			t.Errorf("%s: it does not say that the file is kept: %v: %s", name, err, out)
		}
		writeLabel(t, f, strings.Repeat("\x00", len(c.label)), c.at)
	}
	gone, other := file, used
	gone.Spec.Path += "-none"
	if out, err := run(gone.HasNoPool("tank", "7")); err != nil {
		t.Errorf("a file that is not there: %v: %s", err, out)
	}
	other.Identity, other.Digest = "loop0/size", digest([]byte("S2\n"))
	for _, op := range []func() error{func() error { _, err := run(other.HasNoPool("tank", "7")); return err }, func() error { _, err := run(other.IsUsed()); return err }} {
		if op() == nil {
			t.Error("nothing is known of another disk, and it is taken for empty")
		}
	}
	if out, err := run(used.IsUsed()); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// writeLabel puts the names and values of a label where they are in one that begins at a place.
func writeLabel(t *testing.T, f *os.File, text string, at int64) {
	t.Helper()
	_, err := f.WriteAt([]byte(text), at+16<<10)
	if err := errors.Join(err, f.Sync()); err != nil {
		t.Fatal(err)
	}
}
