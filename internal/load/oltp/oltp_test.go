package oltp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"plumb/internal/host"
	"plumb/internal/load"
)

// recorder is a server that keeps all statements it is sent.
type recorder struct {
	mu   sync.Mutex
	seen map[string]int
	quit bool // keep nothing
	fail func(query string) error
}

func (r *recorder) Engine() string { return "postgres" }

func (r *recorder) Open(context.Context) (load.Session, error) {
	return &recording{r: r}, nil
}

func (r *recorder) Admin(context.Context) (load.Admin, error) { return recordingAdmin{}, nil }

func (r *recorder) About(context.Context) (load.About, error) { return load.About{}, nil }

func (r *recorder) Room(context.Context, int, int) error { return nil }

type recordingAdmin struct{ load.Admin }

// Query answers no notes, and a highest id.
func (recordingAdmin) Query(_ context.Context, query string) (host.Rows, error) {
	if strings.Contains(query, "plumb_load") {
		return host.Rows{}, &load.Failure{Code: "42P01"}
	}
	highest := "1000"
	return host.Rows{Values: [][]*string{{&highest}}}, nil
}

func (recordingAdmin) Close() error { return nil }

type recording struct {
	r       *recorder
	queries []string
	last    string
}

func (s *recording) Prepare(query string) (int, error) {
	s.queries = append(s.queries, query)
	return len(s.queries) - 1, nil
}

func (s *recording) Run(statement int, args []load.Arg) error {
	s.last = s.queries[statement]
	if s.r.quit {
		return nil
	}
	text := s.last
	for _, a := range args {
		text += fmt.Sprintf(" %d%s", a.Num, a.Str)
	}
	return s.keep(text)
}

func (s *recording) Text(query []byte) error {
	if s.r.quit {
		return nil
	}
	s.last = string(query)
	return s.keep(s.last)
}

func (s *recording) keep(text string) error {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	s.r.seen[text]++
	if s.r.fail != nil {
		return s.r.fail(text)
	}
	return nil
}

func (s *recording) Affected() int64  { return 1 }
func (s *recording) HadRows() bool    { return strings.HasPrefix(s.last, "SELECT") }
func (s *recording) Next() bool       { return false }
func (s *recording) Int(int) int64    { return 0 }
func (s *recording) Bytes(int) []byte { return nil }
func (s *recording) Close() error     { return nil }

func config(script string) Config {
	c := Defaults()
	c.Script, c.Tables, c.TableSize, c.Seed = script, 3, 1000, 5
	return c
}

func statementsOf(t *testing.T, c Config, threads int) map[string]int {
	t.Helper()
	r := &recorder{seen: map[string]int{}}
	w, err := New(r, c)
	if err != nil {
		t.Fatal(err)
	}
	res, err := load.Run(t.Context(), w, load.Options{Threads: threads, Events: 300})
	if err != nil || res.Total.Done != 300 {
		t.Fatalf("%v, %+v", err, res)
	}
	return r.seen
}

// The same seed gives the same statements for any number of workers, and
// another seed others.
func TestStatementsDependOnTheSeedAlone(t *testing.T) {
	for _, script := range Scripts() {
		if script == bulkInsert {
			continue
		}
		t.Run(script, func(t *testing.T) {
			c := config(script)
			want := fmt.Sprint(statementsOf(t, c, 1))
			for _, threads := range []int{4, 16} {
				if got := fmt.Sprint(statementsOf(t, c, threads)); got != want {
					t.Errorf("%d workers send other statements than one", threads)
				}
			}
			c.Seed++
			if fmt.Sprint(statementsOf(t, c, 1)) == want {
				t.Error("another seed, the same statements")
			}
		})
	}
}

