package forecast

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"plumb/internal/hint"
	"plumb/internal/units"
)

const (
	mostRows  = 2_000_000 // a reading each minute for almost four years
	mostCells = 64
)

// Readings are what a file of readings holds.
type Readings struct {
	Tables []Table  // one for each thing, in the order of the file
	Notes  []string // how what could have been read otherwise was read, for people
}

// Table is what a file tells of one thing.
type Table struct {
	Of      string      // what the file calls it; "" where it tells of one thing only
	Days    []Day       // not yet one a day; in the order of the file
	Percent bool        // the values are per cent of a size that the file does not tell
	Size    float64     // the newest one of the place that is filled; 0: the file does not say
	Why     string      // what that size is
	Full    []time.Time // days on which it was full, by a size of the same row
	sizeAt  time.Time   // of which date that is
	lines   []int       // of each of Days
	bytes   mark        // a value that is in bytes
	parts   mark        // one that is in per cent of a size that is not told
}

const wanted = "it needs a header such as date,used_bytes and rows such as 2026-11-25,1073741824; a unit can be in the header (used_gib) or in the cells (1.5G)"

// ParseCSV reads a file with a header, and in it a date and what was taken then; a size
// and a name are read as well. A row without bytes is a day of which nothing is known.
// It reads what df wrote at several times, too. What is of end or later is left out, as if
// it had not been written yet; with the zero time nothing is.
func ParseCSV(text []byte, end time.Time) (Readings, error) {
	text, err := UTF8(text)
	if err != nil {
		return Readings{}, err
	}
	f, each := file{}, (*file).rows
	if isDF(text) {
		each = (*file).df
	}
	// Twice: what can be read in two ways is read as the rest of the file shows.
	for _, learning := range []bool{true, false} {
		f = file{end: end, dates: f.dates, numerals: f.numerals, of: map[string]*Table{}}
		f.dates.learning = learning
		if err := each(&f, text); err != nil {
			return Readings{}, err
		}
		if err := cmp.Or(f.dates.agree(), f.numerals.agree()); err != nil {
			return Readings{}, err
		}
	}
	return f.readings()
}

// UTF8 gives a text that may be UTF-16 with its mark, as spreadsheets save it.
func UTF8(text []byte) ([]byte, error) {
	big := bytes.HasPrefix(text, []byte("\xfe\xff"))
	if !big && !bytes.HasPrefix(text, []byte("\xff\xfe")) {
		if bytes.IndexByte(text, 0) >= 0 {
			return nil, hint.With(errors.New("it is not text, or UTF-16 without a mark at its start"), "save it as UTF-8")
		}
		return lines(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))), nil
	}
	text = text[2:]
	if len(text)%2 != 0 {
		return nil, hint.With(errors.New("it is UTF-16, and ends in the middle of a character"), "copy it again, or save it as UTF-8")
	}
	letters := make([]uint16, len(text)/2)
	for i := range letters {
		a, b := text[2*i], text[2*i+1]
		if !big {
			a, b = b, a
		}
		letters[i] = uint16(a)<<8 | uint16(b)
	}
	return lines([]byte(string(utf16.Decode(letters)))), nil
}

// lines ends lines as others do where they end as on a Macintosh.
func lines(text []byte) []byte {
	if bytes.IndexByte(text, '\n') >= 0 {
		return text
	}
	return bytes.ReplaceAll(text, []byte("\r"), []byte("\n"))
}

// file is what is read of a file until now.
type file struct {
	end      time.Time // from when on it is not read; zero: never
	dates    dates
	numerals numerals
	order    []*Table
	of       map[string]*Table
	count    int // readings
	most     float64
	unitless bool // a number of them counts what nothing says
	over     mark // more in use than there is
	notes    []string
}

// rows reads a CSV file, once.
func (f *file) rows(text []byte) error {
	comma, text := Comma(text)
	f.numerals.semicolons = comma == ';'
	r := csv.NewReader(bytes.NewReader(text))
	r.Comma, r.Comment, r.ReuseRecord, r.FieldsPerRecord, r.TrimLeadingSpace = comma, '#', true, -1, true
	head, err := next(r)
	if err != nil {
		return hint.With(fmt.Errorf("read its header: %w", notEnd(err)), wanted)
	}
	is, err := columnsOf(head, &dates{learning: true})
	if err != nil {
		return err
	}
	head = slices.Clone(head) // the reader uses its rows again
	row := head
	if is.lone != "" {
		f.note("the column " + Clip(is.lone) + " is used for the used space: there is no other candidate")
	}
	if is.headless {
		f.note("the file has no header: its columns are taken for a date and bytes")
	} else {
		row, err = next(r)
	}
	for ; err == nil; row, err = next(r) {
		if !is.headless && slices.Equal(row, head) {
			continue // several files, one behind the other
		}
		line, _ := r.FieldPos(0)
		if err := f.row(row, is, line); err != nil {
			return atLine(line, err, wanted)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return hint.With(err, "write a quote within quotes twice, and put quotes around the whole cell") // it says the line
}

// drawn is what psql and mysql write around rows.
var drawn = regexp.MustCompile(`^(?:[-+=\s]*|\([0-9]+ rows?\))$`)

// next reads the next row that is one.
func next(r *csv.Reader) ([]string, error) {
	for {
		row, err := r.Read()
		if err != nil || slices.ContainsFunc(row, func(cell string) bool { return !drawn.MatchString(cell) }) {
			return row, err
		}
	}
}

// atLine says in which line something is wrong, and what is wanted unless the error says it.
func atLine(line int, err error, wanted string) error {
	return hint.With(fmt.Errorf("line %d: %w", line, err), cmp.Or(hint.Of(err), wanted))
}

func notEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty")
	}
	return err
}

