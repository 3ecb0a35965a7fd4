package archive

import (
	"strings"
	"testing"
	"time"
)

// TestClockSetBack has a service that said something at a time that is still to come: it may have ended long ago.
func TestClockSetBack(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		ahead time.Duration
		want  int
	}{{-time.Second, 0}, {time.Minute, 0}, {time.Hour, 2}} {
		s := Status{Alive: now.Add(c.ahead), Since: now, Sources: []Source{{Name: "mysql", Follows: true, Whole: now.Add(c.ahead)}}}
		got := s.Trouble(now, time.Minute)
		if len(got) != c.want || strings.Count(strings.Join(got, "\n"), "a clock was set back") != c.want {
			t.Errorf("%s ahead: %q", c.ahead, got)
		}
	}
}
