package kernel

import (
	"strings"
	"testing"

	"plumb/internal/edit"
)

// What is read and what is edited must be understood alike. Lines with a
// pattern or without a value are not edited.
func FuzzEditReadsSysctlTheSame(f *testing.F) {
	f.Add("# c\n-net/ipv4/conf/eth0.1/x = 1\r\nvm.swappiness=60\n; d\n-a.b\nnet.*.c = 1\nx=\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range text {
			if r == 0 || r == 0x85 || r == 0xa0 || r >= 0x1680 {
				return // what only Go takes for a blank
			}
		}
		keys, err := edit.Keys(edit.Sysctl, []byte(text))
		if err != nil || strings.Count(text, "\n") > maxSysctlLines {
			return
		}
		var want []string
		for _, s := range parseSysctlFile([]byte(text), "f") {
			if !s.exclude && !s.pattern {
				want = append(want, s.name+" "+s.value)
			}
		}
		if strings.Join(keys, "\n") != strings.Join(want, "\n") {
			t.Fatalf("%q: edit reads %q, the probe %q", text, keys, want)
		}
	})
}
