package backup

import (
	"errors"
	"maps"
	"testing"

	"plumb/internal/backup/manifest"
)

// What needs a backup that is gone or not believed cannot be restored, nor can what needs that.
func TestLacks(t *testing.T) {
	var all []Found
	list := func(id, base string, err error) {
		m := manifest.Manifest{ID: id, Streams: []manifest.Stream{{}}}
		if base != "" {
			m.Streams[0].Base = &manifest.Base{Backup: base}
		}
		all = append(all, Found{Manifest: m, Err: err})
	}
	list("a", "", nil)
	list("b", "a", nil)
	list("c", "gone", nil)
	list("d", "c", nil)
	list("e", "", errors.New("not believed"))
	list("f", "e", nil)
	list("g", "h", nil)
	list("h", "g", nil)
	list("i", "h", nil)
	got := Lacks(all)
	if want := map[string]string{"c": "gone", "d": "gone", "f": "e", "g": "g", "h": "h", "i": "h"}; !maps.Equal(got, want) {
		t.Errorf("%v, and not %v", got, want)
	}
}
