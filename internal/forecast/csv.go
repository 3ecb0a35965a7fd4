package forecast

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/hint"
)

const (
	mostRows  = 2_000_000 // a reading each minute for almost four years
	mostCells = 64
)

// Table is what a file of readings holds.
type Table struct {
	Days   []Day     // not yet one a day; in the order of the file
	Size   float64   // the newest one of the place that is filled; 0: the file does not say
	sizeAt time.Time // of which date that is
}

// What columns are called, in small letters.
var (
	dateColumns = []string{"date", "t", "time", "timestamp", "datetime", "day", "at"}
	usedColumns = []string{"used_bytes", "bytes_used", "bytes", "used", "value"}
	sizeColumns = []string{"size_bytes", "size", "limit", "capacity"}
)

// columns are where a row has what, and how many the header names.
type columns struct{ date, used, size, named int }

// ParseCSV reads a file with a header, and in it a date and the bytes that were
// taken then; a size is read as well. A row without bytes is a day of which
// nothing is known.
func ParseCSV(text []byte) (Table, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	r := csv.NewReader(bytes.NewReader(text))
	r.Comma, r.Comment, r.ReuseRecord, r.FieldsPerRecord, r.TrimLeadingSpace = comma(text), '#', true, -1, true
	head, err := r.Read()
	if err != nil {
		return Table{}, hint.With(fmt.Errorf("read its header: %w", notEnd(err)), wanted)
	}
	is, err := columnsOf(head)
	if err != nil {
		return Table{}, hint.With(err, wanted)
	}
	var t Table
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Table{}, err // says the line
		}
		line, _ := r.FieldPos(0)
		if len(t.Days) >= mostRows {
			return Table{}, hint.With(fmt.Errorf("line %d: there are more than %d rows", line, mostRows), "a row a day is enough")
		}
		if err := t.row(row, is); err != nil {
			return Table{}, hint.With(fmt.Errorf("line %d: %w", line, err), wanted)
		}
	}
	if len(t.Days) == 0 {
		return Table{}, hint.With(errors.New("it has no row with a date and bytes"), wanted)
	}
	return t, nil
}

const wanted = "want a header such as date,used_bytes and rows such as 2026-11-25,1073741824; bytes without a unit"

func notEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty")
	}
	return err
}

// comma is what parts the columns: what spreadsheets write where a comma stands in
// numbers, if the header has it and no comma.
func comma(text []byte) rune {
	for head := range bytes.Lines(text) {
		if head = bytes.TrimSpace(head); len(head) == 0 || head[0] == '#' {
			continue
		}
		if i := bytes.IndexAny(head, ";\t"); i >= 0 && !bytes.Contains(head, []byte(",")) {
			return rune(head[i])
		}
		break
	}
	return ','
}

func columnsOf(head []string) (columns, error) {
	is := columns{columnOf(head, dateColumns), columnOf(head, usedColumns), columnOf(head, sizeColumns), len(head)}
	switch {
	case len(head) > mostCells:
		return is, fmt.Errorf("the header has more than %d columns", mostCells)
	case is.date < 0:
		return is, fmt.Errorf("the header has no column for the date: %s", clip(strings.Join(head, ", ")))
	case is.used < 0:
		return is, fmt.Errorf("the header has no column for the bytes: %s", clip(strings.Join(head, ", ")))
	}
	return is, nil
}

func (t *Table) row(row []string, is columns) error {
	if is.date >= len(row) || is.used >= len(row) {
		return errors.New("it is too short")
	}
	if len(row) > is.named && slices.ContainsFunc(row[is.named:], func(s string) bool { return strings.TrimSpace(s) != "" }) {
		return errors.New("it has more columns than the header: a number has no commas in it, as 1234567")
	}
	if strings.TrimSpace(row[is.used]) == "" {
		return nil
	}
	at, err := parseDate(strings.TrimSpace(row[is.date]))
	if err != nil {
		return err
	}
	v, err := parseBytes(row[is.used])
	if err != nil {
		return err
	}
	t.Days = append(t.Days, Day{at, v})
	if is.size < 0 || is.size >= len(row) || strings.TrimSpace(row[is.size]) == "" || at.Before(t.sizeAt) {
		return nil
	}
	t.sizeAt = at
	t.Size, err = parseBytes(row[is.size])
	return err
}

func columnOf(head, names []string) int {
	for _, name := range names {
		if i := slices.IndexFunc(head, func(h string) bool { return strings.EqualFold(strings.TrimSpace(h), name) }); i >= 0 {
			return i
		}
	}
	return -1
}

// parseBytes reads a count of bytes, as programs write it.
func parseBytes(s string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || !(v >= 0 && v <= math.MaxInt64) {
		return 0, fmt.Errorf("%q is no count of bytes", clip(s))
	}
	return v, nil
}

// forms are how days and moments are written: by ISO 8601, by spreadsheets, and by
// psql, mysql and git. What could be a day or a month first is not among them.
var forms = []string{
	time.DateOnly, time.RFC3339, time.DateTime, "2006-01-02T15:04:05", "2006-01-02T15:04:05-0700", "2006-01-02T15:04", "2006-01-02 15:04",
	"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05-07", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 UTC",
	"2006/01/02", "2006/01/02 15:04:05", "2006/01/02 15:04", "20060102",
}

// Moment reads a day or a moment, as files of readings write it. It is UTC where it
// does not say otherwise.
func Moment(s string) (at time.Time, is bool) {
	for _, form := range forms {
		if at, err := time.Parse(form, s); err == nil {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}

// Numbers that are dates: seconds since 1970 from 1973 on, because a number of days
// or of a row is none, and milliseconds.
const (
	leastSeconds = 1e8
	leastMillis  = 1e11
	mostMillis   = 1e13
)

// parseDate reads a day, a moment, or seconds or milliseconds since 1970.
func parseDate(s string) (time.Time, error) {
	if at, is := Moment(s); is {
		return possible(at, s)
	}
	switch n, err := strconv.ParseFloat(s, 64); {
	case err == nil && n >= leastMillis && n < mostMillis:
		return possible(time.UnixMilli(int64(n)).UTC(), s)
	case err == nil && n >= leastSeconds && n < leastMillis:
		return possible(time.Unix(int64(n), 0).UTC(), s)
	}
	return time.Time{}, fmt.Errorf("%q is no date", clip(s))
}

// possible leaves out dates at which no disk was filled.
func possible(at time.Time, s string) (time.Time, error) {
	if y := at.Year(); y < 1970 || y > 2200 {
		return time.Time{}, fmt.Errorf("%q is no date of a disk", clip(s))
	}
	return at, nil
}

func clip(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}
