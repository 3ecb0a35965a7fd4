package identity

import (
	"testing"
	"time"

	"plumb/internal/host"
)

func TestSame(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 7, time.UTC)
	one := host.Stat{DevMajor: 0, DevMinor: 47, Inode: 34, Born: at}
	for name, c := range map[string]struct {
		is   host.Stat
		same bool
	}{
		"itself":                      {one, true},
		"after a restart":             {host.Stat{DevMinor: 52, Inode: 34, Born: at}, true},
		"another inode":               {host.Stat{DevMinor: 47, Inode: 35, Born: at}, false},
		"the inode used again":        {host.Stat{DevMinor: 47, Inode: 34, Born: at.Add(1)}, false},
		"of which no birth is told":   {host.Stat{DevMinor: 47, Inode: 34}, false},
		"and on another device there": {host.Stat{DevMinor: 52, Inode: 34}, false},
	} {
		if got := Same(Of(c.is), Of(one)); got != c.same {
			t.Errorf("%s: same: %v", name, got)
		}
	}
	old := host.Stat{DevMinor: 47, Inode: 34}
	if !Same(Of(old), Of(old)) || Same(Of(old), Of(host.Stat{DevMinor: 52, Inode: 34})) {
		t.Error("without a birth, the device counts")
	}
	if !Is(Of(old)) || !Is(Of(one)) || Is("none") || Is("guid 1") {
		t.Error("an identity is known by how it begins")
	}
	if Same("guid 1", "guid 2") || !Same("a inode 1 born 2", "a inode 1 born 2") || Same("a inode 1 born 2", "b inode 1 born 2") {
		t.Error("other texts are not compared whole")
	}
}
