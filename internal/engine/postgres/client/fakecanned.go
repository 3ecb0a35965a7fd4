package client

import (
	"bytes"
	"encoding/binary"
)

// canned is what a fake server answers a query with.
type canned struct {
	word    string // the first of the query, in capitals
	columns []byte // RowDescription; nil for no rows
	rows    []byte // DataRows
	done    []byte // CommandComplete
	status  byte   // of the transaction afterwards; 0 for as before
}

// answers are all that a fake server has.
type answers struct {
	byWord         []canned
	settings, room canned // what About and Room ask
	rest           canned
}

func newAnswers(row []string, rows int) *answers {
	a := &answers{
		settings: canSelect([]string{"server_version", "18.0 (fake)"}, 1),
		room:     canSelect([]string{"10000", "0", "0", "-1", "0", "-1", "0", "on"}, 1),
		rest:     canned{done: appendMessage(nil, 'C', "SET\x00")},
	}
	a.byWord = append(a.byWord, canSelect(row, rows))
	for _, c := range []struct {
		word, tag string
		status    byte
	}{
		{"INSERT", "INSERT 0 1", 0}, {"UPDATE", "UPDATE 1", 0}, {"DELETE", "DELETE 1", 0},
		{"BEGIN", "BEGIN", 'T'}, {"START", "START TRANSACTION", 'T'},
		{"COMMIT", "COMMIT", 'I'}, {"END", "COMMIT", 'I'}, {"ROLLBACK", "ROLLBACK", 'I'}, {"ABORT", "ROLLBACK", 'I'},
	} {
		a.byWord = append(a.byWord, canned{word: c.word, done: appendMessage(nil, 'C', c.tag+"\x00"), status: c.status})
	}
	return a
}

func canSelect(row []string, rows int) canned {
	c := canned{word: "SELECT", done: appendMessage(nil, 'C', "SELECT 1\x00")}
	body := binary.BigEndian.AppendUint16(nil, uint16(len(row)))
	for range row { // name, table, column, type text, its length and modifier, format
		body = append(body, "c\x00"+"\x00\x00\x00\x00"+"\x00\x00"+"\x00\x00\x00\x19"+"\xff\xff"+"\xff\xff\xff\xff"+"\x00\x00"...)
	}
	c.columns = appendMessage(nil, 'T', string(body))
	for range rows {
		c.rows = appendRow(c.rows, row)
	}
	return c
}

// of decides by the first word.
func (a *answers) of(query []byte) *canned {
	query = bytes.TrimLeft(query, " \t\r\n")
	n := 0
	for n < len(query) && isWord(query[n]) {
		n++
	}
	if string(query) == roomQuery {
		return &a.room
	}
	for i := range a.byWord {
		if c := &a.byWord[i]; n == len(c.word) && bytes.EqualFold(query[:n], []byte(c.word)) {
			if i == 0 && bytes.Contains(query, []byte("FROM pg_settings")) {
				return &a.settings
			}
			return c
		}
	}
	return &a.rest
}

func appendRow(out []byte, row []string) []byte {
	body := binary.BigEndian.AppendUint16(nil, uint16(len(row)))
	for _, v := range row {
		body = append(binary.BigEndian.AppendUint32(body, uint32(len(v))), v...)
	}
	return appendMessage(out, 'D', string(body))
}

func appendMessage(out []byte, kind byte, body string) []byte {
	out = binary.BigEndian.AppendUint32(append(out, kind), uint32(len(body)+4))
	return append(out, body...)
}
