package fill_test

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"plumb/internal/draw"
	mysql "plumb/internal/engine/mysql/client"
	postgres "plumb/internal/engine/postgres/client"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/load/fill"
	"plumb/test/sandbox"
)

// address says how to reach a server, also for a process that is started.
type address struct{ engine, path, user, database string }

func (a address) server() load.Server {
	if a.engine == "mysql" {
		return mysql.New(mysql.Config{Network: "unix", Address: a.path, User: a.user, Database: a.database})
	}
	return postgres.New(postgres.Config{Network: "unix", Address: a.path, User: a.user, Database: a.database})
}

// eachServer runs a test on a MariaDB and on a PostgreSQL.
func eachServer(t *testing.T, test func(t *testing.T, a address)) {
	t.Helper()
	sandbox.NeedLong(t, "starts real servers: run without -short")
	t.Run("mysql", func(t *testing.T) {
		s, err := sandbox.ForTest(t, "").MySQL(sandbox.MySQLOptions{Settings: "local_infile = 1"})
		sandbox.Need(t, err)
		ok(t, s.Exec("CREATE DATABASE filled"))
		test(t, address{"mysql", s.Socket, "root", "filled"})
	})
	t.Run("postgres", func(t *testing.T) {
		s, err := sandbox.ForTest(t, "").Postgres(sandbox.PostgresOptions{})
		sandbox.Need(t, err)
		test(t, address{"postgres", filepath.Join(s.Socket, ".s.PGSQL."+strconv.Itoa(s.Port)), "postgres", "postgres"})
	})
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// somePlan has one table of many rows and all types in use, one of units of
// several rows, and a foreign key.
func somePlan(scale int64) fill.Plan {
	return fill.Plan{
		Workload: "some",
		Settings: []load.Setting{{Name: "scale", Value: strconv.FormatInt(scale, 10)}, {Name: "seed", Value: "1"}},
		Tables: []fill.Table{
			{Name: "few", Create: "CREATE TABLE few (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(20))", Columns: []string{"id", "name"}, Units: 10,
				Row: func(b []byte, i int64) []byte { return append(strconv.AppendInt(b, i, 10), "\ta\\\\b\\tc\\nd\n"...) }},
			{Name: "many", Units: 1000 * scale, Columns: []string{"id", "line", "few_id", "n", "c", "price", "at"},
				Create: "CREATE TABLE many (id INTEGER NOT NULL, line SMALLINT NOT NULL, few_id INTEGER NOT NULL, n INTEGER, c CHAR(120) NOT NULL," +
					" price DECIMAL(8,2), at TIMESTAMP NULL, PRIMARY KEY (id, line))",
				Row: manyRows, Sums: []string{"n", "id"},
				After: []string{"CREATE INDEX many_n ON many (n)", "CREATE INDEX many_few ON many (few_id)"}},
		},
		Links: []string{"ALTER TABLE many ADD CONSTRAINT many_to_few FOREIGN KEY (few_id) REFERENCES few (id)"},
	}
}

func manyRows(b []byte, i int64) []byte {
	s := draw.Keyed(1, 1, i)
	for line := range s.Between(0, 5) {
		b = strconv.AppendInt(b, i, 10)
		b = strconv.AppendInt(append(b, '\t'), line, 10)
		b = strconv.AppendInt(append(b, '\t'), s.Below(10), 10)
		if s.Chance(0.1) {
			b = append(b, "\t\\N"...)
		} else {
			b = strconv.AppendInt(append(b, '\t'), s.Between(-1000, 1000), 10)
		}
		b = s.Digits(append(b, '\t'), 10)
		b = strconv.AppendInt(append(b, '\t'), s.Below(100), 10)
		b = append(b, ".50\t"...)
		if s.Chance(0.5) {
			b = append(b, "\\N\n"...)
		} else {
			b = append(b, "2026-01-02 03:04:05\n"...)
		}
	}
	return b
}

// ask gives the answer of one row and column.
func ask(t *testing.T, a address, query string) string {
	t.Helper()
	admin, err := a.server().Admin(t.Context())
	ok(t, err)
	defer admin.Close()
	rows, err := admin.Query(t.Context(), query)
	ok(t, err)
	if len(rows.Values) != 1 || host.Cell(rows.Values[0], 0) == nil {
		t.Fatalf("%s: %v", query, rows.Values)
	}
	return *rows.Values[0][0]
}

func tell(t *testing.T, a address, statements ...string) {
	t.Helper()
	admin, err := a.server().Admin(t.Context())
	ok(t, err)
	defer admin.Close()
	ok(t, admin.Exec(t.Context(), statements...))
}

func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", texts)
	}
	all := err.Error()
	if h, hinted := errors.AsType[hint.Hinted](err); hinted {
		all += "; " + h.Hint()
	} else {
		t.Errorf("no hint with %v", err)
	}
	for _, text := range texts {
		if !strings.Contains(all, text) {
			t.Errorf("%q does not say %q", all, text)
		}
	}
}

