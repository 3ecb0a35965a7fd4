package matrix

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plumb/internal/catalog"
	"plumb/internal/host/hosttest"
	"plumb/internal/tape"
)

func knobsOf(t *testing.T, kind string) map[string]*catalog.Fact {
	t.Helper()
	return hosttest.Catalog(t).Knobs(kind)
}

// agrees demands that the catalogue says of a server what it says of itself.
func agrees(t *testing.T, kind string, s Server) {
	t.Helper()
	if len(s.Settings) < 200 {
		t.Fatalf("only %d settings were read", len(s.Settings))
	}
	knobs := knobsOf(t, kind)
	for _, f := range Excused(knobs, s.Flavor, Compare(knobs, s), Excuses()) {
		t.Error(f)
	}
}

// What PostgreSQL 10 to 18 said of themselves.
func TestPostgresHistory(t *testing.T) {
	text, err := os.ReadFile("testdata/postgres-settings.tsv")
	must(t, err)
	for major := 10; major <= 18; major++ {
		t.Run(strconv.Itoa(major), func(t *testing.T) {
			agrees(t, "postgres", history(t, string(text), major))
		})
	}
}

// history gives the list of one major version.
func history(t *testing.T, text string, major int) Server {
	t.Helper()
	s := Server{Flavor: "postgres", Whole: true, Settings: map[string]Setting{}}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		from, err := strconv.Atoi(f[1])
		must(t, err)
		switch {
		case from > major:
		case f[2] == "-":
			delete(s.Settings, f[0])
		default:
			s.Settings[f[0]] = ofPostgresRow(f[2], f[3], f[4], f[5], f[6], f[7], f[8])
		}
	}
	s.Version = *s.Settings["server_version"].Default
	return s
}

func ofPostgresRow(context, vartype, unit, least, most, words, def string) Setting {
	s := Setting{Type: vartype, Unit: unit, Default: &def, Least: least, Most: most, Effects: []catalog.Effect{catalog.Reload}}
	if words != "" {
		s.Words = strings.Split(words, "|")
	}
	switch context {
	case "postmaster":
		s.Effects = []catalog.Effect{catalog.Restart}
	case "internal":
		s.Effects = []catalog.Effect{catalog.Recreate}
	}
	return s
}

// What MariaDB and MySQL said of themselves when the fixtures were recorded:
// less than they say when asked, but without a server.
func TestFixtures(t *testing.T) {
	for _, c := range []struct{ fixture, flavor string }{{"mariadb-ext4", "mariadb"}, {"mariadb-11.4", "mariadb"}, {"mysql-9.7", "mysql"}} {
		t.Run(c.fixture, func(t *testing.T) {
			in, err := os.Open(filepath.Join("../../../fixtures", c.fixture+".tape.gz"))
			must(t, err)
			defer in.Close()
			tp, err := tape.Read(in, c.fixture)
			must(t, err)
			s := Server{Flavor: c.flavor, Settings: map[string]Setting{}}
			values := map[string]string{}
			for _, row := range answer(t, tp, "SHOW GLOBAL VARIABLES") {
				values[cell(row, 0)] = cell(row, 1)
				s.Settings[cell(row, 0)] = Setting{}
			}
			s.Version = values["version"]
			if c.flavor == "mariadb" {
				for _, row := range answer(t, tp, "FROM information_schema.SYSTEM_VARIABLES") {
					s.Settings[strings.ToLower(cell(row, 0))] = Setting{Default: row[3]}
				}
			} else {
				for _, row := range answer(t, tp, "FROM performance_schema.variables_info") {
					name := strings.ToLower(cell(row, 0))
					if value, have := values[name]; have && cell(row, 1) == "COMPILED" {
						s.Settings[name] = Setting{Default: &value}
					}
				}
			}
			agrees(t, "mysql", s)
		})
	}
}

// answer gives the rows of the query on a tape that ends in a text.
func answer(t *testing.T, tp *tape.Tape, query string) [][]*string {
	t.Helper()
	i := slices.IndexFunc(tp.Entries, func(e tape.Entry) bool {
		return e.Op == "query" && len(e.Of) == 2 && strings.HasSuffix(string(e.Of[1]), query)
	})
	if i < 0 {
		t.Fatalf("the tape has no answer to %s", query)
	}
	var rows struct{ Values [][]*string }
	must(t, json.Unmarshal(tp.Entries[i].Value, &rows))
	return rows.Values
}

func cell(row []*string, i int) string {
	if i >= len(row) || row[i] == nil {
		return ""
	}
	return *row[i]
}
