package client

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"plumb/internal/load"
)

func TestPlaceholders(t *testing.T) {
	for _, c := range [][2]string{
		{"SELECT 1", "SELECT 1"},
		{"SELECT c FROM t WHERE id=?", "SELECT c FROM t WHERE id=$1"},
		{"SELECT c FROM t WHERE id BETWEEN ? AND ? LIMIT?", "SELECT c FROM t WHERE id BETWEEN $1 AND $2 LIMIT $3"},
		{"VALUES (?,?,?),(?,?,?)", "VALUES ($1,$2,$3),($4,$5,$6)"},
		{"SELECT ?::int4 - ?*-?", "SELECT $1::int4 - $2*-$3"},
		{"SELECT ?FROM t", "SELECT $1 FROM t"},
		{"SELECT '?', 'it''s ?', ?", "SELECT '?', 'it''s ?', $1"},
		{`SELECT '\', ?, '?'`, `SELECT '\', $1, '?'`},
		{`SELECT E'\'?', e'\\', ?, E'''?'`, `SELECT E'\'?', e'\\', $1, E'''?'`},
		{`SELECT type'?' , note'\' , ?`, `SELECT type'?' , note'\' , $1`},
		{`SELECT "a?""?", ?`, `SELECT "a?""?", $1`},
		{"SELECT $$?$$, $a$?$$?$a$, ?", "SELECT $$?$$, $a$?$$?$a$, $1"},
		{"SELECT a$b$?, c$b$", "SELECT a$b$ $1, c$b$"},
		{"SELECT ? -- what?\n, ?", "SELECT $1 -- what?\n, $2"},
		{"SELECT /* ? /* ? */ ? */ ?", "SELECT /* ? /* ? */ ? */ $1"},
		{"SELECT j ?? ?, j ??| ?", "SELECT j ? $1, j ?| $2"},
		{"SELECT $1", "SELECT $1"},
		{"SELECT '?", "SELECT '?"},
		{"SELECT /* ?", "SELECT /* ?"},
		{"SELECT ? /", "SELECT $1 /"},
		{"", ""},
	} {
		s, err := parseStatement(c[0])
		if err != nil || string(s.text()) != c[1] {
			t.Errorf("%s: got %s, %v, want %s", c[0], s.text(), err, c[1])
		}
	}
	for _, bad := range []string{"SELECT ?, $1", "SELECT $2 + ?"} {
		if _, err := parseStatement(bad); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

// Messages as PostgreSQL 15 sent them.
const (
	bound    = "2\x00\x00\x00\x04"
	rowOne   = "D\x00\x00\x00\x0b\x00\x01\x00\x00\x00\x010"
	rowTwo   = "D\x00\x00\x00\x16\x00\x03\x00\x00\x00\x02-7\xff\xff\xff\xff\x00\x00\x00\x02ab"
	selected = "C\x00\x00\x00\x0dSELECT 1\x00"
	updated  = "C\x00\x00\x00\x0eUPDATE 12\x00"
	ready    = "Z\x00\x00\x00\x05I"
	notice   = "N\x00\x00\x00nSNOTICE\x00VNOTICE\x00C00000\x00Mtable \"nix\" does not exist, skipping\x00Ftablecmds.c\x00L1310\x00RDropErrorMsgNonExistent\x00\x00"
	syntax   = "E\x00\x00\x00]SERROR\x00VERROR\x00C42601\x00Msyntax error at or near \"SELEC\"\x00P1\x00Fscan.l\x00L1188\x00Rscanner_yyerror\x00\x00"
	killed   = "E\x00\x00\x00tSFATAL\x00VFATAL\x00C57P01\x00Mterminating connection due to administrator command\x00Fpostgres.c\x00L3211\x00RProcessInterrupts\x00\x00"
	status   = "S\x00\x00\x00\x17application_name\x00x\x00"
	told     = "A\x00\x00\x00\x0c\x00\x00|oa\x00b\x00"
)

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       answer
		rows       int
		fails      bool
	}{
		{name: "one row", text: bound + rowOne + selected + ready, want: answer{complete: true, status: 'I', hasRows: true}, rows: 1},
		{name: "two rows and news between", text: bound + rowOne + notice + status + told + rowTwo + selected + ready, want: answer{complete: true, status: 'I', hasRows: true}, rows: 2},
		{name: "an update", text: bound + updated + ready, want: answer{complete: true, status: 'I', affected: 12}},
		{name: "an error", text: syntax + "Z\x00\x00\x00\x05E", want: answer{complete: true, status: 'E'}},
		{name: "the end", text: killed, want: answer{over: true}},
		{name: "an answer that is cut off", text: bound + rowOne + selected[:7], want: answer{hasRows: true}, rows: 1},
		{name: "nothing", text: "", want: answer{}},
		{name: "another protocol", text: "HTTP/1.1 400 Bad Request\r\n", fails: true},
		{name: "an impossible length", text: "D\x00\x00\x00\x03abc", fails: true},
		{name: "too long", text: "D\xff\xff\xff\xff", fails: true},
		{name: "an unknown type", text: "\x00\x00\x00\x00\x04", fails: true},
		{name: "ReadyForQuery without a status", text: "Z\x00\x00\x00\x04", fails: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var a answer
			err := a.parse([]byte(c.text))
			if c.fails {
				if err == nil {
					t.Fatalf("no error: %+v", a)
				}
				return
			}
			rows := 0
			for body, ok := a.nextRow([]byte(c.text), a.firstRow); ok; body, ok = a.nextRow([]byte(c.text), body.to) {
				rows++
			}
			if err != nil || a.complete != c.want.complete || a.over != c.want.over || a.status != c.want.status ||
				a.hasRows != c.want.hasRows || a.affected != c.want.affected || rows != c.rows {
				t.Errorf("%v, %+v and %d rows, want %+v and %d", err, a, rows, c.want, c.rows)
			}
		})
	}
}

