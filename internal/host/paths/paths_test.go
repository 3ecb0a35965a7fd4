package paths

import "testing"

func TestCut(t *testing.T) {
	for _, c := range []struct {
		name, dir, rest string
		within          bool
	}{
		{"/data", "/data", "", true},
		{"/data/db/t1", "/data", "db/t1", true},
		{"/data/db", "/data/", "db", true},
		{"/data", "/data/", "", true},
		{"/data/", "/data", "", true},
		{"/data", "/", "data", true},
		{"/", "/", "", true},
		{"data/db", "data", "db", true},
		{"/database", "/data", "", false}, // begins alike
		{"/data.old/x", "/data", "", false},
		{"/data", "/data/db", "", false},
		{"/", "/data", "", false},
		{"socket:[17]", "/", "", false}, // what /proc/PID/fd leads to
		{"/data", "", "", false},        // unknown
		{"", "/", "", false},
		{"", "", "", false},
	} {
		if rest, within := Cut(c.name, c.dir); rest != c.rest || within != c.within {
			t.Errorf("Cut(%q, %q) is %q, %v: want %q, %v", c.name, c.dir, rest, within, c.rest, c.within)
		}
		if Within(c.name, c.dir) != c.within {
			t.Errorf("Within(%q, %q): want %v", c.name, c.dir, c.within)
		}
	}
}
