package client

import (
	"encoding/hex"
	"errors"
	"net"
	"strings"
	"testing"

	"plumb/internal/host/reach"
	"plumb/internal/load"
)

// Answers of MariaDB 10.11.14 as they came, to a client without EOF packets
// and with cached columns.
const (
	sentOK       = "0700000100010002000000"
	sentInserted = "2e00000100020002000000265265636f7264733a203220204475706c6963617465733a203020205761726e696e67733a2030"
	sentError    = "28000001ff7a042334325330325461626c652027642e6e6f77686572652720646f65736e2774206578697374"
	sentText     = "0200000103011b00000203646566016401740174016901690c3f000b0000000300000000001b00000303646566016401740174016301630c2d0024000000fd00000000001b00000403646566016401740174016401640c3f00170000000c800003000020000005013705736576656e17323032362d31312d32312030313a30323a30332e30303403000006fbfbfb07000007fe000022000000"
	sentPrepared = "0c0000010001000000030002000000001700000203646566000000013f000c3f00000000000680000000001700000303646566000000013f000c3f00000000000680000000001b00000403646566016401740174016901690c3f000b0000000300000000001b00000503646566016401740174016301630c2d0024000000fd00000000001b00000603646566016401740174016401640c3f00170000000c8000030000"
	sentBinary   = "0200000103001800000200000700000005736576656e0bea070b15010203a00f000002000003001c07000004fe000022000000"
)

// answered makes a session that was sent some bytes, after which the server
// closed the connection.
func answered(t testing.TB, data []byte) *session {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = peer.Close()
	asker, ok := reach.NewAsker(conn)
	if !ok {
		t.Fatal("no plain socket")
	}
	s := &session{server: New(Config{}), conn: conn, asker: asker, query: []byte("SELECT 1")}
	s.give(data)
	return s
}

func (s *session) give(data []byte) {
	s.in, s.have, s.at, s.over = append([]byte{}, data...), len(data), 0, nil
	s.result = result{columns: s.result.columns[:0]}
}

func unhex(text string) []byte {
	b, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return b
}

// shown lists all rows.
func shown(s *session) string {
	var out []string
	for s.Next() {
		var row []string
		for i := range s.columns {
			b := s.Bytes(i)
			if row = append(row, string(b)); b == nil {
				row[i] = "NULL"
			}
		}
		out = append(out, strings.Join(row, " "))
	}
	return strings.Join(out, ", ")
}

func TestCapturedAnswers(t *testing.T) {
	s := answered(t, nil)
	s.cached = true
	for _, c := range []struct {
		data     string
		affected int64
		rows     string
	}{{sentOK, 1, ""}, {sentInserted, 2, ""}, {sentText, 0, "7 seven 2026-11-21 01:02:03.004, NULL NULL NULL"}} {
		s.give(unhex(c.data))
		if more, err := s.readResult(nil); more || err != nil || s.Affected() != c.affected || shown(s) != c.rows {
			t.Errorf("%s: more %v, %v, %d rows changed", c.data, more, err, s.Affected())
		}
	}
	s.give(unhex(sentError))
	_, err := s.readResult(nil)
	if f, ok := errors.AsType[*load.Failure](err); !ok || f.Code != "1146" || f.Message != "Table 'd.nowhere' doesn't exist" {
		t.Errorf("an error packet gives %v", err)
	}
	st := parseStatement("SELECT * FROM d.t WHERE i = ? OR ?")
	s.give(unhex(sentPrepared))
	if err := s.readPrepared(st); err != nil || st.id != 1 || len(st.columns) != 3 {
		t.Fatalf("%+v, %v", st, err)
	}
	s.give(unhex(sentBinary))
	if _, err := s.readResult(st); err != nil {
		t.Fatal(err)
	}
	if got := shown(s); got != "7 seven 2026-11-21 01:02:03.004, NULL NULL NULL" {
		t.Errorf("got %s", got)
	}
}

// An answer cut anywhere is an error, never a result.
func TestCutAnswersAreErrors(t *testing.T) {
	for _, data := range []string{sentOK, sentInserted, sentError, sentText} {
		whole := unhex(data)
		s := answered(t, nil)
		s.cached = true
		for n := range len(whole) - 1 {
			s.give(whole[:n])
			if _, err := s.readResult(nil); err == nil || s.Next() {
				t.Errorf("%d bytes of %s pass", n, data)
			}
		}
	}
}

