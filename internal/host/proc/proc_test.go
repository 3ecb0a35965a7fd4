package proc

import (
	"slices"
	"strings"
	"testing"
)

func TestSplitStat(t *testing.T) {
	pid, comm, rest, ok := SplitStat([]byte("17 (a) S (b) R 1 17\n"))
	if !ok || pid != "17" || comm != "a) S (b" || !slices.Equal(rest, []string{"R", "1", "17"}) {
		t.Errorf("%q %q %q %v", pid, comm, rest, ok)
	}
	for _, bad := range []string{"", "17 a S", "17 )a( S", "("} {
		if _, _, _, ok := SplitStat([]byte(bad)); ok {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func FuzzSplitStat(f *testing.F) {
	f.Add([]byte("17 (a) S (b) R 1 17"))
	f.Add([]byte("12 )("))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _, rest, _ := SplitStat(data)
		for _, field := range rest {
			if strings.ContainsAny(field, " \t\n") {
				t.Errorf("field %q", field)
			}
		}
	})
}

func TestKeyed(t *testing.T) {
	text := []byte("oom 3\noom_kill 2\nlow max\nMemTotal:  16 kB\n")
	for key, want := range map[string]int64{"oom_kill": 2, "MemTotal:": 16} {
		if n, known := Keyed(text, key); n != want || !known {
			t.Errorf("%s: %d, %v", key, n, known)
		}
	}
	for _, key := range []string{"low", "oom_", ""} {
		if n, known := Keyed(text, key); known {
			t.Errorf("%q is %d", key, n)
		}
	}
}

func FuzzKeyed(f *testing.F) {
	f.Add([]byte("oom_kill 2\n"), "oom_kill")
	f.Fuzz(func(_ *testing.T, data []byte, key string) { Keyed(data, key) })
}
