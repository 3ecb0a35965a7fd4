package sampler

import (
	"context"
	"slices"
	"testing"

	"plumb/internal/engine/postgres"
	"plumb/internal/engine/samplertest"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// Each database has the counters of its own work. A name may look like a number.
func TestDatabasesAreWatched(t *testing.T) {
	onServers(t, func(t *testing.T, l *live) { l.apart() })
}

func (l *live) apart() {
	l.Exec(`CREATE DATABASE "42"`, "CREATE TABLE u (id int)", "INSERT INTO u SELECT generate_series(1, 500)", "UPDATE u SET id = -id WHERE id <= 40", "DELETE FROM u WHERE id < -30")
	l.settled()
	here, other := series.Database(l.of.Ref, "postgres"), series.Database(l.of.Ref, "42")
	b := l.Until("databases", "the rows that were deleted", func(b series.Batch) bool { return readingOf(b, here, "rows_deleted") >= 10 })
	// The catalogue's rows count, too.
	for name, want := range map[string][2]float64{"rows_inserted": {500, 800}, "rows_updated": {40, 80}, "rows_deleted": {10, 50}, "connections": {1, 3}, "commits": {5, 1e4}, "rows_returned": {500, 1e6}, "blocks_hit": {10, 1e7}} {
		if n := readingOf(b, here, name); n < want[0] || n > want[1] {
			l.T.Errorf("%s is %v, want one of %v", name, n, want)
		}
	}
	for _, name := range []string{"rows_inserted", "rows_updated", "rows_deleted", "temp_files", "deadlocks", "conflicts", "connections"} {
		if n := readingOf(b, other, name); n != 0 {
			l.T.Errorf("%s of a database that nobody used is %v", name, n)
		}
	}
	facts := hosttest.Windows(l.T).Kinds[series.DatabaseKind].Facts
	for _, r := range b.Readings {
		if _, _, ok := series.SplitPart(r.Of); !ok || facts[r.Name] == nil {
			l.T.Errorf("a reading %s of %s", r.Name, r.Of)
		}
	}
	if len(b.Gaps) > 0 {
		l.T.Errorf("gaps: %v", b.Gaps)
	}
}

// readingOf gives a reading of one thing; -1 if there is none.
func readingOf(b series.Batch, of stack.Ref, name string) float64 {
	i := slices.IndexFunc(b.Readings, func(r series.Reading) bool { return r.Of == of && r.Name == name })
	if i < 0 {
		return -1
	}
	return b.Readings[i].Value
}

// answers is a host whose server gives one answer to everything.
type answers struct {
	host.Reader
	rows host.Rows
}

func (a answers) Query(context.Context, host.Target, string) (host.Rows, error) { return a.rows, nil }

// Of a server with very many databases the first are read, and that there are more is told.
func TestVeryManyDatabases(t *testing.T) {
	name, number := "db", "7"
	rows := host.Rows{Columns: []string{"datname", "commits"}}
	for range series.MostDatabases + 1 {
		rows.Values = append(rows.Values, []*string{&name, &number})
	}
	for _, more := range []int{0, 1} {
		all := rows
		all.Values = rows.Values[:series.MostDatabases+more]
		if b := databasesIn(t, all); len(b.Readings) != series.MostDatabases || len(b.Gaps) != more {
			t.Errorf("%d readings of %d databases, and gaps %v", len(b.Readings), len(all.Values), b.Gaps)
		}
	}
}

// What only pretends to be a server can answer anything.
func TestAnswersThatFitNoQuestion(t *testing.T) {
	name := "db"
	for _, rows := range []host.Rows{{}, {Values: [][]*string{{}, nil}}, {Columns: []string{"datname"}, Values: [][]*string{{&name, &name}, {nil}}}, {Columns: []string{"datname", "commits"}, Values: [][]*string{{&name}}}} {
		if b := databasesIn(t, rows); len(b.Readings) > 0 {
			t.Errorf("%v gives %v", rows, b.Readings)
		}
	}
}

// databasesIn is what is read of an answer.
func databasesIn(t *testing.T, rows host.Rows) (b series.Batch) {
	t.Helper()
	given, err := postgres.Given("postgres://postgres@/postgres?host=/nowhere")
	sandbox.Need(t, err)
	s, ref := samplertest.LoggedIn(kind, given.Address)
	sandbox.Need(t, New(&given).Server(s, ref).databases(t.Context(), answers{rows: rows}, &b))
	return b
}
