package matrix

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plumb/internal/stack"
)

// look gives what Plumb sees of the server, live or on a tape.
func (l *live) look(t *testing.T, args ...string) (*stack.Stack, *stack.Thing) {
	t.Helper()
	out, _ := plumb.Run(t, 0, append([]string{"stack", "--json"}, args...)...)
	var doc struct{ Stack *stack.Stack }
	plumb.Document(t, "stack", out, &doc)
	thing := doc.Stack.Find(l.ref())
	if thing == nil {
		t.Fatalf("%s was not found", l.ref())
	}
	return doc.Stack, thing
}

// ofSession tells settings of which Plumb would see its own session's.
func ofSession(name string) bool {
	return slices.Contains([]string{"application_name", "client_encoding", "transaction_deferrable", "transaction_isolation", "transaction_read_only"}, name)
}

// observe demands that every knob is either known or known to be absent, as
// the catalogue claims, and that nothing could not be read.
func (l *live) observe(t *testing.T) {
	s, thing := l.look(t)
	if thing.Text("flavor") != l.flavor || thing.Text("version") == "" {
		t.Errorf("flavor %q, version %q", thing.Text("flavor"), thing.Text("version"))
	}
	t.Log(l.flavor, thing.Text("version"))
	for _, g := range s.Gaps {
		if g.Of == l.ref() && !strings.Contains(g.Why, "this release does not") {
			t.Errorf("gap: %s (%s), of %v", g.Why, g.Hint, g.Facts)
		}
	}
	knobs := knobsOf(t, l.kind)
	for name, f := range knobs {
		fact, known := thing.Facts[name]
		if !known {
			if l.kind != "postgres" || !ofSession(name) {
				t.Errorf("%s is neither known nor absent", name)
			}
			continue
		}
		claims := f.Knob.Has(l.flavor, thing.Text("version"))
		if claims == fact.Value.IsAbsent() && len(Excused(knobs, l.flavor, []Finding{{Knob: name, Point: Missing}}, Excuses())) > 0 {
			t.Errorf("%s = %s (%s); the catalogue claims it: %t", name, fact.Value, fact.Source, claims)
		}
	}
}

// replay demands that a tape shows the same server, and always the same.
func (l *live) replay(t *testing.T) {
	name := filepath.Join(t.TempDir(), "host.tape.gz")
	_, now := l.look(t)
	plumb.Run(t, 0, "capture", "-o", name)
	_, then := l.look(t, "--tape", name)
	if a, b := settings(t, l.knobFacts(t, now)), settings(t, l.knobFacts(t, then)); !slices.Equal(a, b) {
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Errorf("live %s\ntape %s", a[i], b[i])
			}
		}
		t.Errorf("%d settings live, %d on the tape", len(a), len(b))
	}
	if a, b := text(t, now.Links), text(t, then.Links); a != b {
		t.Errorf("links: live %s\ntape %s", a, b)
	}
	for _, command := range [][]string{{"stack", "--json"}, {"check", "--json"}} {
		args := append(command, "--tape", name)
		a, _ := plumb.Run(t, 0, args...)
		if b, _ := plumb.Run(t, 0, args...); a != b {
			t.Errorf("%s differs from one reading of the tape to the next:\n%s", command[0], firstDifference(a, b))
		}
	}
}

// firstDifference gives the first lines that differ, with those around them.
func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			from, to := max(i-8, 0), i+6
			return strings.Join(x[from:min(to, len(x))], "\n") + "\n--- or\n" + strings.Join(y[from:min(to, len(y))], "\n")
		}
	}
	return "one is longer"
}

// knobFacts are the facts of a server that are knobs; others count or tell the
// time.
func (l *live) knobFacts(t *testing.T, thing *stack.Thing) map[string]stack.Fact {
	out := map[string]stack.Fact{}
	for name := range knobsOf(t, l.kind) {
		if f, known := thing.Facts[name]; known {
			out[name] = f
		}
	}
	return out
}

