package main

import (
	"io"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	a, err := parse([]string{"-release", "bookworm", "-in", "a", "-in", "b", "-out", "got", "-iops", "3000", "-disk", "100", "-deadline", "5m", "-run", "exit 3"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	s := a.script
	if a.release != "bookworm" || len(s.In) != 2 || s.In[1] != "b" || s.Out != "got" || s.Line != "exit 3" || s.Deadline != 5*time.Minute {
		t.Errorf("read %+v", a)
	}
	if d := s.Disks[0]; len(s.Disks) != 1 || d.Name != "data" || d.IOPS != 3000 || d.Bytes != 100<<20 {
		t.Errorf("the disks are %+v", s.Disks)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "give one of"},
		{"-shell -build", "give one of"},
		{"-shell -run x", "give one of"},
		{"-run x y", `"y" is no flag`},
		{"-nosuch", "not defined"},
		{"-shell -deadline soon", "invalid value"},
	} {
		if _, err := parse(strings.Fields(c.args), io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.args, err, c.want)
		}
	}
}
