package tpcc_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	my "plumb/internal/engine/mysql/client"
	pg "plumb/internal/engine/postgres/client"
	"plumb/internal/hint"
	"plumb/internal/load"
	"plumb/internal/load/fill"
	"plumb/internal/load/tpcc"
	"plumb/test/sandbox"
)

// TestLive loads and checks small sets of tables on the servers installed here.
func TestLive(t *testing.T) {
	sandbox.NeedLong(t, "starts real servers: run without -short")
	for name, start := range map[string]func(*testing.T, *sandbox.Box) load.Server{"mariadb": mariadb, "postgres": postgres} {
		t.Run(name, func(t *testing.T) {
			b := sandbox.ForTest(t, "")
			s := start(t, b)
			t.Run("Missing", func(t *testing.T) { missingTablesAreTold(t, s) })
			t.Run("Specification", func(t *testing.T) { specification(t, s) })
			t.Run("Compat", func(t *testing.T) { compat(t, s) })
			t.Run("Run", func(t *testing.T) { runs(t, s) })
		})
	}
}

func mariadb(t *testing.T, b *sandbox.Box) load.Server {
	s, err := b.MySQL(sandbox.MySQLOptions{Settings: "local_infile = 1\ninnodb_flush_log_at_trx_commit = 0"})
	sandbox.Need(t, err)
	ok(t, s.Exec("CREATE DATABASE tpcc"))
	return my.New(my.Config{Network: "unix", Address: s.Socket, User: "root", Database: "tpcc"})
}

