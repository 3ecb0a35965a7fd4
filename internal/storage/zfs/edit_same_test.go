package zfs

import (
	"strings"
	"testing"

	"plumb/internal/edit"
)

// What is read and what is edited must be understood alike.
func FuzzEditReadsModprobeTheSame(f *testing.F) {
	f.Add("options zfs a=1 \\\n b=\"2\" # x\nblacklist y\noptions zfs c d=e=f\r\n# x \\\noptions zfs g=1\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range text {
			if r == 0 || r == 0x85 || r == 0xa0 || r >= 0x1680 || r == '-' {
				return // what only Go takes for a blank; names are ours, with _
			}
		}
		keys, err := edit.Keys(edit.Modprobe, []byte(text))
		if err != nil || len(text) > 32<<10 {
			return
		}
		var got, want []string
		for _, k := range keys {
			if rest, ok := strings.CutPrefix(k, "zfs/"); ok {
				got = append(got, rest)
			}
		}
		for _, o := range parseModprobe([]byte(text)) {
			want = append(want, o.name+" "+o.value)
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("%q: edit reads %q, the probe %q", text, got, want)
		}
	})
}