var (
	separator = regexp.MustCompile(`(?i)^"?sep=(.)"?\r?\n`)
	quoted    = regexp.MustCompile(`"[^"]*"`)
)

// Comma is what parts the columns of a text: what is in the first line, rather what spreadsheets
// write where a comma stands in numbers. A first line that tells it to a spreadsheet
// becomes a remark.
func Comma(text []byte) (rune, []byte) {
	if m := separator.FindSubmatch(text); m != nil && bytes.Contains([]byte(",;\t|"), m[1]) {
		text = bytes.Clone(text)
		text[0] = '#'
		return rune(m[1][0]), text
	}
	for head := range bytes.Lines(text) {
		if head = bytes.TrimSpace(head); drawn.Match(head) || head[0] == '#' {
			continue
		}
		bare, data := quoted.ReplaceAll(head, nil), head[0] >= '0' && head[0] <= '9'
		commas := bytes.Count(bare, []byte(","))
		for _, other := range ";\t|" {
			if n := bytes.Count(bare, []byte(string(other))); n > commas || n > 0 && n == commas && data {
				return other, text
			}
		}
		if _, dated := Moment(string(head)); commas == 0 && !dated && (data || bytes.IndexByte(head, ' ') >= 0) {
			return ' ', text
		}
		break
	}
	return ',', text
}

// row reads a row.
func (f *file) row(row []string, is columns, line int) error {
	cell := func(i int) string {
		if i < 0 || i >= len(row) {
			return ""
		}
		return strings.TrimSpace(row[i])
	}
	if is.date >= len(row) || is.used >= len(row) {
		return errors.New("it is too short")
	}
	if len(row) > is.named && slices.ContainsFunc(row[is.named:], func(s string) bool { return strings.TrimSpace(s) != "" }) {
		return errors.New("it has more columns than the header: write a number without commas, as 1234567, or in quotes")
	}
	r := reading{used: amount{cell(is.used), is.usedUnit}, size: amount{cell(is.size), is.sizeUnit}, free: amount{cell(is.free), is.freeUnit}, line: line}
	if !r.used.known() && (is.used >= 0 || !r.size.known() || !r.free.known()) {
		return nil
	}
	when := cell(is.date)
	if m := clocks.FindStringSubmatch("x " + cell(is.clock)); m != nil && m[1] == "x" {
		when += " " + cell(is.clock)
	}
	var err error
	if r.at, err = f.dates.parse(when, line); err != nil {
		return hint.With(err, cmp.Or(hint.Of(err), numbered(when)))
	}
	if f.dates.learning {
		for _, a := range []amount{r.used, r.size, r.free} {
			if number, _ := cut(a.cell); number != "" && a.known() {
				f.numerals.see(number, line)
			}
		}
		return nil
	}
	var words []string
	for _, i := range is.things {
		if name := cell(i); name != "" {
			words = append(words, name)
		}
	}
	return f.reading(strings.Join(words, " "), r)
}

// amount is a cell, and the unit that the header names.
type amount struct {
	cell string
	unit unit
}

func (a amount) known() bool { return !isUnknown(a.cell) }

// reading is what one row tells of a thing.
type reading struct {
	at               time.Time
	used, size, free amount
	line             int
}

// reading takes what a row tells.
func (f *file) reading(of string, r reading) error {
	t, err := f.more(of)
	if err != nil || f.later(r.at) {
		return err
	}
	size, err := f.bytes(r.size)
	if err != nil {
		return err
	}
	free, err := f.bytes(r.free)
	if err != nil {
		return err
	}
	v, in, why := size-free, unit{}, "the size on the newest day that has one"
	switch {
	case !r.used.known() && v < 0:
		return fmt.Errorf("more is free (%s) than there is (%s)", Clip(r.free.cell), Clip(r.size.cell))
	case r.used.known():
		if v, in, err = f.numerals.amount(r.used.cell, r.used.unit); err != nil {
			return err
		}
		f.noteUnit(in)
		if r.free.known() && !in.percent { // what the filesystem keeps back for root is in neither
			size, why = v+free, "what is in use and free on the newest day that has both"
		}
	}
	if in.percent {
		f.note("the used space is in per cent: growth smaller than the last digit is not visible")
	}
	switch {
	case in.percent && size > 0:
		v *= size / 100
		t.bytes.set(r.line, r.used.cell)
	case in.percent:
		t.Percent = true
		t.parts.set(r.line, r.used.cell)
	default:
		t.bytes.set(r.line, r.used.cell)
	}
	if t.parts.line > 0 && t.bytes.line > 0 {
		return fmt.Errorf("%s in line %d is in per cent and has no size; %s in line %d is in bytes, or has one", t.parts.text, t.parts.line, t.bytes.text, t.bytes.line)
	}
	t.add(Day{r.at, v}, r.line)
	if size > 0 && v < otherUnit*size {
		t.sized(Day{r.at, v}, size, why)
	}
	f.doubtUnits(r, v, size)
	return nil
}

