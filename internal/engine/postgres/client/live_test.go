package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"plumb/internal/engine/postgres/client"
	"plumb/internal/load"
	"plumb/test/sandbox"
)

// TestLive asks real servers: the newest that is installed, and on request the
// oldest and the newest that are supported.
func TestLive(t *testing.T) {
	sandbox.NeedLong(t, "starts real servers: run without -short")
	versions := []string{"installed"}
	if os.Getenv("PLUMB_REAL") != "" {
		versions = append(versions, "10", "18")
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			bin := ""
			if version != "installed" {
				tree, err := sandbox.PostgresTree(version)
				sandbox.Need(t, err)
				bin = tree
			}
			c := start(t, bin)
			t.Run("Types", func(t *testing.T) { typesSurvive(t, c) })
			t.Run("Modes", func(t *testing.T) { modesAgree(t, c) })
			t.Run("Errors", func(t *testing.T) { errorsAreTold(t, c) })
			t.Run("Conflict", func(t *testing.T) { conflictsAreRetried(t, c) })
			t.Run("Lost", func(t *testing.T) { sessionsAreLost(t, c) })
			t.Run("Copy", func(t *testing.T) { copiesAreRefused(t, c) })
			t.Run("Fill", func(t *testing.T) { fills(t, c) })
			t.Run("About", func(t *testing.T) { aboutTells(t, c) })
			t.Run("Room", func(t *testing.T) { roomCounts(t, c) })
			t.Run("Login", func(t *testing.T) { loginsFail(t, c) })
			t.Run("Large", func(t *testing.T) { largeAnswers(t, c) })
			t.Run("Close", func(t *testing.T) { closeEndsACall(t, c) })
		})
	}
}

