package backup

import (
	"testing"
	"time"

	"plumb/internal/backup"
)

func TestStanding(t *testing.T) {
	var s standing
	now := time.Now()
	if got := s.due(now.Add(time.Hour)); got != "" {
		t.Errorf("before anything is to come: %q", got)
	}
	s.moved(backup.Progress{}, now)
	for _, c := range []struct {
		after time.Duration
		moved *backup.Progress
		want  string
	}{
		{after: 2 * time.Minute},
		{after: 3 * time.Minute, want: "nothing has come yet for 3m"},
		{after: 4 * time.Minute},
		{after: 6 * time.Minute, want: "nothing has come yet for 6m"},
		{after: 7 * time.Minute, moved: &backup.Progress{Stream: "pg_dump", Bytes: 32 << 20}},
		{after: 11 * time.Minute, want: "pg_dump has stood at 32.0M for 4m"},
		{after: 12 * time.Minute, moved: &backup.Progress{Stream: "pg_dump", Bytes: 64 << 20, Total: 64 << 20}},
		{after: 40 * time.Minute}, // all has come: a server recovers on it
	} {
		if c.moved != nil {
			s.moved(*c.moved, now.Add(c.after))
			continue
		}
		if got := s.due(now.Add(c.after)); got != c.want {
			t.Errorf("after %s: %q", c.after, got)
		}
	}
}
