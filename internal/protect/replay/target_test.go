package replay

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"2026-11-24 03:12:00 UTC", "2026-11-24T03:12:00Z"},
		{"2026-11-24 03:12:00 +0100", "2026-11-24T02:12:00Z"},
		{"2026-11-24T03:12:00+01:00", "2026-11-24T02:12:00Z"},
		{"2026-11-24 03:12 UTC", "2026-11-24T03:12:00Z"},
		{"2026-11-24 03:12 +0100", "2026-11-24T02:12:00Z"},
		{"2026-11-24T03:12Z", "2026-11-24T03:12:00Z"},
		{"2026-07-24 03:12 Europe/Berlin", "2026-07-24T01:12:00Z"},
		{"2026-11-24 03:12", "names no time zone"},
		{"2026-11-24 03 UTC", "is not a moment"},
		{"2026-07-24 03:12:00 Europe/Berlin", "2026-07-24T01:12:00Z"},
		{"2026-03-29 02:30:00 Europe/Berlin", "was skipped"},
		{"2026-10-25 02:30:00 Europe/Berlin", "occurred twice"},
		{"2026-11-24T03:12:00.5Z", "fraction of a second"},
		{"2026-11-24 03:12:00", "names no time zone"},
		{"2026-11-24 03:12:00 Local", "not a time zone known here"},
		{"2026-11-31 03:12:00 UTC", "not a date"},
		{"yesterday", "is not a moment"},
		{"binlog.000003:1234", "binlog.000003 1234"},
		{"../binlog.000003:1234", "is not a moment"},
		{"0-1-22", "0-1-22"},
		{"3E11FA47-71CA-11E1-9E33-C80AA9429562:23", "3e11fa47-71ca-11e1-9e33-c80aa9429562:23"},
	} {
		got, err := Parse(c.text)
		said := got.GTID
		switch {
		case err != nil:
			said = err.Error()
		case got.File != "":
			said = got.File + " " + strings.Split(c.text, ":")[1]
		case !got.Time.IsZero():
			said = got.Time.UTC().Format("2006-01-02T15:04:05Z")
		}
		if !strings.Contains(said, c.want) {
			t.Errorf("%q gives %q, want %q", c.text, said, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"2026-11-24 03:12:00 UTC", "2026-11-24 03:12:00 Europe/Berlin", "binlog.000003:1234", "0-1-22"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := Parse(text); err == nil && got.Time.IsZero() == (got.GTID == "" && got.File == "") && got.File == "" && got.GTID == "" {
			t.Errorf("%q is nothing", text)
		}
	})
}