func TestFill(t *testing.T) {
	eachServer(t, func(t *testing.T, a address) {
		ctx := t.Context()
		var last fill.Progress
		o := fill.Options{Workers: 3, Range: 100 << 10, Verify: fill.Content, Progress: func(p fill.Progress) { last = p }}
		r, err := fill.Fill(ctx, a.server(), somePlan(20), o)
		ok(t, err)
		t.Logf("%+v", r)
		if r.Resumed || r.Rows < 20000 || last.Rows != r.Rows || last.Bytes != r.Bytes || len(r.Tables) != 2 {
			t.Errorf("%+v, at the end %+v", r, last)
		}
		want, rows, err := fill.Checksum(a.engine, somePlan(20).Tables[1])
		ok(t, err)
		if got := r.Tables[1]; got.Checksum != want || got.Rows != rows {
			t.Errorf("%+v, want checksum %s of %d", got, want, rows)
		}
		r, err = fill.Fill(ctx, a.server(), somePlan(20), o)
		ok(t, err)
		if !r.Resumed || r.Bytes != 0 {
			t.Errorf("again: %+v", r)
		}
		t.Run("Spoilt", func(t *testing.T) {
			tell(t, a, "UPDATE many SET c = 'other' WHERE id = 77")
			_, err = fill.Fill(ctx, a.server(), somePlan(20), o)
			wantError(t, err, "verify many", "checksum")
		})
		t.Run("Scale", func(t *testing.T) {
			_, err := fill.Fill(ctx, a.server(), somePlan(21), o)
			wantError(t, err, "the tables have scale 20, but you asked for 21", "cleanup")
		})
		t.Run("Cleanup", func(t *testing.T) { cleansUp(t, a) })
	})
}

func cleansUp(t *testing.T, a address) {
	dropped, err := fill.Cleanup(t.Context(), a.server(), "other")
	ok(t, err)
	if len(dropped) != 0 {
		t.Errorf("dropped %v of another workload", dropped)
	}
	dropped, err = fill.Cleanup(t.Context(), a.server(), "some")
	ok(t, err)
	if len(dropped) != 2 {
		t.Errorf("dropped %v", dropped)
	}
	schema := "current_schema()"
	if a.engine == "mysql" {
		schema = "DATABASE()"
	}
	if n := ask(t, a, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = "+schema); n != "0" {
		t.Errorf("%s tables are left", n)
	}
	tell(t, a, "CREATE TABLE many (id INTEGER)", "INSERT INTO many VALUES (5)")
	_, err = fill.Fill(t.Context(), a.server(), somePlan(1), fill.Options{})
	wantError(t, err, "a table many that this program did not make")
	dropped, err = fill.Cleanup(t.Context(), a.server(), "some")
	ok(t, err)
	if len(dropped) != 0 || ask(t, a, "SELECT COUNT(*) FROM many") != "1" {
		t.Errorf("cleanup dropped %v, somebody's own table", dropped)
	}
	tell(t, a, "DROP TABLE many")
}

func TestFillInterrupted(t *testing.T) {
	eachServer(t, func(t *testing.T, a address) {
		ctx, cancel := context.WithCancel(t.Context())
		plan := somePlan(20)
		plan.Tables[1].Row = func(b []byte, i int64) []byte {
			if i == 15000 {
				cancel()
			}
			return manyRows(b, i)
		}
		_, err := fill.Fill(ctx, a.server(), plan, fill.Options{Workers: 2, Range: 50 << 10})
		wantError(t, err, "interrupted", "prepare again continues from there")
		r, err := fill.Fill(t.Context(), a.server(), somePlan(20), fill.Options{Verify: fill.Content, Range: 60 << 10})
		ok(t, err)
		if !r.Resumed || r.Bytes == 0 {
			t.Errorf("%+v", r)
		}
	})
}
