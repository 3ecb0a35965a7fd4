package mounts

import (
	"slices"
	"testing"
)

// Mounts are read up to a line that is none, and no further than they are wanted.
func TestParse(t *testing.T) {
	const table = "36 25 0:31 / /a rw - zfs tank/a rw\n37 25 8:16 / /b rw - ext4 /dev/sdb rw\nbad line\n38 25 8:16 / /c rw - ext4 /dev/sdb rw\n"
	read := func(most int) (points []string, bad error) {
		for m, err := range Parse([]byte(table)) {
			if bad = err; err != nil || len(points) == most {
				break
			}
			points = append(points, m.Mountpoint)
		}
		return points, bad
	}
	for most, want := range [][]string{{}, {"/a"}, {"/a", "/b"}, {"/a", "/b"}} {
		if got, err := read(most); !slices.Equal(got, want) || (err != nil) != (most >= 2) {
			t.Errorf("at most %d: %q, %v", most, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n"))
	f.Add([]byte("37 35 0:9 / /o rw - overlay overlay rw,lowerdir=/a:/b,upperdir=/u\nbad line\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for m, err := range Parse(text) {
			if (m == nil) != (err != nil) {
				t.Fatalf("%v, %v", m, err)
			}
		}
		for range Parse(text) {
			break // it would panic if it went on
		}
	})
}
