package disk

import (
	"context"
	"encoding/binary"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/provision/spec"
)

// The bytes here are made up after the formats' descriptions; those of real programs are
// refused in TestTraps and in the virtual machine.
func TestSignatures(t *testing.T) {
	const size = 100<<20 + 5*512
	for what, c := range map[string]struct {
		at   int64
		text string
	}{
		"LVM": {512, "LABELONE"}, "LUKS": {0, "LUKS\xba\xbe\x00\x02"}, "the second header of LUKS": {16 << 10, "SKUL\xba\xbe"},
		"md RAID 1.2": {4096, "\xfc\x4e\x2b\xa9"}, "md RAID 1.1": {0, "\xfc\x4e\x2b\xa9"}, "md RAID 1.0, at the end": {(size/512 - 16) / 8 * 8 * 512, "\xfc\x4e\x2b\xa9"},
		"md RAID 0.90, at the end": {size/65536*65536 - 65536, "\xfc\x4e\x2b\xa9"}, "1 label of ZFS": {size/(256<<10)*(256<<10) - 256<<10 + 20<<10, "pool_guid"},
		"the second GPT, at the end": {size - 512, "EFI PART"}, "a GPT": {512, "EFI PART"}, "an MBR or a boot sector": {510, "\x55\xaa"}, "XFS": {0, "XFSB"}, "DRBD": {size - 4096 + 60, "\x83\x74\x02\x6b"},
	} {
		head, tail := make([]byte, labels), make([]byte, labels)
		if c.at < labels {
			copy(head[c.at:], c.text)
		} else {
			copy(tail[c.at-(size-labels):], c.text)
		}
		if got := signaturesIn(head, tail, size); !slices.Equal(got, []string{what}) {
			t.Errorf("%s: %v", what, got)
		}
	}
	if got := signaturesIn(make([]byte, labels), make([]byte, labels), size); got != nil {
		t.Errorf("of zeros: %v", got)
	}
	head := make([]byte, labels)
	binary.BigEndian.PutUint64(head[256<<10+130<<10:], uberblock)
	if got := signaturesIn(head, nil, size); !slices.Equal(got, []string{"1 label of ZFS"}) {
		t.Errorf("an uberblock alone: %v", got)
	}
}

func TestSerialIn(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"vpd_pg80", "\x00\x80\x00\x08  WD-1234", "WD-1234"[:6]}, {"vpd_pg80", "\x00\x80\x00\xffS1 ", "S1"}, {"vpd_pg80", "\x00\x83\x00\x01x", ""}, {"vpd_pg80", "", ""},
		{"serial", " S64F01 \n", "S64F01"}, {"serial", "\x00\x01", ""}, {"uuid", "LVM-abc\n", "LVM-abc"}, {"serial", strings.Repeat("x", 300), ""},
	} {
		if got := serialIn(c.file, []byte(c.text)); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.file, c.text, got, c.want)
		}
	}
}

// The ashift is that of the sectors, but of what a disk only likes to be written at once OpenZFS takes 16 KiB at most.
func TestShift(t *testing.T) {
	for _, c := range []struct {
		logical, physical int64
		want              int
	}{{0, 0, 12}, {512, 512, 12}, {512, 4096, 12}, {4096, 4096, 12}, {512, 8192, 13}, {4096, 16384, 14}, {512, 131072, 14}, {32768, 131072, 15}} {
		if got := (Disk{Logical: c.logical, Physical: c.physical}).Shift(); got != c.want {
			t.Errorf("sectors of %d and %d bytes: %d, want %d", c.logical, c.physical, got, c.want)
		}
	}
}

// A ZFS that does not answer may have the disk in a pool; one that is not installed has none.
func TestPoolsThatAreNotToldAreNotNone(t *testing.T) {
	late := map[string]error{"run zpool status -P": context.DeadlineExceeded, "run zpool status": context.DeadlineExceeded}
	for name, c := range map[string]struct {
		errs map[string]error
		fail bool
	}{"does not answer": {late, true}, "not installed": {nil, false}} {
		l := &look{ctx: t.Context(), h: hosttest.Map{Errors: c.errs}}
		if err := l.pools(nil); (err != nil) != c.fail || len(l.d.Users) > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a process has open is found among more than is listed at once: the kernel lets two have a disk open, as a virtual machine does.
func TestADiskThatIsOpenIsFoundAmongMany(t *testing.T) {
	h := hosttest.Map{Links: map[string]string{"/proc/7/fd/3": "/dev/sdb"}, Stats: map[string]host.Stat{"/proc/7/fd/3": {Mode: fs.ModeDevice, RdevMajor: 8, RdevMinor: 16}}, Errors: map[string]error{"glob /proc/[0-9]*/fd/*": host.ErrTooLarge}}
	l := &look{ctx: t.Context(), h: h}
	if users, err := l.openers(map[string]string{"8:16": "sdb"}); err != nil || len(users) != 1 || !strings.Contains(users[0], "sdb is open in process 7") {
		t.Errorf("%v, %v", users, err)
	}
}

// Who is told that a disk holds labels of ZFS is told first how to see whose.
func TestHintOfALostPool(t *testing.T) {
	d := Disk{Spec: spec.Disk{Path: "/dev/disk/by-id/x"}, Serial: "S", Identity: "sdb/serial", On: []string{"4 labels of ZFS"}}
	if got := hint.Of(Refuse(d)); !strings.Contains(got, "zpool import") || !strings.Contains(got, "erase: S") {
		t.Error(got)
	}
}

func FuzzSignatures(f *testing.F) {
	f.Add([]byte("XFSB"), []byte("EFI PART"), int64(1<<20))
	f.Add([]byte{}, make([]byte, 4096), int64(0))
	f.Fuzz(func(_ *testing.T, head, tail []byte, size int64) {
		if size < 0 {
			size = -(size + 1)
		}
		signaturesIn(head, tail, size)
		serialIn("vpd_pg80", head)
	})
}
