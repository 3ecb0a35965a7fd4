package inventory

import (
	"testing"
	"time"

	"plumb/internal/journal"
)

func FuzzReplay(f *testing.F) {
	var log journal.Log
	var all []byte
	for _, r := range []struct {
		kind string
		body any
	}{{kindBegin, begin{Version: 1, Run: "run1"}}, {kindIntent, Thing{Kind: Tree, Name: "/srv/lab"}}, {kindMade, result{N: 2}}, {kindGone, result{N: 2}}} {
		text, err := log.Append(time.Time{}, r.kind, r.body)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, text...)
		f.Add(all)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := replay(text)
		if err != nil {
			return
		}
		open := p.open()
		if _, _, err := p.abridged(); err != nil && len(open) > 0 {
			t.Errorf("it cannot go on in a new file: %v", err)
		}
	})
}