func start(t *testing.T, bin string) client.Config {
	t.Helper()
	b := sandbox.ForTest(t, "")
	s, err := b.Postgres(sandbox.PostgresOptions{Bindir: bin, Settings: "max_connections = 30\nshared_buffers = 16MB"})
	sandbox.Need(t, err)
	return client.Config{Network: "unix", Address: filepath.Join(s.Socket, ".s.PGSQL."+strconv.Itoa(s.Port)), User: "postgres", Database: "postgres"}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, c client.Config) load.Session {
	t.Helper()
	s, err := client.New(c).Open(t.Context())
	ok(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func administer(t *testing.T, c client.Config, statements ...string) load.Admin {
	t.Helper()
	a, err := client.New(c).Admin(t.Context())
	ok(t, err)
	t.Cleanup(func() { a.Close() })
	ok(t, a.Exec(t.Context(), statements...))
	return a
}

func text(t *testing.T, s load.Session, query string) {
	t.Helper()
	ok(t, s.Text([]byte(query)))
}

func prepare(t *testing.T, s load.Session, query string) int {
	t.Helper()
	n, err := s.Prepare(query)
	ok(t, err)
	return n
}

// fails demands a failure of a class and a code.
func fails(t *testing.T, err error, class load.Class, code string) *load.Failure {
	t.Helper()
	f, isFailure := errors.AsType[*load.Failure](err)
	if !isFailure || f.Class != class || f.Code != code {
		t.Fatalf("got %#v, want class %d and code %s", err, class, code)
	}
	return f
}

// rowsOf writes the rows of the last answer.
func rowsOf(s load.Session, columns int) string {
	var out strings.Builder
	for s.Next() {
		for i := range columns {
			if v := s.Bytes(i); v == nil {
				out.WriteString("NULL ")
			} else {
				fmt.Fprintf(&out, "%q ", v)
			}
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func typesSurvive(t *testing.T, c client.Config) {
	s := open(t, c)
	n := prepare(t, s, `SELECT ?::int2, ?::int4, ?::int8, ?::numeric(10,2), ?::text, ?::bytea, ?::timestamptz IS NULL, ?::bool, ?::char(4)`)
	args := []load.Arg{load.Int(-32768), load.Int(math.MaxInt32), load.Int(math.MinInt64), load.Str([]byte("12.30")),
		load.Str([]byte(`it's \ ünïcode`)), load.Str([]byte("\x00\x01'")), {}, load.Int(1), load.Str([]byte("ab"))}
	ok(t, s.Run(n, args))
	if !s.HadRows() || !s.Next() {
		t.Fatal("no row")
	}
	for i, want := range []string{"-32768", "2147483647", "-9223372036854775808", "12.30", `it's \ ünïcode`, `\x000127`, "t", "t", "ab  "} {
		if got := string(s.Bytes(i)); got != want {
			t.Errorf("column %d: %q, want %q", i, got, want)
		}
	}
	if s.Int(2) != math.MinInt64 || s.Int(3) != 12 || s.Int(99) != 0 {
		t.Errorf("as numbers: %d %d %d", s.Int(2), s.Int(3), s.Int(99))
	}
	if s.Next() {
		t.Error("a second row")
	}
	args[0] = load.Int(40000)
	fails(t, s.Run(n, args), load.Fatal, "22003")
	args[0] = load.Str([]byte("-5")) // a number that comes as text
	ok(t, s.Run(n, args))
	if s.Next(); s.Int(0) != -5 {
		t.Errorf("got %d", s.Int(0))
	}
	fails(t, s.Run(n, args[:3]), load.Fatal, "")
	fails(t, s.Run(99, nil), load.Fatal, "")
}

// modesAgree gives the same statements to prepared statements and to the text
// protocol.
func modesAgree(t *testing.T, c client.Config) {
	administer(t, c, "CREATE TABLE modes (id int PRIMARY KEY, k int NOT NULL, c char(20), n numeric(8,2), note text)")
	var answers [2]string
	for i, asText := range []bool{false, true} {
		c.Text = asText
		s := open(t, c)
		var out strings.Builder
		run := func(query string, columns int, args ...load.Arg) {
			err := s.Run(prepare(t, s, query), args)
			if f, failed := errors.AsType[*load.Failure](err); failed {
				fmt.Fprintf(&out, "%s: %s %d\n", query, f.Code, f.Class)
				return
			}
			ok(t, err)
			fmt.Fprintf(&out, "%s: %d %t\n%s", query, s.Affected(), s.HadRows(), rowsOf(s, columns))
		}
		text(t, s, "BEGIN")
		for id := range int64(5) {
			run("INSERT INTO modes VALUES (?, ?, ?, ?, ?)", 0, load.Int(id), load.Int(-id), load.Str([]byte("it's")), load.Str([]byte("1.5")), load.Arg{})
		}
		run("SELECT id, k, c, n, note FROM modes WHERE id BETWEEN ? AND ? ORDER BY id", 5, load.Int(1), load.Int(3))
		run("SELECT sum(k) FROM modes WHERE k=? OR k-?<0", 1, load.Int(-2), load.Int(-1))
		run("UPDATE modes SET k=k+?, note=? WHERE id<?", 0, load.Int(-10), load.Str([]byte(`\ ? '' $1`)), load.Int(3))
		run("SELECT note, '?', k FROM modes WHERE note=? LIMIT?", 3, load.Str([]byte(`\ ? '' $1`)), load.Int(2))
		run("SELECT c FROM modes WHERE id=?", 1, load.Int(77))
		run("DELETE FROM modes WHERE id=? RETURNING id", 1, load.Int(4))
		run("DELETE FROM modes WHERE id=?", 0, load.Int(4))
		run("UPDATE modes SET k=1/? WHERE id=1", 0, load.Int(0))
		text(t, s, "ROLLBACK")
		answers[i] = out.String()
	}
	if answers[0] != answers[1] || !strings.Contains(answers[0], "22012 0") {
		t.Errorf("prepared:\n%s\nas text:\n%s", answers[0], answers[1])
	}
}

func errorsAreTold(t *testing.T, c client.Config) {
	s := open(t, c)
	_, err := s.Prepare("SELECT nonsense FROM nowhere WHERE id=?")
	if f := fails(t, err, load.Fatal, "42P01"); !strings.Contains(f.Doing, "nowhere") || !strings.Contains(f.Message, "nowhere") {
		t.Errorf("the failure says %v", f)
	}
	text(t, s, "SET statement_timeout = 50")
	fails(t, s.Text([]byte("SELECT pg_sleep(5)")), load.Fatal, "57014")
	text(t, s, "RESET statement_timeout")
	text(t, s, "BEGIN")
	fails(t, s.Text([]byte("SELECT 1/0")), load.Fatal, "22012")
	fails(t, s.Text([]byte("SELECT 1")), load.Fatal, "25P02")
	fails(t, s.Text([]byte("COMMIT")), load.Fatal, "25P02") // PostgreSQL answers ROLLBACK, without an error
	text(t, s, "DO $$BEGIN RAISE NOTICE 'hello'; END$$")
	text(t, s, "SET application_name = 'other'; SELECT 7")
	if !s.HadRows() || !s.Next() || s.Int(0) != 7 {
		t.Error("the row after the other statement is missing")
	}
	text(t, s, "")
	c.Text = true
	s = open(t, c)
	fails(t, s.Run(prepare(t, s, "SELECT ?"), []load.Arg{load.Str([]byte("a\x00b"))}), load.Fatal, "")
	text(t, s, "SELECT 1")
}

// conflictsAreRetried makes a serialisation failure, a deadlock and a lock
// wait that takes too long.
func conflictsAreRetried(t *testing.T, c client.Config) {
	a := administer(t, c, "CREATE TABLE conflict (id int PRIMARY KEY, k int)", "INSERT INTO conflict VALUES (1, 0), (2, 0)")
	c.Isolation = "repeatable read"
	one, two := open(t, c), open(t, c)
	update := "UPDATE conflict SET k = k + 1 WHERE id = ?"
	first, second := prepare(t, one, update), prepare(t, two, update)
	for range 2 { // the session is usable afterwards
		text(t, one, "BEGIN")
		text(t, two, "BEGIN")
		text(t, two, "SELECT * FROM conflict")
		ok(t, one.Run(first, []load.Arg{load.Int(1)}))
		text(t, one, "COMMIT")
		fails(t, two.Run(second, []load.Arg{load.Int(1)}), load.Retry, "40001")
		text(t, two, "ROLLBACK")
	}
	text(t, one, "SET deadlock_timeout = '50ms'")
	text(t, two, "SET deadlock_timeout = '10s'")
	text(t, one, "BEGIN")
	text(t, two, "BEGIN")
	ok(t, one.Run(first, []load.Arg{load.Int(1)}))
	ok(t, two.Run(second, []load.Arg{load.Int(2)}))
	var wg sync.WaitGroup
	wg.Go(func() { two.Run(second, []load.Arg{load.Int(1)}) })
	ok(t, a.Exec(t.Context(), "DO $$BEGIN WHILE NOT EXISTS (SELECT FROM pg_locks WHERE NOT granted) LOOP PERFORM pg_sleep(0.01); END LOOP; END$$"))
	fails(t, one.Run(first, []load.Arg{load.Int(2)}), load.Retry, "40P01") // who comes last to a deadlock looks for it first
	text(t, one, "ROLLBACK")
	wg.Wait()
	text(t, one, "SET lock_timeout = '20ms'")
	fails(t, one.Run(first, []load.Arg{load.Int(1)}), load.Fatal, "55P03")
	text(t, two, "ROLLBACK")
	ok(t, one.Run(first, []load.Arg{load.Int(1)}))
	fails(t, one.Text([]byte("INSERT INTO conflict VALUES (1, 1)")), load.Retry, "23505")
}

func sessionsAreLost(t *testing.T, c client.Config) {
	a := administer(t, c)
	kill := "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
	s := open(t, c) // idle when it is ended
	n := prepare(t, s, "SELECT 1")
	ok(t, a.Exec(t.Context(), kill))
	time.Sleep(50 * time.Millisecond)
	fails(t, s.Run(n, nil), load.Lost, "57P01")
	fails(t, s.Run(n, nil), load.Lost, "57P01")
	s = open(t, c) // at work when it is ended
	killed := make(chan error, 1)
	time.AfterFunc(50*time.Millisecond, func() { killed <- a.Exec(context.Background(), kill) })
	fails(t, s.Text([]byte("SELECT pg_sleep(10)")), load.Lost, "57P01")
	ok(t, <-killed) // a connection is one goroutine's: it is closed after this
}

func copiesAreRefused(t *testing.T, c client.Config) {
	administer(t, c, "CREATE TABLE copied (id int)")
	s := open(t, c)
	fails(t, s.Text([]byte("COPY copied FROM STDIN")), load.Fatal, "57014")
	if n, err := s.Prepare("COPY copied FROM STDIN"); err == nil {
		fails(t, s.Run(n, nil), load.Fatal, "57014")
	}
	text(t, s, "COPY (SELECT 1) TO STDOUT")
	text(t, s, "SELECT 7")
	if !s.Next() || s.Int(0) != 7 {
		t.Error("out of step after COPY")
	}
}

func fills(t *testing.T, c client.Config) {
	a := administer(t, c, "CREATE TABLE filled (id int PRIMARY KEY, c text)", "CREATE TABLE note (n int)")
	rows := "1\ta\\tb\\nc\\\\d\n2\t\\N\n3\t\n4\tü\n"
	n, err := a.Fill(t.Context(), "filled", []string{"id", "c"}, strings.NewReader(rows), "INSERT INTO note VALUES (1)")
	if ok(t, err); n != 4 {
		t.Errorf("%d rows", n)
	}
	got, err := a.Query(t.Context(), "SELECT id, c FROM filled ORDER BY id")
	ok(t, err)
	if len(got.Values) != 4 || *got.Values[0][1] != "a\tb\nc\\d" || got.Values[1][1] != nil || *got.Values[2][1] != "" || *got.Values[3][1] != "ü" {
		t.Errorf("got %v", got)
	}
	_, err = a.Fill(t.Context(), "filled", nil, strings.NewReader("5\tx\n1\ttwice\n"), "INSERT INTO note VALUES (2)")
	fails(t, err, load.Retry, "23505")
	_, err = a.Fill(t.Context(), "filled", nil, strings.NewReader("5\tx\n"), "INSERT INTO nowhere VALUES (3)")
	fails(t, err, load.Fatal, "42P01")
	broken := errors.New("the source broke")
	_, err = a.Fill(t.Context(), "filled", nil, &breaking{strings.NewReader("6\tx\n"), broken})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	got, err = a.Query(t.Context(), "SELECT (SELECT count(*) FROM filled), (SELECT count(*) FROM note)")
	ok(t, err)
	if *got.Values[0][0] != "4" || *got.Values[0][1] != "1" {
		t.Errorf("%s rows and %s notes: something was half done", *got.Values[0][0], *got.Values[0][1])
	}
	large := bytes.Repeat([]byte("x"), 1000)
	var tsv bytes.Buffer
	for id := range 20000 {
		fmt.Fprintf(&tsv, "%d\t%s\n", id+10, large)
	}
	if n, err := a.Fill(t.Context(), "filled", nil, &tsv); err != nil || n != 20000 {
		t.Errorf("%d rows, %v", n, err)
	}
}

// breaking is a reader that fails at its end.
type breaking struct {
	*strings.Reader
	err error
}

func (b *breaking) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil {
		err = b.err
	}
	return n, err
}

func aboutTells(t *testing.T, c client.Config) {
	about, err := client.New(c).About(t.Context())
	ok(t, err)
	if about.Product != "PostgreSQL" || about.Version == "" || about.Isolation != "READ COMMITTED" || !about.Local || len(about.Settings) < 12 {
		t.Errorf("got %+v", about)
	}
	c.Isolation = "serializable"
	about, err = client.New(c).About(t.Context())
	if ok(t, err); about.Isolation != "SERIALIZABLE" {
		t.Errorf("isolation %s", about.Isolation)
	}
	t.Logf("%+v", about)
}

func roomCounts(t *testing.T, c client.Config) {
	s := client.New(c)
	open(t, c)
	open(t, c)
	ok(t, s.Room(t.Context(), 20, 10))
	full(t, s.Room(t.Context(), 28, 10), "max_connections")
	a := administer(t, c, "CREATE ROLE limited LOGIN CONNECTION LIMIT 3", "CREATE DATABASE limited CONNECTION LIMIT 2")
	c.User = "limited"
	ok(t, client.New(c).Room(t.Context(), 3, 10))
	full(t, client.New(c).Room(t.Context(), 4, 10), "role limited")
	c.Database = "limited"
	full(t, client.New(c).Room(t.Context(), 3, 10), "database limited")
	c.User = "postgres"
	ok(t, client.New(c).Room(t.Context(), 3, 10))
	ok(t, a.Exec(t.Context(), "DROP DATABASE limited", "DROP ROLE limited"))
}

func full(t *testing.T, err error, what string) {
	t.Helper()
	f := fails(t, err, load.Fatal, "53300")
	if hint := hintOf(err); !strings.Contains(f.Message, what) || hint == "" {
		t.Errorf("got %v; %s", err, hint)
	}
	t.Logf("%v; %s", err, hintOf(err))
}

func hintOf(err error) string {
	if h, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		return h.Hint()
	}
	return ""
}

func loginsFail(t *testing.T, c client.Config) {
	for _, bad := range []struct {
		change func(*client.Config)
		class  load.Class
		code   string
	}{
		{func(c *client.Config) { c.Database = "nowhere" }, load.Fatal, "3D000"},
		{func(c *client.Config) { c.User = "nobody_here" }, load.Fatal, "28000"},
		{func(c *client.Config) { c.Isolation = "perfect" }, load.Fatal, "22023"},
		{func(c *client.Config) { c.Address += "0" }, load.Lost, ""},
		{func(c *client.Config) { c.Network, c.Address = "tcp", "127.0.0.1:1" }, load.Lost, ""},
		{func(c *client.Config) { c.Network, c.Address = "tcp", "no port" }, load.Fatal, ""},
	} {
		c := c
		bad.change(&c)
		_, err := client.New(c).Open(t.Context())
		fails(t, err, bad.class, bad.code)
		if hintOf(err) == "" {
			t.Errorf("no hint: %v", err)
		}
		t.Logf("%v; %v", err, hintOf(err))
	}
	var all []load.Session
	defer func() {
		for _, s := range all {
			s.Close()
		}
	}()
	for range 100 {
		s, err := client.New(c).Open(t.Context())
		if err != nil {
			fails(t, err, load.Lost, "53300")
			return
		}
		all = append(all, s)
	}
	t.Error("100 sessions where 30 are allowed")
}

func largeAnswers(t *testing.T, c client.Config) {
	s := open(t, c)
	n := prepare(t, s, "SELECT i, repeat('x', 1000) FROM generate_series(1, ?::int) AS i")
	for _, want := range []int64{0, 3, 5000, 17} {
		ok(t, s.Run(n, []load.Arg{load.Int(want)}))
		got, sum := int64(0), int64(0)
		for s.Next() {
			got++
			sum += s.Int(0)
			if len(s.Bytes(1)) != 1000 {
				t.Fatal("a row is not whole")
			}
		}
		if got != want || sum != want*(want+1)/2 {
			t.Errorf("%d rows, sum %d, of %d", got, sum, want)
		}
	}
	ok(t, s.Run(prepare(t, s, "SELECT length(?::text)"), []load.Arg{load.Str(bytes.Repeat([]byte("y"), 10<<20))})) // more than a socket takes
	if s.Next(); s.Int(0) != 10<<20 {
		t.Errorf("%d bytes arrived", s.Int(0))
	}
}

func closeEndsACall(t *testing.T, c client.Config) {
	s := open(t, c)
	time.AfterFunc(50*time.Millisecond, func() { s.Close() })
	fails(t, s.Text([]byte("SELECT pg_sleep(30)")), load.Lost, "")
}