// later tells whether a moment had not come yet.
func (f *file) later(at time.Time) bool { return !f.end.IsZero() && !written(at).Before(f.end) }

// add takes what was used at a time, of which a line tells.
func (t *Table) add(d Day, line int) { t.Days, t.lines = append(t.Days, d), append(t.lines, line) }

// sized takes the size at a time at which so much was used, and what it is: the newest one counts.
func (t *Table) sized(d Day, size float64, why string) {
	if IsFull(d.Value, size) {
		t.Full = append(t.Full, written(d.Date).Truncate(24*time.Hour))
	}
	if !d.Date.Before(t.sizeAt) {
		t.sizeAt, t.Size, t.Why = d.Date, size, why
	}
}

// bytes reads a size, or what is free of it; 0 where it is not known.
func (f *file) bytes(a amount) (float64, error) {
	if !a.known() {
		return 0, nil
	}
	v, in, err := f.numerals.amount(a.cell, a.unit)
	if err == nil && in.percent {
		err = fmt.Errorf("%q is not a size", Clip(a.cell))
	}
	f.noteUnit(in)
	return v, err
}

// more is the table of a thing of which one more row tells.
func (f *file) more(of string) (*Table, error) {
	t, err := f.table(of)
	if f.count++; err == nil && f.count > mostRows {
		err = hint.With(fmt.Errorf("there are more than %d rows", mostRows), "a row a day is enough")
	}
	return t, err
}

// table is that of a thing.
func (f *file) table(of string) (*Table, error) {
	if t := f.of[of]; t != nil {
		return t, nil
	}
	switch {
	case len(of) > mostLabels:
		return nil, hint.With(fmt.Errorf("%s is a name of more than %d characters", Clip(of), mostLabels), "columns such as name, path or mount name what a row is about")
	case len(f.order) >= mostSeries:
		return nil, hint.With(fmt.Errorf("it has more than %d things", mostSeries), "give a part of them")
	}
	t := &Table{Of: of}
	f.order, f.of[of] = append(f.order, t), t
	return t, nil
}

// note says once how something was read.
func (f *file) note(text string) {
	if !slices.Contains(f.notes, text) {
		f.notes = append(f.notes, text)
	}
}

func (f *file) noteUnit(u unit) {
	if u.binary && u.word != "" {
		f.note(strings.ToUpper(u.word) + " of pg_size_pretty is read as a power of 1024 bytes, as it is written")
	}
	if u.decimal {
		f.note(strings.ToUpper(u.word) + " is read as a power of 1000 bytes, and not of 1024")
	}
}

// readings is what was read of all.
func (f *file) readings() (Readings, error) {
	if len(f.order) == 0 {
		return Readings{}, hint.With(errors.New("it has no row with a date and bytes"), wanted)
	}
	if f.unitless && f.most < leastUnitless {
		f.note("numbers without a unit are bytes: if they are not, name the unit in the header, as used_gib")
	}
	if f.dates.day.line > 0 || f.dates.month.line > 0 {
		first, shows := "day", f.dates.day
		if shows.line == 0 {
			first, shows = "month", f.dates.month
		}
		f.note(fmt.Sprintf("dates have the %s first, as %s in line %d shows", first, shows.text, shows.line))
	}
	if c := f.numerals.comma; c.line > 0 {
		f.note(fmt.Sprintf("numbers have a decimal comma, as %s in line %d shows", c.text, c.line))
	}
	r := Readings{}
	for _, t := range f.order {
		if len(t.Days) == 0 {
			continue // it came later
		}
		if len(f.order) == 1 {
			t.Of = ""
		}
		order := t.inOrder()
		if err := f.twice(t, order); err != nil {
			return Readings{}, err
		}
		for i := range t.Days {
			t.Days[i].Date = written(t.Days[i].Date)
		}
		r.Tables = append(r.Tables, *t)
	}
	if len(r.Tables) == 0 {
		return Readings{}, hint.With(fmt.Errorf("it has no row before %s", f.end.Format(time.DateOnly)), "name a later day")
	}
	r.Notes = f.notes
	return r, nil
}

// Clip keeps messages short.
func Clip(s string) string { return units.Start(s, 40) }
