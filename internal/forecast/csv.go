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
	Days []Day   // not yet one a day; in the order of the file
	Size float64 // the last one of the place that is filled; 0: the file does not say
}

// What columns are called, in small letters.
var (
	dateColumns = []string{"date", "t", "time", "timestamp", "day", "at"}
	usedColumns = []string{"used_bytes", "bytes", "used", "value"}
	sizeColumns = []string{"size_bytes", "size", "limit", "capacity"}
)

// ParseCSV reads a file with a header, and in it a date and the bytes that were
// taken then; a size is read as well. A row without bytes is a day of which
// nothing is known.
func ParseCSV(text []byte) (Table, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))))
	r.ReuseRecord, r.FieldsPerRecord, r.TrimLeadingSpace = true, -1, true
	head, err := r.Read()
	if err != nil {
		return Table{}, hint.With(fmt.Errorf("read its header: %w", notEnd(err)), wanted)
	}
	date, used, size := columnOf(head, dateColumns), columnOf(head, usedColumns), columnOf(head, sizeColumns)
	if date < 0 || used < 0 || len(head) > mostCells {
		return Table{}, hint.With(errors.New("the header has no column for the date, or none for the bytes"), wanted)
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
		if err := t.row(row, date, used, size); err != nil {
			return Table{}, hint.With(fmt.Errorf("line %d: %w", line, err), wanted)
		}
	}
	if len(t.Days) == 0 {
		return Table{}, hint.With(errors.New("it has no row with a date and bytes"), wanted)
	}
	return t, nil
}

const wanted = "want a header such as date,used_bytes and rows such as 2026-11-25,1073741824"

func notEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty")
	}
	return err
}

func (t *Table) row(row []string, date, used, size int) error {
	if date >= len(row) || used >= len(row) {
		return errors.New("it is too short")
	}
	if strings.TrimSpace(row[used]) == "" {
		return nil
	}
	at, err := parseDate(strings.TrimSpace(row[date]))
	if err != nil {
		return err
	}
	v, err := parseBytes(row[used])
	if err != nil {
		return err
	}
	t.Days = append(t.Days, Day{at, v})
	if size >= 0 && size < len(row) && strings.TrimSpace(row[size]) != "" {
		if t.Size, err = parseBytes(row[size]); err != nil {
			return err
		}
	}
	return nil
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

// Moment reads a day or a moment, as files of readings write it. It is UTC.
func Moment(s string) (at time.Time, is bool) {
	for _, form := range []string{time.DateOnly, time.RFC3339, time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04"} {
		if at, err := time.Parse(form, s); err == nil {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}

// parseDate reads a day, a moment, or seconds since 1970.
func parseDate(s string) (time.Time, error) {
	if at, is := Moment(s); is {
		return possible(at, s)
	}
	if n, err := strconv.ParseFloat(s, 64); err == nil && n >= 0 && n < 1e11 {
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
		return s[:40] + "…"
	}
	return s
}
