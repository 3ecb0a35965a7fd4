package backup

import (
	"strings"
	"testing"
	"time"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/moment"
	"plumb/internal/view/page"
)

// TestRestored says of a dataset what its stream lacks, once, and for the dataset that it is now. Root types it: what is no property is not said.
func TestRestored(t *testing.T) {
	m := manifest.Manifest{ID: "one", Facts: map[string]string{backup.Unsent + "tank/data": "recordsize=16384 compression=lz4", "gtid": "0-1-2"},
		Streams: []manifest.Stream{{Name: "tank/data", Kind: manifest.ZFS}, {Name: "tank/log", Kind: manifest.ZFS}, {Name: "tank/wal", Kind: manifest.ZFS}}}
	for name, words := range map[string]string{"tank/log": "recordsize=8192;reboot canmount=on;reboot canmount=on -r", "tank/wal": "compression=$(reboot) mountpoint=/etc recordsize= atime=off\x1b[2J logbias=throughput"} {
		m.Facts[backup.Unsent+name] = words
	}
	all := []backup.Received{{Dataset: "tank/restored/data", From: "tank/data", Bytes: 1}, {Dataset: "tank/restored/log", From: "tank/log", Bytes: 1}, {Dataset: "tank/restored/wal", From: "tank/wal", Bytes: 1}}
	text := strings.Join(strings.Fields(Restored(m, all, nil, 0, page.Screen{Width: 80})), " ")
	if !strings.Contains(text, "zfs set recordsize=16384 compression=lz4 tank/restored/data tank/log to tank/restored/log tank/wal to tank/restored/wal its properties are in no stream: zfs set logbias=throughput tank/restored/wal") ||
		strings.Count(text, "zfs set") != 2 || !strings.Contains(text, "gtid 0-1-2") {
		t.Error(text)
	}
}

// What log was replayed onto is called what it is.
func TestMomentOfAPoint(t *testing.T) {
	for want, m := range map[string]manifest.Manifest{"base backup": {ID: "x"}, "point": {ID: "x", Point: "y"}} {
		for _, w := range []moment.Way{{}, {Files: 2, Count: 3}} {
			got := strings.Join(strings.Fields(Moment(m, w, "the end", "/srv", time.Second, page.Screen{})), " ")
			if !strings.Contains(got, "the "+want) || strings.Contains(got, "base backup") != (want == "base backup") {
				t.Errorf("%s of %+v: %s", want, w, got)
			}
		}
	}
}
