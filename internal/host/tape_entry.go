package host

import (
	"encoding/json"
	"fmt"
	"strings"

	"plumb/internal/tape"
)

// The calls of a Reader by their names on a tape. An entry's "of" holds the
// path, the pattern, the words of the command, or target name and query.
const (
	opFile   = "file"
	opGlob   = "glob"
	opStat   = "stat"
	opLink   = "link"
	opStatfs = "statfs"
	opRun    = "run"
	opQuery  = "query"
)

// callKey names a call in a map.
func callKey(op string, of ...string) string {
	return op + "\x00" + strings.Join(of, "\x00")
}

// wireStat keeps a path whose bytes are not UTF-8.
type wireStat struct {
	Stat
	Resolved tape.Text `json:"resolved,omitempty"` // hides Stat's
}

func wireOfStat(s Stat) wireStat {
	w := wireStat{Stat: s, Resolved: tape.Text(s.Resolved)}
	w.Stat.Resolved = ""
	return w
}

func (w wireStat) stat() Stat {
	s := w.Stat
	s.Resolved = string(w.Resolved)
	return s
}

func tableOf(rows Rows) tape.Table {
	w := tape.Table{Columns: tape.Texts(rows.Columns...), Values: make([][]*tape.Text, len(rows.Values)), Cut: rows.Cut}
	for i, row := range rows.Values {
		w.Values[i] = make([]*tape.Text, len(row))
		for j, cell := range row {
			w.Values[i][j] = (*tape.Text)(cell)
		}
	}
	return w
}

func rowsOf(w tape.Table) Rows {
	rows := Rows{Columns: fromTexts(w.Columns), Cut: w.Cut}
	for _, row := range w.Values {
		cells := make([]*string, len(row))
		for j, cell := range row {
			cells[j] = (*string)(cell)
		}
		rows.Values = append(rows.Values, cells)
	}
	return rows
}

func fromTexts(texts []tape.Text) []string {
	if len(texts) == 0 {
		return nil
	}
	s := make([]string, len(texts))
	for i := range texts {
		s[i] = string(texts[i])
	}
	return s
}

// newEntry makes the entry of an answer. Text answers are given as *tape.Text,
// all others as the value to write as JSON; nil for none.
func newEntry(op string, of []string, answer any, err error) (tape.Entry, error) {
	e := tape.Entry{Op: op, Of: tape.Texts(of...)}
	if err != nil {
		e.Error, e.Says = kindOf(err), err.Error()
	}
	switch answer := answer.(type) {
	case nil:
	case *tape.Text:
		e.Text = answer
	default:
		value, err := json.Marshal(answer)
		if err != nil {
			return e, fmt.Errorf("record %s %s: %w", op, tape.String(e.Of), err)
		}
		e.Value = value
	}
	return e, nil
}

// errorOfEntry is the error an entry holds, if any.
func errorOfEntry(e tape.Entry) error {
	if e.Error == "" {
		return nil
	}
	return errorOf(e.Error, e.Says)
}

// textOf makes the text of an answer; nil stays nil.
func textOf(data []byte) any {
	if data == nil {
		return nil
	}
	text := tape.Text(data)
	return &text
}