func postgres(t *testing.T, b *sandbox.Box) load.Server {
	s, err := b.Postgres(sandbox.PostgresOptions{Settings: "fsync = off"})
	sandbox.Need(t, err)
	return pg.New(pg.Config{Network: "unix", Address: filepath.Join(s.Socket, ".s.PGSQL."+strconv.Itoa(s.Port)), User: "postgres", Database: "postgres"})
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func admin(t *testing.T, s load.Server) load.Admin {
	t.Helper()
	a, err := s.Admin(t.Context())
	ok(t, err)
	t.Cleanup(func() { a.Close() })
	return a
}

// broken gives the numbers of the conditions that do not hold.
func broken(t *testing.T, c tpcc.Config) (numbers []int, r tpcc.CheckReport) {
	t.Helper()
	r, err := tpcc.Check(t.Context(), c, tpcc.CheckOptions{Fresh: true})
	ok(t, err)
	for _, b := range r.Broken() {
		numbers = append(numbers, b.Number)
		if len(b.Examples) == 0 || len(b.Examples) > 10 || int64(len(b.Examples)) > b.Violations {
			t.Errorf("condition %d: %d violations with the examples %q", b.Number, b.Violations, b.Examples)
		}
	}
	return numbers, r
}

func missingTablesAreTold(t *testing.T, s load.Server) {
	for _, compat := range []bool{false, true} {
		_, err := tpcc.Check(t.Context(), tpcc.Config{Server: s, Warehouses: 1, Compat: compat}, tpcc.CheckOptions{})
		refused(t, err, "prepare")
	}
}

// refused wants an error with a hint.
func refused(t *testing.T, err error, help string) {
	t.Helper()
	h, is := errors.AsType[hint.Hinted](err)
	if !is || !strings.Contains(h.Hint(), help) {
		t.Errorf("%v has no hint with %q", err, help)
	}
}

func specification(t *testing.T, s load.Server) {
	c := tpcc.Small(tpcc.Config{Server: s, Warehouses: 2, Seed: 3})
	_, err := tpcc.Prepare(t.Context(), c, fill.Options{Verify: fill.Content, Range: 20000})
	ok(t, err)
	numbers, r := broken(t, c)
	if len(numbers) > 0 || len(r.Conditions) != 16 {
		t.Fatalf("loaded freshly: %+v", r.Broken())
	}
	checkOptions(t, c)
	breakAll(t, c)
	oneSnapshot(t, c)
	a := admin(t, s)
	ok(t, a.Exec(t.Context(), "UPDATE plumb_load SET kind = 'undone' WHERE kind = 'done'"))
	_, err = tpcc.Check(t.Context(), c, tpcc.CheckOptions{})
	refused(t, err, "continues")
	ok(t, a.Exec(t.Context(), "UPDATE plumb_load SET kind = 'done' WHERE kind = 'undone'"))
	other := c
	other.Warehouses = 3
	_, err = tpcc.Check(t.Context(), other, tpcc.CheckOptions{})
	refused(t, err, "cleanup")
	other = c
	other.Compat = true
	_, err = tpcc.Check(t.Context(), other, tpcc.CheckOptions{})
	refused(t, err, "cleanup")
	other = c
	other.Seed++ // that of a run
	_, err = tpcc.Check(t.Context(), other, tpcc.CheckOptions{})
	ok(t, err)
	names, err := tpcc.Cleanup(t.Context(), c)
	ok(t, err)
	if len(names) != 9 {
		t.Errorf("cleanup took away %q", names)
	}
}

func checkOptions(t *testing.T, c tpcc.Config) {
	r, err := tpcc.Check(t.Context(), c, tpcc.CheckOptions{Only: []int{11, 2}})
	ok(t, err)
	if len(r.Conditions) != 2 || !r.Conditions[0].Holds() || r.Conditions[1].Skipped == "" || r.Conditions[1].Holds() {
		t.Errorf("conditions 2 and 11: %+v", r.Conditions)
	}
	_, err = tpcc.Check(t.Context(), c, tpcc.CheckOptions{Only: []int{17}})
	refused(t, err, "1 to 16")
}

// oneSnapshot changes a total between the two conditions that are about it.
func oneSnapshot(t *testing.T, c tpcc.Config) {
	a := admin(t, c.Server)
	change := func(how string) { ok(t, a.Exec(t.Context(), "UPDATE warehouse SET w_ytd = w_ytd "+how)) }
	o := tpcc.CheckOptions{Only: []int{1, 8}, Progress: func(done tpcc.Condition) {
		if done.Number == 1 {
			change("+ 1")
		}
	}}
	r, err := tpcc.Check(t.Context(), c, o)
	ok(t, err)
	if len(r.Broken()) != 0 {
		t.Errorf("a change during the check was seen: %+v", r.Broken())
	}
	if numbers, _ := broken(t, c); !slices.Equal(numbers, []int{1, 8}) {
		t.Errorf("a change during the check is not seen after it: %v", numbers)
	}
	change("- 1")
}

// compat makes two sets with foreign keys.
func compat(t *testing.T, s load.Server) {
	c := tpcc.Small(tpcc.Config{Server: s, Warehouses: 2, Compat: true, Sets: 2, ForeignKeys: true})
	_, err := tpcc.Prepare(t.Context(), c, fill.Options{Verify: fill.Content})
	ok(t, err)
	numbers, r := broken(t, c)
	if len(numbers) > 0 || len(r.Conditions) != 32 {
		t.Fatalf("loaded freshly: %+v", r.Broken())
	}
	a := admin(t, s)
	rows, err := a.Query(t.Context(), "SELECT COUNT(*) FROM information_schema.table_constraints WHERE constraint_type = 'FOREIGN KEY'")
	ok(t, err)
	if n := *rows.Values[0][0]; n != "20" {
		t.Errorf("%s foreign keys", n)
	}
	ok(t, a.Exec(t.Context(), "UPDATE warehouse2 SET w_ytd = w_ytd + 0.01 WHERE w_id = 2"))
	numbers, r = broken(t, c)
	if !slices.Equal(numbers, []int{1, 8}) || r.Broken()[0].Set != 2 || !strings.HasPrefix(r.Broken()[0].Examples[0], "warehouse 2: w_ytd ") {
		t.Errorf("in the second set: %+v", r.Broken())
	}
	// Tables that sysbench-tpcc itself made have no notes.
	ok(t, a.Exec(t.Context(), "ALTER TABLE plumb_load RENAME TO kept_load"))
	if numbers, _ := broken(t, c); !slices.Equal(numbers, []int{1, 8}) {
		t.Errorf("without notes: %v", numbers)
	}
	ok(t, a.Exec(t.Context(), "ALTER TABLE kept_load RENAME TO plumb_load"))
	c.Purge = true
	if numbers, _ := broken(t, c); !slices.Equal(numbers, []int{1}) {
		t.Errorf("with purge: %v", numbers)
	}
	_, err = tpcc.Cleanup(t.Context(), c)
	ok(t, err)
}
