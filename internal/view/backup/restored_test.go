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

// TestRestored says of a dataset what its stream lacks, once, and for the dataset that it is now.
func TestRestored(t *testing.T) {
	m := manifest.Manifest{ID: "one", Facts: map[string]string{backup.Unsent + "tank/data": "recordsize=16384 compression=lz4", "gtid": "0-1-2"},
		Streams: []manifest.Stream{{Name: "tank/data", Kind: manifest.ZFS}, {Name: "tank/log", Kind: manifest.ZFS}}}
	all := []backup.Received{{Dataset: "tank/restored/data", From: "tank/data", Bytes: 1}, {Dataset: "tank/restored/log", From: "tank/log", Bytes: 1}}
	text := strings.Join(strings.Fields(Restored(m, all, nil, 0, page.Screen{Width: 80})), " ")
	if !strings.Contains(text, "zfs set recordsize=16384 compression=lz4 tank/restored/data tank/log to") || strings.Count(text, "zfs set") != 1 || !strings.Contains(text, "gtid 0-1-2") {
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
