package taped

import (
	"encoding/json"
	"fmt"

	"plumb/internal/host"
	"plumb/internal/tape"
)

// wireStat keeps a path whose bytes are not UTF-8.
type wireStat struct {
	host.Stat
	Resolved tape.Text `json:"resolved,omitempty"` // hides Stat's
}

func wireOfStat(s host.Stat) wireStat {
	w := wireStat{Stat: s, Resolved: tape.Text(s.Resolved)}
	w.Stat.Resolved = ""
	return w
}

func (w wireStat) stat() host.Stat {
	s := w.Stat
	s.Resolved = string(w.Resolved)
	return s
}

func tableOf(rows host.Rows) tape.Table {
	w := tape.Table{Columns: tape.Texts(rows.Columns...), Values: make([][]*tape.Text, len(rows.Values)), Cut: rows.Cut}
	for i, row := range rows.Values {
		w.Values[i] = make([]*tape.Text, len(row))
		for j, cell := range row {
			w.Values[i][j] = (*tape.Text)(cell)
		}
	}
	return w
}

func rowsOf(w tape.Table) host.Rows {
	rows := host.Rows{Columns: fromTexts(w.Columns), Cut: w.Cut}
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
func newEntry(c host.Call, answer any, err error) (tape.Entry, error) {
	e := tape.Entry{Op: c.Op, Of: tape.Texts(c.Of...)}
	if err != nil {
		e.Error, e.Says = host.KindOf(err), err.Error()
	}
	switch answer := answer.(type) {
	case nil:
	case *tape.Text:
		e.Text = answer
	default:
		value, err := json.Marshal(answer)
		if err != nil {
			return e, fmt.Errorf("record %s %s: %w", e.Op, tape.String(e.Of), err)
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
	return host.ErrorOf(e.Error, e.Says)
}

// textOf makes the text of an answer; nil stays nil.
func textOf(data []byte) any {
	if data == nil {
		return nil
	}
	text := tape.Text(data)
	return &text
}
