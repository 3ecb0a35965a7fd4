package tape

import "encoding/json"

// Table is an answer of rows and columns. A nil cell is NULL.
type Table struct {
	Columns []Text    `json:"columns"`
	Values  [][]*Text `json:"values"`
	Cut     bool      `json:"cut,omitempty"`
}

// DecodeTable reads a table. Tables are most of what is on a tape of a
// database host, so the form Write writes is read without encoding/json.
func DecodeTable(value json.RawMessage) (Table, error) {
	if t, ok := scanTable(value); ok {
		return t, nil
	}
	var t Table
	err := json.Unmarshal(value, &t)
	return t, err
}

func scanTable(value []byte) (t Table, ok bool) {
	s := scanner{rest: value}
	if !s.take(`{"columns":[`) {
		return t, false
	}
	for !s.take(`]`) {
		if len(t.Columns) > 0 && !s.take(`,`) {
			return t, false
		}
		column, ok := s.str()
		if !ok {
			return t, false
		}
		t.Columns = append(t.Columns, Text(column))
	}
	if !s.take(`,"values":[`) {
		return t, false
	}
	for !s.take(`]`) {
		if len(t.Values) > 0 && !s.take(`,`) {
			return t, false
		}
		row, ok := s.row(len(t.Columns))
		if !ok {
			return t, false
		}
		t.Values = append(t.Values, row)
	}
	t.Cut = s.take(`,"cut":true`)
	return t, s.take(`}`) && len(s.rest) == 0
}

func (s *scanner) row(width int) ([]*Text, bool) {
	if !s.take(`[`) {
		return nil, false
	}
	row := make([]*Text, 0, width)
	for !s.take(`]`) {
		if len(row) > 0 && !s.take(`,`) {
			return nil, false
		}
		if s.take(`null`) {
			row = append(row, nil)
			continue
		}
		cell, ok := s.str()
		if !ok {
			return nil, false
		}
		row = append(row, (*Text)(&cell))
	}
	return row, true
}