func TestEventsAllocateNothing(t *testing.T) {
	for _, script := range Scripts() {
		w, err := New(&recorder{quit: true}, config(script))
		if err != nil {
			t.Fatal(err)
		}
		one, err := w.Open(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		n := int64(0)
		var tally load.Tally
		do := func() {
			n++
			if err := one.Do(n, &tally); err != nil {
				t.Fatal(err)
			}
		}
		for range 50_000 {
			if do(); script != bulkInsert && n > 100 {
				break
			}
		}
		if got := testing.AllocsPerRun(200, do); got != 0 {
			t.Errorf("%s allocates %v times an event", script, got)
		}
	}
}

func TestRowsAllocateNothing(t *testing.T) {
	p, err := config("oltp_read_write").plan("mysql")
	if err != nil {
		t.Fatal(err)
	}
	line := p.Tables[0].Row(nil, 0)
	unit := int64(0)
	if n := testing.AllocsPerRun(1000, func() { unit++; line = p.Tables[0].Row(line[:0], unit) }); n != 0 {
		t.Errorf("%v allocations a row", n)
	}
}

func TestOptionsChangeTheEvent(t *testing.T) {
	for name, x := range map[string]struct {
		change             func(*Config)
		reads, writes      int64
		statementsPrepared int
	}{
		"Usual":         {func(*Config) {}, 14, 6, 27},
		"NoRanges":      {func(c *Config) { c.RangeSelects = false }, 10, 6, 15},
		"NoTransaction": {func(c *Config) { c.SkipTrx = true }, 14, 4, 27},
		"Many":          {func(c *Config) { c.DeleteInsert, c.IndexUpdates, c.SumRanges = 3, 2, 0 }, 13, 11, 24},
		"NoWrites":      {func(c *Config) { c.DeleteInsert, c.IndexUpdates, c.NonIndex = 0, 0, 0 }, 14, 2, 15},
	} {
		c := config("oltp_read_write")
		x.change(&c)
		w, err := New(&recorder{seen: map[string]int{}}, c)
		if err != nil {
			t.Fatal(err)
		}
		one, err := w.Open(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		var tally load.Tally
		if err := one.Do(1, &tally); err != nil {
			t.Fatal(err)
		}
		if _, n := c.needs(); tally.Reads != x.reads || tally.Writes != x.writes || n != x.statementsPrepared {
			t.Errorf("%s: %+v with %d statements", name, tally, n)
		}
	}
}

// A failed event is rolled back, so that it can be done again.
func TestFailuresRollBack(t *testing.T) {
	r := &recorder{seen: map[string]int{}}
	failed := false
	r.fail = func(query string) error {
		if strings.HasPrefix(query, "DELETE") && !failed {
			failed = true
			return &load.Failure{Class: load.Retry, Code: "40001"}
		}
		return nil
	}
	w, err := New(r, config("oltp_write_only"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := load.Run(t.Context(), w, load.Options{Threads: 1, Events: 3, Retries: 1})
	if err != nil || res.Total.Done != 3 || res.Total.Retried != 1 || r.seen["BEGIN"] != 4 || r.seen["ROLLBACK"] != 1 || r.seen["COMMIT"] != 3 {
		t.Errorf("%v, %+v, %v", err, res.Total, r.seen)
	}
}

func TestWarningsSayWhatIsHot(t *testing.T) {
	c := config("oltp_read_only")
	c.TableSize = 1_000_000
	if w := c.Warnings(); len(w) != 0 {
		t.Errorf("uniform: %v", w)
	}
	c.RandType = "special"
	w := c.Warnings()
	if len(w) != 1 || !strings.Contains(w[0], "three of four reads and writes go to 0.7") || !strings.Contains(w[0], "practically never touched") {
		t.Errorf("special: %v", w)
	}
	t.Log(w)
}

func TestConfigRefuses(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"tables": func(c *Config) { c.Tables = 0 }, "table-size": func(c *Config) { c.TableSize = 1 << 40 }, "point-selects": func(c *Config) { c.PointSelects = -1 },
		"script": func(c *Config) { c.Script = "" }, "mysql-table-options": func(c *Config) { c.TableOptions = "; DROP TABLE x" },
		"distribution": func(c *Config) { c.RandType = "" }, "fillfactor": func(c *Config) { c.Fillfactor = 9 },
	} {
		c := config("oltp_read_only")
		change(&c)
		if _, err := New(nil, c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFillfactor(t *testing.T) {
	c := config("oltp_read_only")
	c.Fillfactor = 70
	p, err := c.plan("postgres")
	if err != nil || !strings.HasSuffix(p.Tables[0].Create, " WITH (fillfactor = 70)") || !slices.Contains(p.Settings, load.Setting{Name: "fillfactor", Value: "70"}) {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := c.plan("mysql"); err == nil {
		t.Error("tables without a fillfactor are made with one")
	}
}
