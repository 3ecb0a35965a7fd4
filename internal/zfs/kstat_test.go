package zfs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The first lines are typed from the format of arcstats in OpenZFS.
func TestParseKstat(t *testing.T) {
	text := `9 1 0x01 147 39984 4246293318 1085420132143
name                            type data
hits                            4    1031290
c_max                           4    8298217472
arc_no_grow                     4    0
garbage
too many words here
`
	want := map[string]int64{"hits": 1031290, "c_max": 8298217472, "arc_no_grow": 0}
	if diff := cmp.Diff(want, ParseKstat([]byte(text))); diff != "" {
		t.Error(diff)
	}
}

func FuzzParseKstat(f *testing.F) {
	f.Add([]byte("13 1 0x01 123 33456 1 2\nname type data\nhits 4 100\nl2_hits 4 9223372036854775807\nbad 4 x\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for name := range ParseKstat(text) {
			if name == "" {
				t.Error("a counter without a name")
			}
		}
	})
}