// settings writes facts with their sources and origins, one a line.
func settings(t *testing.T, facts map[string]stack.Fact) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(facts)) {
		out = append(out, name+" "+text(t, facts[name]))
	}
	return out
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	must(t, err)
	return string(b)
}

// fix sets one knob that is dynamic and one that waits for a restart, restarts,
// undoes and restarts again.
func (l *live) fix(t *testing.T) {
	dynamic, static := "work_mem", "max_connections"
	sets, want := []string{"8MB", "150"}, []string{"8192", "150"}
	if l.kind == "mysql" {
		dynamic, static = "innodb_io_capacity", "back_log"
		sets, want = []string{"700", "217"}, []string{"700", "217"}
	}
	values := func() []string { return []string{l.value(t, dynamic), l.value(t, static)} }
	becomes := func(when string, want ...string) {
		t.Helper()
		var got []string
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			if got = values(); slices.Equal(got, want) {
				return
			}
		}
		t.Errorf("%s: %s and %s are %v, want %v", when, dynamic, static, got, want)
	}
	was := values()
	if was[0] == want[0] || was[1] == want[1] {
		t.Fatalf("%v would not change", was)
	}
	journal := filepath.Join(t.TempDir(), "plumb")
	of := l.ref().String() + "#"
	out, _ := plumb.Run(t, 0, "fix", "--yes", "--state", journal, "--set", of+dynamic+"="+sets[0], "--set", of+static+"="+sets[1])
	if !strings.Contains(out, "restart") {
		t.Errorf("nothing is said of a restart:\n%s", out)
	}
	becomes("after the fix", want[0], was[1])
	l.restart(t)
	becomes("after a restart", want...)
	plumb.Run(t, 0, "undo", "--yes", "--state", journal)
	becomes("after the undo", was[0], want[1])
	l.restart(t)
	becomes("after another restart", was...)
	var doc struct{ Changes []struct{ State string } }
	out, _ = plumb.Run(t, 0, "history", "--json", "--state", journal)
	plumb.Document(t, "history", out, &doc)
	if len(doc.Changes) != 1 || doc.Changes[0].State != "undone" {
		t.Errorf("%s", out)
	}
}

// value is what a new session gets, as the server shows it.
func (l *live) value(t *testing.T, name string) string {
	t.Helper()
	db, err := l.server.Open()
	must(t, err)
	defer db.Close()
	ask := "SELECT @@GLOBAL." + name
	if l.kind == "postgres" {
		ask = "SELECT reset_val FROM pg_settings WHERE name = '" + name + "'"
	}
	return cell(query(t, db, ask)[0], 0)
}

// load fills tables, drives them for five seconds and takes them away.
func (l *live) load(t *testing.T) {
	must(t, l.server.Exec("CREATE DATABASE sbtest"))
	at := []string{"--mysql-socket=" + l.server.Socket, "--mysql-user=root", "--mysql-db=sbtest"}
	if l.kind == "postgres" {
		at = []string{"--pgsql-host=" + l.server.Socket, "--pgsql-port=" + strconv.Itoa(l.port), "--pgsql-user=" + l.server.User, "--pgsql-db=sbtest"}
	}
	oltp := func(step string, more ...string) string {
		args := slices.Concat([]string{"load", "oltp", "oltp_read_write", step, "--tables=2", "--table_size=2000"}, at, more)
		out, _ := plumb.Run(t, 0, args...)
		return out
	}
	oltp("prepare")
	var r struct {
		Server struct{ Product string }
		Total  struct{ Done, Failed int64 }
		Rate   struct{ Value float64 }
	}
	plumb.Document(t, "load", oltp("run", "--threads=2", "--time=5", "--warmup=1", "--json"), &r)
	if r.Total.Done == 0 || r.Total.Failed != 0 || r.Server.Product == "" {
		t.Errorf("%+v", r)
	}
	t.Logf("%s: %.0f transactions a second", r.Server.Product, r.Rate.Value)
	oltp("cleanup")
}
