package model

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

	"plumb/internal/forecast"
	"plumb/internal/hint"
)

// Table is a CSV file with a header. Its columns are found by their names.
type Table struct {
	name   string
	header []string
	rows   [][]string
	lines  []int // where each of them is in the file
}

// mostTableRows bounds the memory that short lines take, which is many times their own size.
const mostTableRows = 2_000_000

// ReadTable reads a CSV file. name is the file's, for messages.
func ReadTable(name string, data []byte) (Table, error) {
	t := Table{name: name}
	data, err := forecast.UTF8(data)
	if err != nil {
		return t, fmt.Errorf("read %s: %w", name, err)
	}
	comma, data := forecast.Comma(data)
	r := csv.NewReader(bytes.NewReader(data))
	r.Comma, r.TrimLeadingSpace, r.Comment, r.ReuseRecord = comma, true, '#', false
	if err := t.read(r); err != nil {
		return t, err
	}
	if t.header == nil {
		return t, hint.With(fmt.Errorf("read %s: it is empty", name), "its first line names the columns")
	}
	return t, nil
}

func (t *Table) read(r *csv.Reader) error {
	for {
		row, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return hint.With(fmt.Errorf("read %s: %w", t.name, err), misread(err))
		case t.header == nil:
			for _, h := range row {
				t.header = append(t.header, strings.ToLower(strings.TrimSpace(h)))
			}
			continue
		case len(t.rows) == mostTableRows:
			return hint.With(fmt.Errorf("read %s: it has more than %d rows", t.name, mostTableRows), "one row for each measured level is enough, or one a day for each drive")
		}
		line, _ := r.FieldPos(0)
		t.rows, t.lines = append(t.rows, row), append(t.lines, line)
	}
}

// misread says what a line that is none may have to be.
func misread(err error) string {
	if errors.Is(err, csv.ErrFieldCount) {
		return "each line has as many columns as the first; a number has no commas in it, as 1234567.8"
	}
	return "write a quote within quotes twice, and put quotes around the whole cell"
}

// Has tells whether there is a column.
func (t Table) Has(column string) bool { return slices.Contains(t.header, column) }

// Texts gives a column.
func (t Table) Texts(column string) ([]string, error) {
	i := slices.Index(t.header, column)
	if i < 0 {
		return nil, hint.With(fmt.Errorf("read %s: there is no column %q", t.name, column), "its first line has "+strings.Join(t.header, ", "))
	}
	var all []string
	for _, r := range t.rows {
		all = append(all, strings.TrimSpace(r[i]))
	}
	return all, nil
}

// Line says in which line of the file a row is.
func (t Table) Line(row int) int { return t.lines[row] }

// Numbers gives a column of numbers.
func (t Table) Numbers(column string) ([]float64, error) { return each(t, column, ReadNumber) }

// Sizes gives a column of sizes in bytes, such as 16K.
func (t Table) Sizes(column string) ([]float64, error) { return each(t, column, forecast.Size) }

// Percents gives a column of numbers that may have the sign, as drives tell them.
func (t Table) Percents(column string) ([]float64, error) {
	return each(t, column, func(text string) (float64, error) {
		return ReadNumber(strings.TrimSpace(strings.TrimSuffix(text, "%")))
	})
}

// Parts gives a column of parts of one, such as 0.05.
func (t Table) Parts(column string) ([]float64, error) {
	return each(t, column, func(text string) (float64, error) {
		part, err := ReadNumber(text)
		if err == nil && !(part >= 0 && part <= 1) {
			err = hint.With(fmt.Errorf("%q is not between 0 and 1", forecast.Clip(text)), "5 % is 0.05")
		}
		return part, err
	})
}

// Times gives a column of dates.
func (t Table) Times(column string) ([]time.Time, error) { return each(t, column, readTime) }

func each[T any](t Table, column string, read func(string) (T, error)) (all []T, err error) {
	texts, err := t.Texts(column)
	if err != nil {
		return nil, err
	}
	for i, s := range texts {
		one, err := read(s)
		if err != nil {
			return nil, fmt.Errorf("read %s: line %d, %s: %w", t.name, t.lines[i], column, err)
		}
		all = append(all, one)
	}
	return all, nil
}

// mostNumber is more operations, I/Os or threads than anything has.
const mostNumber = 1e15

// ReadNumber reads a number without a unit: 3K is 3,072 bytes and not as many operations.
func ReadNumber(text string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) || strings.ContainsAny(text, "xXpP_") {
		return 0, hint.With(fmt.Errorf("%q is not a number", forecast.Clip(text)), "such as 1234567.8, with a point, and without commas and letters")
	}
	if math.Abs(n) > mostNumber {
		return 0, hint.With(fmt.Errorf("%q is more than there can be", forecast.Clip(text)), fmt.Sprintf("up to %g", float64(mostNumber)))
	}
	return n, nil
}

func readTime(text string) (time.Time, error) {
	if at, is := forecast.Moment(text); is {
		return at, nil
	}
	return time.Time{}, fmt.Errorf("%q is not a date such as 2026-11-25 or 2026-11-25T06:00:00Z", forecast.Clip(text))
}
