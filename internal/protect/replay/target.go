package replay

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/protect"
)

// Target is the moment before which a replay ends. One of its parts is given.
type Target struct {
	Time    time.Time
	GTID    string
	File    string
	LSN     string
	Offset  int64
	Text    string           // as it was typed
	Now     protect.Position // where the server stands
	Newest  int              // timeline that it ever was on
	Archive string           // directory in which archived log lies
}

// Point tells whether it is the point itself.
func (t Target) Point() bool { return t.Time.IsZero() && t.GTID == "" && t.File == "" && t.LSN == "" }

var (
	lsn   = regexp.MustCompile(`^[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}$`)
	place = regexp.MustCompile(`^([^/:\s]+\.[0-9]{6,}):([0-9]{1,19})$`)
	gtid  = regexp.MustCompile(`^(?:[0-9]+-[0-9]+-[0-9]+|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?::[a-z_][a-z0-9_]*)?:[0-9]+)$`)
)

const wall = "2006-01-02 15:04:05"

// minutes is a date that names no second: its first one is meant.
var minutes = regexp.MustCompile(`^([0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2})([^:0-9].*)?$`)

// Parse reads what a person gives as target: FILE:POSITION, a GTID, or a date with its zone.
func Parse(text string) (Target, error) {
	text = minutes.ReplaceAllString(text, "$1:00$2")
	t := Target{Text: text}
	if m := place.FindStringSubmatch(text); m != nil {
		n, err := strconv.ParseInt(m[2], 10, 64)
		t.File, t.Offset = m[1], n
		return t, err
	}
	if lsn.MatchString(text) {
		t.LSN = strings.ToUpper(text)
		return t, nil
	}
	if gtid.MatchString(text) {
		t.GTID = strings.ToLower(text)
		return t, nil
	}
	for _, form := range []string{time.RFC3339, wall + "Z07:00", wall + " Z07:00", wall + " -0700"} {
		if at, err := time.Parse(form, text); err == nil {
			t.Time = at
			return t, t.whole()
		}
	}
	if len(text) > len(wall)+1 && text[len(wall)] == ' ' {
		return t.zoned(text[:len(wall)], text[len(wall)+1:])
	}
	if at, err := time.ParseInLocation(wall, text, time.Local); err == nil {
		return t, hint.Usage("--to "+text+" names no time zone", fmt.Sprintf("say which: --to '%s UTC', or as this host's clock says --to '%s'", text, at.Format(wall+" -0700")))
	}
	return t, hint.Usage(fmt.Sprintf("--to %q is not a moment", text), "give a date with its zone, such as '2026-11-23 03:12:00 Europe/Berlin', a GTID, FILE:POSITION of a binary log, or a place in the WAL")
}

// zoned reads a date of a named zone, which must have been there once.
func (t Target) zoned(date, zone string) (Target, error) {
	in, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" {
		return t, hint.Usage(fmt.Sprintf("%q is not a time zone known here", zone), "give an offset, such as +0100")
	}
	at, err := time.ParseInLocation(wall, date, in)
	if err != nil {
		return t, hint.Usage(fmt.Sprintf("%q is not a date", date), "give it as "+wall)
	}
	if at.Format(wall) != date {
		return t, hint.Usage(fmt.Sprintf("%s was skipped by the clocks of %s", date, zone), "give it with an offset, such as +0100")
	}
	for _, d := range []time.Duration{-time.Hour, time.Hour} {
		if other := at.Add(d); other.Format(wall) == date {
			return t, hint.Usage(fmt.Sprintf("%s occurred twice by the clocks of %s", date, zone), fmt.Sprintf("say which: '%s' or '%s'", at.Format(wall+" -0700"), other.Format(wall+" -0700")))
		}
	}
	t.Time = at
	return t, t.whole()
}

// whole refuses parts of seconds, which the log does not tell.
func (t Target) whole() error {
	if t.Time.Nanosecond() != 0 {
		return hint.Usage("--to "+t.Text+" names a fraction of a second", "the binary log has whole seconds: give one, or the position of a transaction")
	}
	return nil
}
