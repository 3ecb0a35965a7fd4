package watch

import (
	"os"
	"strings"
	"testing"
	"time"

	"plumb/internal/hint"
)

func TestMomentsOfTheCommandLine(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("this machine knows no time zones: ", err)
	}
	now := time.Date(2026, 11, 25, 9, 0, 0, 0, time.UTC) // 10:00 in Berlin
	autumn := time.Date(2026, 10, 25, 12, 0, 0, 0, time.UTC)
	spring := time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		text string
		now  time.Time
		want string // in UTC, or what the error and its hint say
	}{
		{"03:12", now, "2026-11-25T02:12:00Z"},
		{"09:59:30", now, "2026-11-25T08:59:30Z"},
		{"10:00", now, "2026-11-25T09:00:00Z"},
		{"10:01", now, "2026-11-24T09:01:00Z"},
		{"03:12 UTC", now, "2026-11-25T03:12:00Z"}, // as watch writes it
		{"08:59:30 UTC", now, "2026-11-25T08:59:30Z"},
		{"10:30 UTC", now, "2026-11-24T10:30:00Z"},
		{"10:30Z", now, "2026-11-24T10:30:00Z"},
		{"03:12 +0530", now, "2026-11-24T21:42:00Z"},
		{"02:30 UTC", spring, "2026-03-29T02:30:00Z"}, // which Berlin never had
		{"2026-11-20 03:12", now, "2026-11-20T02:12:00Z"},
		{"2026-11-20T03:12:05", now, "2026-11-20T02:12:05Z"},
		{"2026-07-01 03:12", now, "2026-07-01T01:12:00Z"},
		{"2026-11-20T03:12Z", now, "2026-11-20T03:12:00Z"},
		{"2026-11-20 03:12 UTC", now, "2026-11-20T03:12:00Z"},
		{"2026-11-20 03:12 +0530", now, "2026-11-19T21:42:00Z"},
		{"2026-11-20T03:12:00+01:00", now, "2026-11-20T02:12:00Z"},
		{"now", now, "2026-11-25T09:00:00Z"},
		{"2026-10-25 02:30", now, `twice in Europe/Berlin; use --at "2026-10-25 02:30 +0200" for the first, --at "2026-10-25 02:30 +0100" for the second`},
		{"02:30", autumn, "twice in Europe/Berlin"},
		{"2026-10-25 02:30 +0100", now, "2026-10-25T01:30:00Z"},
		{"2026-10-25 02:30 +0200", now, "2026-10-25T00:30:00Z"},
		{"2026-10-25 01:59", now, "2026-10-24T23:59:00Z"},
		{"2026-10-25 03:00", now, "2026-10-25T02:00:00Z"},
		{"02:30", time.Date(2026, 10, 25, 0, 45, 0, 0, time.UTC), "2026-10-25T00:30:00Z"}, // the second is not past
		{"02:30", time.Date(2026, 10, 25, 0, 15, 0, 0, time.UTC), "2026-10-24T00:30:00Z"}, // neither is
		{"2026-03-29 02:30", now, "does not exist in Europe/Berlin"},
		{"02:30", spring, "does not exist in Europe/Berlin"},
		{"2026-03-29 03:00", now, "2026-03-29T01:00:00Z"},
		{"25:00", now, "not a time"},
		{"yesterday", now, "not a time"},
		{"", now, "not a time"},
		{"2026-02-30 03:12", now, "not a time"},
	} {
		got, err := parseMoment("at", c.text, c.now, berlin)
		said := got.Format(time.RFC3339)
		if err != nil {
			said = err.Error() + "; " + hint.Of(err)
		}
		for part := range strings.SplitSeq(c.want, "; ") {
			if !strings.Contains(said, part) {
				t.Errorf("%q at %s: %s, want %s", c.text, c.now, said, part)
			}
		}
	}
}

// TestZoneWithoutAName: most machines have their zone in /etc/localtime, and Go calls that Local.
func TestZoneWithoutAName(t *testing.T) {
	data, err := os.ReadFile("/usr/share/zoneinfo/Europe/Berlin")
	if err != nil {
		t.Skip("this machine knows no time zones: ", err)
	}
	place, err := time.LoadLocationFromTZData("Local", data)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"2026-10-25 02:30": "occurred twice in this machine's time zone:", "2026-03-29 02:30": "does not exist in this machine's time zone:"} {
		if _, err := parseMoment("at", text, time.Date(2026, 11, 25, 9, 0, 0, 0, time.UTC), place); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzMoment(f *testing.F) {
	for _, seed := range []string{"03:12", "2026-10-25 02:30 +0100", "now"} {
		f.Add(seed)
	}
	now := time.Date(2026, 11, 25, 9, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := parseMoment("at", text, now, time.UTC); err == nil && got.Location() != time.UTC {
			t.Errorf("%q is not in UTC", text)
		}
	})
}