func TestStatementsAreTakenApart(t *testing.T) {
	for query, want := range map[string]string{
		"SELECT 1":                               "SELECT 1",
		"SELECT ?, '?', \"?\", `?`, ?":           "SELECT 7, '?', \"?\", `?`, 7",
		`SELECT 'a\'?', 'b''?', ?`:               `SELECT 'a\'?', 'b''?', 7`,
		"SELECT /* ? */ ? -- ?\n, ? # ?\n, 5--?": "SELECT /* ? */ 7 -- ?\n, 7 # ?\n, 5--7",
		"SELECT '? never ends":                   "SELECT '? never ends",
		"?":                                      "7",
		"SELECT `a``?`, ? /* never ends ?":       "SELECT `a``?`, 7 /* never ends ?",
		"INSERT INTO t VALUES (?,?,?) /* ' */, ('?', ?)": "INSERT INTO t VALUES (7,7,7) /* ' */, ('?', 7)",
	} {
		st := parseStatement(query)
		args := make([]load.Arg, st.params())
		for i := range args {
			args[i] = load.Int(7)
		}
		if got := string(st.appendText(nil, args, false)); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
}

func TestLiteralsAreQuoted(t *testing.T) {
	for _, c := range []struct {
		text, slash, plain string
	}{{`a`, `'a'`, `'a'`}, {`it's`, `'it''s'`, `'it''s'`}, {`a\`, `'a\\'`, `'a\'`}, {"\x00\n\xff", "'\x00\n\xff'", "'\x00\n\xff'"}, {``, `''`, `''`}} {
		if got := string(appendLiteral(nil, []byte(c.text), false)); got != c.slash {
			t.Errorf("%q: got %s", c.text, got)
		}
		if got := string(appendLiteral(nil, []byte(c.text), true)); got != c.plain {
			t.Errorf("%q without backslashes: got %s", c.text, got)
		}
	}
}

func TestLinesBecomeValues(t *testing.T) {
	for line, want := range map[string]string{
		"1\t2": "('1','2')", "": "('')", "\t": "('','')", `\N` + "\t" + `a\N`: `(NULL,'aN')`,
		`a\tb\n\\'`: "('a\tb\n\\\\''')", "a\\\tb": "('a\tb')", `\`: `('\\')`,
	} {
		if got := string(appendValues(nil, []byte(line))); got != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}

// As TestLive compares with what the server prints.
func TestRealsAsTheServerPrintsThem(t *testing.T) {
	for _, c := range []struct {
		v        float64
		single   bool
		decimals int
		want     string
	}{{1e6, false, 31, "1000000"}, {1e14, false, 31, "100000000000000"}, {1e15, false, 31, "1e15"}, {-1.5e20, false, 31, "-1.5e20"},
		{1e-15, false, 31, "0.000000000000001"}, {1e-16, false, 31, "1e-16"}, {0, false, 31, "0"}, {16777217, true, 31, "16777200"},
		{0.25, false, 31, "0.25"}, {1.5, false, 2, "1.50"}, {float64(float32(0.1)), true, 31, "0.1"}} {
		got := appendReal(nil, c.v, c.single, c.decimals)
		if string(got) != c.want {
			t.Errorf("%v: got %s, want %s", c.v, got, c.want)
		}
		if n := parseInt(got); n != int64(c.v) && !c.single && c.v < 1e18 && c.v > -1e18 {
			t.Errorf("%s is read as %d", got, n)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	for _, data := range []string{sentOK, sentInserted, sentError, sentText, sentPrepared, sentBinary} {
		f.Add(unhex(data), false, false, true)
		f.Add(unhex(data), true, false, true)
		f.Add(unhex(data), true, true, false)
	}
	s := answered(f, nil)
	f.Fuzz(func(t *testing.T, data []byte, prepared, eof, cached bool) {
		s.eof, s.cached = eof, cached
		var st *statement
		if prepared {
			st = parseStatement("SELECT ?")
			st.columns = []column{{kind: colLong}, {kind: colDatetime, decimals: 3}, {kind: colDouble, decimals: 31}}
		}
		s.give(data)
		for more := true; more; {
			var err error
			if more, err = s.readResult(st); s.judge(err) != nil {
				break
			}
		}
		for s.Next() {
			for i := range len(s.columns) + 1 {
				_, _ = s.Bytes(i), s.Int(i)
			}
			s.scratch = s.scratch[:0]
		}
		s.give(data)
		_ = s.judge(s.readPrepared(parseStatement("SELECT ?, ?")))
	})
}

// A query keeps its text, and no parameter leaves its quotes.
func FuzzStatement(f *testing.F) {
	f.Add("SELECT ? FROM `t?` WHERE c = 'x' /* ? */", []byte(`it's \`))
	f.Fuzz(func(t *testing.T, query string, text []byte) {
		st := parseStatement(query)
		if strings.Join(st.pieces, "?") != query {
			t.Fatalf("%q is taken apart into %q", query, st.pieces)
		}
		again := parseStatement(string(appendLiteral(nil, text, false)))
		if again.params() != 0 {
			t.Errorf("%q: a parameter got out of its quotes", text)
		}
		_ = appendValues(nil, text)
		_ = parseInt(text)
	})
}
