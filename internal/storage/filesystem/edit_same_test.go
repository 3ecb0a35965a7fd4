package filesystem

import (
	"path"
	"strings"
	"testing"

	"plumb/internal/edit"
)

// What is read and what is edited must be understood alike.
func FuzzEditReadsFstabTheSame(f *testing.F) {
	f.Add("# x\nUUID=1 /my\\040data ext4 rw,noatime 0 2\nswap none\n/dev/sdb\t/a//b/ xfs\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range text {
			if r == 0 || r == 0x85 || r == 0xa0 || r >= 0x1680 || r == '\\' {
				return // what only Go takes for a blank; escapes hold for each option of its own
			}
		}
		keys, err := edit.Keys(edit.Fstab, []byte(text))
		if err != nil || strings.Contains(text, ",,") || strings.Count(text, "\n") >= fstabLimit {
			return
		}
		var want []string
		for _, e := range parseFstab([]byte(text)) {
			want = append(want, path.Clean(e.Point)+" "+strings.Join(e.Options, ","))
		}
		for i := range keys {
			point, options, _ := strings.Cut(keys[i], " ")
			keys[i] = point + " " + strings.Trim(options, ",")
		}
		if strings.Join(keys, "\n") != strings.Join(want, "\n") {
			t.Fatalf("%q: edit reads %q, the probe %q", text, keys, want)
		}
	})
}
