package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"plumb/internal/engine/mysql/client"
	"plumb/internal/load"
	"plumb/test/sandbox"
)

// live starts a private server once for all tests that need one.
func live(t *testing.T) client.Config {
	t.Helper()
	b := sandbox.ForTest(t, "")
	o := sandbox.MySQLOptions{Port: sandbox.FreePort(t), Settings: "innodb_buffer_pool_size=64M\nlocal_infile=1"}
	if os.Getenv("PLUMB_MYSQL") == "9" {
		o.Native = true
		var err error
		o.Basedir, o.Loader, err = sandbox.MySQLTree()
		sandbox.Need(t, err)
	}
	s, err := b.MySQL(o)
	sandbox.Need(t, err)
	if err := s.Exec("CREATE DATABASE d"); err != nil {
		t.Fatal(err)
	}
	return client.Config{Network: "unix", Address: s.Socket, User: s.User, Database: "d"}
}

func open(t *testing.T, c client.Config) load.Session {
	t.Helper()
	s, err := client.New(c).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func admin(t *testing.T, c client.Config) load.Admin {
	t.Helper()
	a, err := client.New(c).Admin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

func TestLive(t *testing.T) {
	c := live(t)
	for _, sub := range []struct {
		name string
		run  func(*testing.T, client.Config)
	}{
		{"types", typesInBothProtocols}, {"reals", realsInBothProtocols}, {"fill", fillBothWays}, {"fill lax", fillOfLaxServers}, {"fill refuses", fillRefuses}, {"failures", failures},
		{"killed", killed}, {"room", room}, {"about", about}, {"large answers", largeAnswers}, {"login", refusedLogins}, {"ways in", waysIn},
	} {
		t.Run(sub.name, func(t *testing.T) { sub.run(t, c) })
	}
}

// typesInBothProtocols reads every type by both protocols and by the driver:
// the texts must be the same.
func typesInBothProtocols(t *testing.T, c client.Config) {
	a := admin(t, c)
	if err := a.Exec(t.Context(), `CREATE TABLE types (id INT PRIMARY KEY, a TINYINT, b TINYINT UNSIGNED, c SMALLINT, d SMALLINT UNSIGNED,
		e MEDIUMINT, f INT UNSIGNED, g BIGINT, h BIGINT UNSIGNED, i DECIMAL(12,2), j CHAR(10), k VARCHAR(20), l TEXT, m BLOB, n DATE,
		o DATETIME, p DATETIME(6), q TIME, r TIME(3), s YEAR, u ENUM('x','y'), v BIT(8), w DOUBLE)`,
		`INSERT INTO types VALUES (1, -128, 255, -32768, 65535, -8388608, 4294967295, -9223372036854775808, 18446744073709551615, -12.30,
		'it''s', 'a\\b', 'text', x'00ff27', '2026-11-21', '2026-11-21 05:06:07', '2026-11-21 05:06:07.000089', '-100:01:02', '03:04:05.006', 2026, 'y', b'1', 0.25)`,
		`INSERT INTO types (id, o, q) VALUES (2, '2026-01-02 00:00:00', '00:00:00')`); err != nil {
		t.Fatal(err)
	}
	want, err := a.Query(t.Context(), "SELECT * FROM types ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []bool{false, true} {
		c.Text = text
		s := open(t, c)
		st, err := s.Prepare("SELECT * FROM types WHERE id >= ? AND 'a?' <> ? /* ? */ ORDER BY id")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time without the columns, where the server can
			if err := s.Run(st, []load.Arg{load.Int(1), load.Str([]byte(`b\'?`))}); err != nil {
				t.Fatal(err)
			}
			for r := 0; s.Next(); r++ {
				for i, cell := range want.Values[r] {
					got := s.Bytes(i)
					if (cell == nil) != (got == nil) || cell != nil && *cell != string(got) {
						t.Errorf("text %v, row %d, %s: got %q, the driver says %v", text, r, want.Columns[i], got, show(cell))
					}
				}
			}
		}
		if err := s.Run(st, []load.Arg{load.Int(1), {}}); err != nil || s.Next() {
			t.Errorf("a comparison with NULL gives rows, %v", err)
		}
		if err := s.Run(st, []load.Arg{load.Int(1), load.Str(nil)}); err != nil || !s.Next() || s.Int(7) != -9223372036854775808 || s.Int(9) != -12 {
			t.Errorf("text %v: numbers %d %d, %v", text, s.Int(7), s.Int(9), err)
		}
	}
}

// realsInBothProtocols compares our own text of floats and times with the
// server's.
func realsInBothProtocols(t *testing.T, c client.Config) {
	a := admin(t, c)
	if err := a.Exec(t.Context(), "CREATE TABLE reals (d DOUBLE, e DOUBLE(10,2), f FLOAT, g FLOAT(7,3), h DATETIME(6), i TIME(2), j TIMESTAMP(3) NULL, k YEAR)",
		`INSERT INTO reals VALUES (1e15, 1.5, 16777217, 0.1, '2026-01-01', '-00:00:01.5', '2026-01-01 00:00:00', 0), (1e14, -2, 0.1, 100, '2026-01-01 00:00:00.1', '838:00:00', NULL, 1999),
		(1e-15, 0, 1e10, 0, NULL, '00:00:00', NULL, NULL), (1.25e-16, 12345678.91, 123456789, 1, NULL, NULL, NULL, NULL), (-1.2345678901234567e17, NULL, 1e-7, NULL, NULL, NULL, NULL, NULL),
		(1e6, NULL, 3e38, NULL, NULL, NULL, NULL, NULL), (0.1, NULL, 2.5, NULL, NULL, NULL, NULL, NULL)`); err != nil {
		t.Fatal(err)
	}
	wire := open(t, c)
	c.Text = true
	text := open(t, c)
	for _, query := range []string{"SELECT * FROM reals", "SELECT SUM(d), SUM(e), SUM(f), AVG(e), AVG(g), MAX(h), MIN(i) FROM reals"} {
		for _, s := range []load.Session{wire, text} {
			st, err := s.Prepare(query)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Run(st, nil); err != nil {
				t.Fatal(err)
			}
		}
		for text.Next() && wire.Next() {
			for i := range 8 {
				if string(text.Bytes(i)) != string(wire.Bytes(i)) || text.Int(i) != wire.Int(i) {
					t.Errorf("%s: the server's text is %s (%d), ours %s (%d)", query, text.Bytes(i), text.Int(i), wire.Bytes(i), wire.Int(i))
				}
			}
		}
	}
}

// fillOfLaxServers loads where the server truncates and knows no backslashes.
func fillOfLaxServers(t *testing.T, c client.Config) {
	a := admin(t, c)
	if err := a.Exec(t.Context(), "CREATE TABLE lax (id INT PRIMARY KEY, t VARCHAR(4))", "SET sql_mode = 'NO_BACKSLASH_ESCAPES', max_error_count = 0"); err != nil {
		t.Fatal(err)
	}
	for id, allowed := range []string{"1", "0"} {
		if err := a.Exec(t.Context(), "SET GLOBAL local_infile = "+allowed); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Fill(t.Context(), "lax", nil, strings.NewReader(fmt.Sprintf("%d\ttoo long\n", id))); err == nil {
			t.Errorf("local_infile %s: a text that is too long is cut", allowed)
		}
		lines := fmt.Sprintf("%d\ta\\tb\\\\\n%d\t\\N\n%d\ta\\\nb\n", 10*id, 10*id+1, 10*id+2)
		if n, err := a.Fill(t.Context(), "lax", nil, strings.NewReader(lines)); err != nil || n != 3 {
			t.Errorf("local_infile %s: %d rows, %v", allowed, n, err)
		}
	}
	rows, err := a.Query(t.Context(), "SELECT HEX(t), @@sql_mode FROM lax ORDER BY id")
	if err != nil || len(rows.Values) != 6 {
		t.Fatalf("%d rows, %v", len(rows.Values), err)
	}
	for i, want := range []string{`"6109625C"`, "NULL", `"610A62"`, `"6109625C"`, "NULL", `"610A62"`} {
		if show(rows.Values[i][0]) != want || *rows.Values[i][1] != "NO_BACKSLASH_ESCAPES" {
			t.Errorf("row %d: %s, mode %s", i, show(rows.Values[i][0]), *rows.Values[i][1])
		}
	}
	if err := a.Exec(t.Context(), "SET GLOBAL local_infile = 1"); err != nil {
		t.Fatal(err)
	}
}

func show(s *string) string {
	if s == nil {
		return "NULL"
	}
	return strconv.Quote(*s)
}

func fillBothWays(t *testing.T, c client.Config) {
	a := admin(t, c)
	var sums []string
	for _, allowed := range []string{"1", "0"} {
		if err := a.Exec(t.Context(), "SET GLOBAL local_infile = "+allowed, "DROP TABLE IF EXISTS filled, note",
			"CREATE TABLE filled (id INT PRIMARY KEY, t VARCHAR(50), n DECIMAL(6,2), d DATETIME)", "CREATE TABLE note (x INT)"); err != nil {
			t.Fatal(err)
		}
		lines := "1\tplain\t1.50\t2026-01-01 00:00:00\n" + `2	a\tb\nc\\d'e"f` + "\t-3.00\t\\N\n" + "3\t\\N\t\\N\t\\N\n"
		n, err := a.Fill(t.Context(), "filled", []string{"id", "t", "n", "d"}, strings.NewReader(lines), "INSERT INTO note VALUES (7)")
		if err != nil || n != 3 {
			t.Fatalf("local_infile %s: %d rows, %v", allowed, n, err)
		}
		rows, err := a.Query(t.Context(), "SELECT id, HEX(t), n, d, (SELECT x FROM note) FROM filled ORDER BY id")
		if err != nil {
			t.Fatal(err)
		}
		var text []string
		for _, row := range rows.Values {
			for _, cell := range row {
				text = append(text, show(cell))
			}
		}
		sums = append(sums, strings.Join(text, " "))
	}
	if sums[0] != sums[1] {
		t.Errorf("LOAD DATA and INSERT differ:\n%s\n%s", sums[0], sums[1])
	}
	if !strings.Contains(sums[0], `"6109620A635C64276522`) {
		t.Errorf("escapes are wrong: %s", sums[0])
	}
	if err := a.Exec(t.Context(), "SET GLOBAL local_infile = 1"); err != nil {
		t.Fatal(err)
	}
}

func fillRefuses(t *testing.T, c client.Config) {
	a := admin(t, c)
	if err := a.Exec(t.Context(), "CREATE TABLE strict (id INT PRIMARY KEY, t VARCHAR(3))"); err != nil {
		t.Fatal(err)
	}
	for name, lines := range map[string]string{"too long": "1\tabcd\n", "twice": "1\ta\n1\tb\n", "no number": "x\ta\n", "too few": "1\n"} {
		if _, err := a.Fill(t.Context(), "strict", nil, strings.NewReader(lines)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	broken := errors.New("the generator broke")
	if _, err := a.Fill(t.Context(), "strict", nil, failing{broken}); !errors.Is(err, broken) {
		t.Errorf("got %v, want the reader's error", err)
	}
	rows, err := a.Query(t.Context(), "SELECT COUNT(*) FROM strict")
	if err != nil || *rows.Values[0][0] != "0" {
		t.Errorf("%v rows stayed, %v", rows.Values, err)
	}
}

type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }

func failures(t *testing.T, c client.Config) {
	s := open(t, c)
	for query, want := range map[string]load.Failure{
		"SELECT * FROM nowhere": {Class: load.Fatal, Code: "1146"},
		"SELEC":                 {Class: load.Fatal, Code: "1064"},
	} {
		f, ok := errors.AsType[*load.Failure](s.Text([]byte(query)))
		if !ok || f.Class != want.Class || f.Code != want.Code || f.Doing != query {
			t.Errorf("%s: %+v", query, f)
		}
		if err := s.Text([]byte("SELECT 1")); err != nil || !s.Next() || s.Int(0) != 1 {
			t.Errorf("after %s the session is not usable: %v", query, err)
		}
	}
	a := admin(t, c)
	if err := a.Exec(t.Context(), "CREATE TABLE locked (id INT PRIMARY KEY)", "INSERT INTO locked VALUES (1)", "BEGIN", "SELECT * FROM locked FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	if err := s.Text([]byte("SET innodb_lock_wait_timeout = 1")); err != nil {
		t.Fatal(err)
	}
	f, _ := errors.AsType[*load.Failure](s.Text([]byte("DELETE FROM locked")))
	if f == nil || f.Class != load.Retry || f.Code != "1205" {
		t.Errorf("a lock wait gives %+v", f)
	}
}

func killed(t *testing.T, c client.Config) {
	s, a := open(t, c), admin(t, c)
	if err := s.Text([]byte("SELECT CONNECTION_ID()")); err != nil || !s.Next() {
		t.Fatal(err)
	}
	if err := a.Exec(t.Context(), fmt.Sprintf("KILL %d", s.Int(0))); err != nil {
		t.Fatal(err)
	}
	if f, ok := errors.AsType[*load.Failure](s.Text([]byte("SELECT 1"))); !ok || f.Class != load.Lost {
		t.Errorf("got %v", f)
	}
}

func room(t *testing.T, c client.Config) {
	s := client.New(c)
	if err := s.Room(t.Context(), 10, 20); err != nil {
		t.Error(err)
	}
	for _, want := range []struct {
		sessions, statements int
		text                 string
	}{{100_000, 1, "max_connections"}, {64, 900, "max_prepared_stmt_count is 16382"}} {
		err := s.Room(t.Context(), want.sessions, want.statements)
		var hint interface{ Hint() string }
		if err == nil || !strings.Contains(err.Error(), want.text) || !errors.As(err, &hint) || !strings.Contains(hint.Hint(), "SET GLOBAL") {
			t.Errorf("%v: %v", want, err)
		}
	}
}

func about(t *testing.T, c client.Config) {
	c.Isolation = "read committed"
	got, err := client.New(c).About(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Isolation != "READ COMMITTED" || got.Version == "" || !got.Local || len(got.Settings) < 8 {
		t.Errorf("%+v", got)
	}
}

func largeAnswers(t *testing.T, c client.Config) {
	s := open(t, c)
	if err := s.Text([]byte("SELECT REPEAT('a', 300000), 5 UNION ALL SELECT REPEAT('b', 70000), 6")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{300000, 70000} {
		if !s.Next() || len(s.Bytes(0)) != want {
			t.Errorf("%d bytes, want %d", len(s.Bytes(0)), want)
		}
	}
}

func refusedLogins(t *testing.T, c client.Config) {
	for name, change := range map[string]func(*client.Config){
		"1049": func(c *client.Config) { c.Database = "missing" },
		"1698": func(c *client.Config) { c.User = "nobodyatall" },
		"":     func(c *client.Config) { c.Address += ".missing" },
	} {
		bad := c
		change(&bad)
		_, err := client.New(bad).Open(context.Background())
		f, ok := errors.AsType[*load.Failure](err)
		if !ok || name == "1049" && f.Code != name {
			t.Errorf("%s: %v", name, err)
		}
		var hint interface{ Hint() string }
		if name != "1698" && !errors.As(err, &hint) {
			t.Errorf("%v has no hint", err)
		}
	}
}

// waysIn logs in with a password over a socket, TCP, and TCP with TLS where
// the server has it.
func waysIn(t *testing.T, c client.Config) {
	a := admin(t, c)
	if err := a.Exec(t.Context(), "CREATE USER w@'%' IDENTIFIED BY 'se''cret'", "GRANT ALL ON d.* TO w@'%'"); err != nil {
		t.Fatal(err)
	}
	port, err := a.Query(t.Context(), "SELECT @@port")
	if err != nil {
		t.Fatal(err)
	}
	c.User, c.Password = "w", "se'cret"
	tcp, encrypted := c, c
	tcp.Network, tcp.Address = "tcp", "127.0.0.1:"+*port.Values[0][0]
	encrypted.Network, encrypted.Address, encrypted.TLS = tcp.Network, tcp.Address, &tls.Config{InsecureSkipVerify: true}
	ways := []client.Config{c, tcp}
	if about, err := client.New(c).About(t.Context()); err != nil || about.Product != "MariaDB" {
		ways = append(ways, encrypted)
	}
	for _, way := range ways {
		for _, text := range []bool{false, true} {
			way.Text = text
			s := open(t, way)
			st, err := s.Prepare("SELECT ?, ? + 1, NULL")
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Run(st, []load.Arg{load.Str([]byte(`it's \n`)), load.Int(41)}); err != nil {
				t.Fatal(err)
			}
			if !s.Next() || string(s.Bytes(0)) != `it's \n` || s.Int(1) != 42 || s.Bytes(2) != nil || s.Next() {
				t.Errorf("%s, path %s: %q %d", way.Network, client.New(way).Path(), s.Bytes(0), s.Int(1))
			}
		}
	}
	c.Password = "wrong"
	_, err = client.New(c).Open(t.Context())
	if f, ok := errors.AsType[*load.Failure](err); !ok || f.Code != "1045" || f.Class != load.Fatal {
		t.Errorf("a wrong password gives %v", err)
	}
}
