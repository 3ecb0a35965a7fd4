package postgres

import (
	"strings"
	"testing"

	"plumb/internal/edit"
)

// What is read and what is edited must be understood alike: edit refuses what
// the server would not start with, and otherwise gives the same settings.
func FuzzEditReadsConfigTheSame(f *testing.F) {
	f.Add("a = 'b''c' # x\n#d\nWork_mem 4MB\r\ninclude_dir = 'conf.d'\nx='\\b\\f\\n'\n")
	f.Add("a=1\nb = = 2\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsRune(text, 0) {
			return
		}
		keys, err := edit.Keys(edit.Postgresql, []byte(text))
		lines, bad := parseConfig("f", []byte(text))
		if (err != nil) != (len(bad) > 0) {
			t.Fatalf("%q: edit says %v, the probe %q", text, err, bad)
		}
		var want []string
		for _, l := range lines {
			want = append(want, l.name+" "+l.value)
		}
		if err == nil && strings.Join(keys, "\n") != strings.Join(want, "\n") {
			t.Fatalf("%q: edit reads %q, the probe %q", text, keys, want)
		}
	})
}
