package backup

import (
	"strings"
	"testing"
	"time"

	"plumb/internal/backup"
)

// TestCourse lets a restore of 64 GiB go for some hours, of which a run before had brought a half, and reads the log.
func TestCourse(t *testing.T) {
	began := time.Date(2026, 11, 27, 3, 0, 0, 0, time.UTC)
	now := began
	c := course{every: logged, told: now}
	p := backup.Progress{Stream: "tank/db", Total: 64 << 30}
	var lines []string
	move := func(bytes, skipped int64, after time.Duration) {
		p.Bytes, p.Skipped, now = p.Bytes+bytes, p.Skipped+skipped, now.Add(after)
		if line := c.moved(p, now); line != "" {
			lines = append(lines, now.Sub(began).String()+" "+line)
		}
	}
	for p.Bytes < 32<<30 {
		move(16<<20, 16<<20, time.Millisecond)
	}
	if len(lines) > 0 {
		t.Errorf("a line for what took no time: %q", lines)
	}
	for i := 0; p.Bytes < p.Total; i++ {
		move(16<<20, 0, time.Duration(5+i%2)*time.Second)
	}
	if want := 37; len(lines) != want { // 2,048 objects of 5.5 s
		t.Errorf("%d lines, and not %d: %q", len(lines), want, lines)
	}
	first, middle, last := lines[0], lines[18], lines[len(lines)-1]
	for line, want := range map[string]string{first: "tank/db: 32.9G of 64.0G, 51 %, 2.91M a second, 2h5", middle: ", 75 %, 2.91M a second, 1h3", last: ", 99 %, 2.91M a second, "} {
		if !strings.Contains(line, want) || !strings.HasSuffix(line, " left") {
			t.Errorf("%q, and it should say %q", line, want)
		}
	}
}

// TestCourseBeginsAnew counts nothing of one work for another, and says no share and no time left of what nobody knows.
func TestCourseBeginsAnew(t *testing.T) {
	now := time.Now()
	c := course{every: watched}
	one := func(p backup.Progress, after time.Duration) string {
		now = now.Add(after)
		return c.moved(p, now)
	}
	if got := one(backup.Progress{Stream: "point", Bytes: 900, Total: 900}, 0); got != "point: 900 bytes of 900 bytes, 100 %" {
		t.Errorf("%q", got)
	}
	if got := one(backup.Progress{Stream: "tank/db", Bytes: 16 << 20, Total: 32 << 20}, time.Hour); got != "tank/db: 16.0M of 32.0M, 50 %, time left unknown" {
		t.Errorf("%q", got)
	}
	if got := one(backup.Progress{Stream: "tank/db", Bytes: 24 << 20, Total: 32 << 20}, time.Second); got != "tank/db: 24.0M of 32.0M, 75 %, 8.00M a second, time left unknown" {
		t.Errorf("%q", got)
	}
	if got := one(backup.Progress{Stream: "tank/db", Bytes: 25 << 20, Total: 50 << 20, About: true}, time.Second); got != "tank/db: 25.0M of about 50.0M, 50 %, time left unknown" {
		t.Errorf("%q", got)
	}
	one(backup.Progress{Stream: "tank/db", Bytes: 24 << 20, Total: 32 << 20}, time.Second)
	if got := one(backup.Progress{Stream: "tank/db", Bytes: 25 << 20, Total: 32 << 20}, time.Millisecond); got != "" {
		t.Errorf("too soon: %q", got)
	}
	c = course{every: watched}
	one(backup.Progress{Stream: "pg_dump", Bytes: 16 << 20}, time.Second)
	for range 20 {
		one(backup.Progress{Stream: "pg_dump", Bytes: c.at.Bytes + 16<<20}, time.Second)
	}
	if got := one(backup.Progress{Stream: "pg_dump", Bytes: c.at.Bytes + 16<<20}, time.Second); got != "pg_dump: 352M, 16.0M a second" {
		t.Errorf("%q", got)
	}
}