func TestColumns(t *testing.T) {
	row := []byte(rowTwo[5:])
	if got := parseInt(parseColumn(row, 0)); got != -7 {
		t.Errorf("the first column: %d", got)
	}
	if parseColumn(row, 1) != nil || parseColumn(row, 3) != nil || parseColumn(row, -1) != nil || parseColumn(nil, 0) != nil {
		t.Error("NULL and columns that are not there must be nil")
	}
	if got := string(parseColumn(row, 2)); got != "ab" {
		t.Errorf("the last column: %s", got)
	}
}

func TestInts(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "0": 0, "-1": -1, "12.95": 12, "t": 1, "f": 0, "x": 0, "9223372036854775807": 1<<63 - 1,
		"9223372036854775808": 1<<63 - 1, "-9223372036854775808": -1 << 63, "-9223372036854775807": -1<<63 + 1, "99999999999999999999": 1<<63 - 1} {
		if got := parseInt([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestTags(t *testing.T) {
	for tag, want := range map[string]int64{"INSERT 0 5": 5, "UPDATE 12": 12, "DELETE 0": 0, "MERGE 3": 3, "COPY 7": 7,
		"SELECT 9": 0, "MOVE 9": 0, "FETCH 9": 0, "DROP TABLE": 0, "DECLARE CURSOR": 0, "CREATE TABLE": 0, "BEGIN": 0, "": 0, "INSERT": 0} {
		if got := parseTag([]byte(tag)); got != want {
			t.Errorf("%s: %d, want %d", tag, got, want)
		}
	}
}

func TestFailuresByClass(t *testing.T) {
	retry := []string{"40001", "40P01", "23505"}
	for _, c := range []struct {
		severity, code string
		want           load.Class
	}{
		{"ERROR", "40001", load.Retry}, {"ERROR", "40P01", load.Retry}, {"ERROR", "23505", load.Retry}, {"ERROR", "55P03", load.Fatal},
		{"ERROR", "42601", load.Fatal}, {"ERROR", "57014", load.Fatal}, {"FATAL", "57P01", load.Lost}, {"FATAL", "57P05", load.Lost},
		{"FATAL", "25P03", load.Lost}, {"FATAL", "40001", load.Lost}, {"ERROR", "08P01", load.Lost}, {"", "", load.Fatal},
	} {
		f := fault{severity: []byte(c.severity), code: []byte(c.code)}.failure(retry, "")
		if f.Class != c.want {
			t.Errorf("%s %s: class %d, want %d", c.severity, c.code, f.Class, c.want)
		}
	}
}

func TestStatementsInErrorsAreShort(t *testing.T) {
	if got := load.Short("SELECT\n\t1,  2"); got != "SELECT 1, 2" {
		t.Errorf("got %q", got)
	}
	if got := load.Short(strings.Repeat("wörd ", 5000)); len([]rune(got)) != 121 {
		t.Errorf("%d characters", len([]rune(got)))
	}
}

// FuzzAnswer gives the parser garbage, whole and in two parts: it must not
// panic, and what it makes of both must be the same.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{bound + rowOne + selected + ready, bound + rowTwo + notice + rowOne + updated + status + ready, syntax + ready, killed,
		"T\x00\x00\x00\x06\x00\x00", "t\x00\x00\x00\x0a\x00\x01\x00\x00\x00\x17", "G\x00\x00\x00\x07\x00\x00\x00", "D\x00\x00\x00\x07\x00\x09\x00"} {
		f.Add([]byte(seed), len(seed)/2)
	}
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		if cut < 0 || cut > len(text) {
			cut = 0
		}
		var whole, parts answer
		errWhole := whole.parse(text)
		errParts := parts.parse(text[:cut])
		if errParts == nil {
			errParts = parts.parse(text)
		}
		if whole != parts || (errWhole == nil) != (errParts == nil) {
			t.Fatalf("%+v, %v as a whole, %+v, %v in parts", whole, errWhole, parts, errParts)
		}
		parseFault(whole.fault.of(text)).failure(nil, "")
		parseTag(whole.tag.of(text))
		parseTypes(whole.params.of(text))
		for body, ok := whole.nextRow(text, whole.firstRow); ok; body, ok = whole.nextRow(text, body.to) {
			for column := range 5 {
				parseInt(parseColumn(body.of(text), column))
			}
		}
	})
}

// FuzzStatement: without placeholders a statement is left as it is, and with
// them all of its bytes come out in order.
func FuzzStatement(f *testing.F) {
	for _, seed := range []string{"SELECT c FROM t WHERE id=?", "SELECT E'\\'?', $a$?$a$, \"?\", /*?/**/*/ ? -- ?", "j ?? ?", "?1", "''?''", "$1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		s, err := parseStatement(query)
		if err != nil {
			return
		}
		if !strings.Contains(query, "?") && (s.params() != 0 || string(s.text()) != query) {
			t.Fatalf("%q became %q", query, s.text())
		}
		args := slices.Repeat([]load.Arg{load.Str([]byte("?'"))}, s.params())
		text := s.appendText(nil, args)
		if got := bytes.Count(text, []byte("'?'''")); got < s.params() {
			t.Fatalf("%q with %d parameters became %q", query, s.params(), text)
		}
	})
}
