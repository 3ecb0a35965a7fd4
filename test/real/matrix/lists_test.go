package matrix

import (
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"plumb/internal/catalog"
)

// catalogue compares the catalogue with the server's own list.
func (l *live) catalogue(t *testing.T) {
	db, err := l.server.Open()
	must(t, err)
	defer db.Close()
	var s Server
	switch l.flavor {
	case "postgres":
		s = listPostgres(t, db)
		goneFrom(t, db, s)
	case "mariadb":
		s = listMariaDB(t, db)
	default:
		s = listMySQL(t, db)
	}
	t.Logf("%s %s: %d settings", s.Flavor, s.Version, len(s.Settings))
	agrees(t, l.kind, s)
}

// query gives the rows of a query, each cell as text or nil.
func query(t *testing.T, db *sql.DB, text string) [][]*string {
	t.Helper()
	rows, err := db.Query(text)
	must(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	must(t, err)
	var out [][]*string
	for rows.Next() {
		row := make([]*string, len(columns))
		into := make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		must(t, rows.Scan(into...))
		out = append(out, row)
	}
	must(t, rows.Err())
	return out
}

func listPostgres(t *testing.T, db *sql.DB) Server {
	s := Server{Flavor: "postgres", Whole: true, Settings: map[string]Setting{}}
	for _, r := range query(t, db, `SELECT lower(name), context, vartype, coalesce(unit, ''), coalesce(min_val, ''), coalesce(max_val, ''),
		coalesce(array_to_string(enumvals, '|'), ''), coalesce(boot_val, '') FROM pg_settings WHERE name NOT LIKE '%.%'`) {
		s.Settings[cell(r, 0)] = ofPostgresRow(cell(r, 1), cell(r, 2), cell(r, 3), cell(r, 4), cell(r, 5), cell(r, 6), cell(r, 7))
	}
	s.Version = *s.Settings["server_version"].Default
	return s
}

// goneFrom asks of names that the server does not list whether it knows them
// all the same: an old name of another setting, or one that is borne.
func goneFrom(t *testing.T, db *sql.DB, s Server) {
	t.Helper()
	for name, f := range knobsOf(t, "postgres") {
		if _, listed := s.Settings[name]; listed || f.Knob.Removed == "" {
			continue
		}
		var value sql.NullString
		must(t, db.QueryRow("SELECT current_setting('"+name+"', true)").Scan(&value))
		if says := strings.Contains(f.Knob.Removed, "a line"); value.Valid != says {
			t.Errorf("%s is not listed; the server knows the name: %t; the catalogue says: %s", name, value.Valid, f.Knob.Removed)
		}
	}
}

func listMariaDB(t *testing.T, db *sql.DB) Server {
	s := Server{Flavor: "mariadb", Settings: map[string]Setting{}}
	for _, r := range query(t, db, "SELECT LOWER(VARIABLE_NAME), LOWER(VARIABLE_TYPE), DEFAULT_VALUE, NUMERIC_MIN_VALUE, NUMERIC_MAX_VALUE, ENUM_VALUE_LIST, READ_ONLY FROM information_schema.SYSTEM_VARIABLES") {
		v := Setting{Type: cell(r, 1), Default: r[2], Least: cell(r, 3), Most: cell(r, 4), Effects: []catalog.Effect{catalog.Now, catalog.NewWrites}}
		if cell(r, 5) != "" {
			v.Words = strings.Split(cell(r, 5), ",")
		}
		if cell(r, 6) == "YES" {
			v.Effects = []catalog.Effect{catalog.Restart, catalog.Recreate}
		}
		s.Settings[cell(r, 0)] = v
	}
	s.Version = cell(query(t, db, "SELECT VERSION()")[0], 0)
	return s
}

// listMySQL asks for values and where they come from: a compiled one is the
// default. Whether a variable can be set is tried, with the value it has.
func listMySQL(t *testing.T, db *sql.DB) Server {
	s := Server{Flavor: "mysql", Settings: map[string]Setting{}}
	for _, r := range query(t, db, "SELECT LOWER(v.VARIABLE_NAME), v.VARIABLE_VALUE, i.VARIABLE_SOURCE, i.MIN_VALUE, i.MAX_VALUE FROM performance_schema.global_variables v "+
		"LEFT JOIN performance_schema.variables_info i ON i.VARIABLE_NAME = v.VARIABLE_NAME") {
		v := Setting{Least: cell(r, 3), Most: cell(r, 4)}
		if v.Least == "0" && v.Most == "0" {
			v.Least, v.Most = "", ""
		}
		if cell(r, 2) == "COMPILED" {
			v.Default = r[1]
		}
		s.Settings[cell(r, 0)] = v
	}
	for _, name := range slices.Sorted(maps.Keys(knobsOf(t, "mysql"))) {
		v, have := s.Settings[name]
		if !have {
			continue
		}
		_, err := db.Exec("SET GLOBAL " + name + " = @@GLOBAL." + name)
		v.Effects = []catalog.Effect{catalog.Now, catalog.NewWrites}
		if refused, ok := errors.AsType[*mysql.MySQLError](err); ok && refused.Number == readOnly {
			v.Effects = []catalog.Effect{catalog.Restart, catalog.Recreate}
		}
		s.Settings[name] = v
	}
	s.Version = cell(query(t, db, "SELECT VERSION()")[0], 0)
	return s
}

// readOnly is the number of MySQL's error for a variable that cannot be set.
const readOnly = 1238
