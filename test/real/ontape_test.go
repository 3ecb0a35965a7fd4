package real

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plumb/internal/rule"
	"plumb/internal/stack"
	"plumb/internal/tape"
)

// These hosts are tapes and not live, each for its reason: a test must not
// change the sysctls of the machine it runs on, no test machine has the memory
// that makes dirty_ratio harmful, and none has a mongod of these versions. Each
// is a tape of a real server with the named answers replaced.

// change replaces answers on a tape.
type change func(t *tape.Tape)

// file replaces the content of a file, or of all that end in the name, or adds it.
func file(name string, edit func(old string) string) change {
	return func(t *tape.Tape) {
		found := false
		for i, e := range t.Entries {
			if e.Op == "file" && strings.HasSuffix(string(e.Of[0]), name) && e.Text != nil {
				text := tape.Text(edit(string(*e.Text)))
				t.Entries[i].Text, found = &text, true
			}
		}
		if !found {
			text := tape.Text(edit(""))
			t.Entries = append(t.Entries, tape.Entry{Op: "file", Of: []tape.Text{tape.Text(name)}, Text: &text})
		}
	}
}

func content(text string) func(string) string { return func(string) string { return text } }

// line replaces the number in a "name number" line.
func line(name, value string) func(string) string {
	re := regexp.MustCompile(`(?m)^(` + regexp.QuoteMeta(name) + `[: \t]+)\d+`)
	return func(old string) string { return re.ReplaceAllString(old, "${1}"+value) }
}

// mongod copies the server process of a tape as a mongod over the same
// directory, with the answers of its commands typed from documentation.
func mongod(version, port string) change {
	return func(t *tape.Tape) {
		from, to := "/proc/"+serverOn(t)+"/", "/proc/"+port+"/" // the port is as good a pid as any
		for _, e := range slices.Clone(t.Entries) {
			what, mine := strings.CutPrefix(string(e.Of[0]), from)
			if mine && !strings.HasPrefix(what, "fd") { // it does not listen where the other does
				t.Entries = append(t.Entries, renamed(e, from, to))
			}
		}
		file(to+"comm", content("mongod\n"))(t)
		file(to+"cmdline", content("/usr/bin/mongod\x00--dbpath\x00/srv/db/vol/postgres\x00--port\x00"+port+"\x00"))(t)
		file(to+"stat", func(old string) string { return port + " (mongod)" + old[strings.Index(old, ")")+1:] })(t)
		for i, e := range t.Entries {
			if e.Op == "glob" && (string(e.Of[0]) == "/proc/[0-9]*/comm" || string(e.Of[0]) == "/proc/[0-9]*/stat") {
				t.Entries[i].Value = json.RawMessage(strings.Replace(string(e.Value), "[", `["`+to+filepath.Base(string(e.Of[0]))+`",`, 1))
			}
		}
		ask(t, port, `{"buildInfo": 1}`, fmt.Sprintf(`{"version": %q}`, version))
		ask(t, port, `{"serverStatus": 1}`, `{"uptime": 100000, "storageEngine": {"name": "wiredTiger"}, "wiredTiger": {"cache": {"pages read into cache": 50000000}}}`)
	}
}

// serverOn finds the pid of the tape's database server.
func serverOn(t *tape.Tape) string {
	for _, e := range t.Entries {
		path := strings.Split(string(e.Of[0]), "/")
		if e.Op == "file" && len(path) == 4 && path[1] == "proc" && path[3] == "cmdline" && path[2] != "1" && !strings.HasPrefix(path[2], "27") {
			return path[2]
		}
	}
	return ""
}

func renamed(e tape.Entry, from, to string) tape.Entry {
	of := slices.Clone(e.Of)
	of[0] = tape.Text(strings.Replace(string(of[0]), from, to, 1))
	e.Of = of
	e.Value = json.RawMessage(strings.ReplaceAll(string(e.Value), from, to))
	return e
}

func ask(t *tape.Tape, port, command, answer string) {
	rows, _ := json.Marshal(map[string]any{"columns": []string{"document"}, "values": [][]string{{answer}}})
	t.Entries = append(t.Entries, tape.Entry{Op: "query", Of: []tape.Text{tape.Text("mongo:127.0.0.1:" + port), tape.Text(command)}, Value: rows})
}

// edited looks at a fixture with changes.
func edited(t *testing.T, fixture string, changes ...change) *stack.Stack {
	t.Helper()
	return look(t, "--tape", write(t, fixture, changes))
}

// write gives the name of a tape that is a fixture with changes.
func write(t *testing.T, fixture string, changes []change) string {
	t.Helper()
	in, err := os.Open(filepath.Join("../../fixtures", fixture+".tape.gz"))
	check(t, err)
	defer in.Close()
	tp, err := tape.Read(in, fixture)
	check(t, err)
	for _, c := range changes {
		c(tp)
	}
	name := filepath.Join(t.TempDir(), "edited.tape")
	out, err := os.Create(name)
	check(t, err)
	check(t, tape.Write(out, tp))
	check(t, out.Close())
	return name
}

// swap gives the host swap on a disk and little memory, so that the server is
// a large part of it.
var swap = []change{
	file("/proc/meminfo", func(old string) string {
		return line("SwapTotal", "2097148")(line("SwapFree", "2097148")(line("MemTotal", "400000")(old)))
	}),
	file("/proc/swaps", content("Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/vda2                               partition\t2097148\t\t0\t\t-2\n")),
}

func swappiness(n string) []change {
	return append(slices.Clone(swap), file("/proc/sys/vm/swappiness", content(n+"\n")), file("/memory.swappiness", content(n+"\n")))
}

var (
	hugePagesOn       = file("/sys/kernel/mm/transparent_hugepage/enabled", content("[always] madvise never\n"))
	hugePagesOff      = file("/sys/kernel/mm/transparent_hugepage/enabled", content("always madvise [never]\n"))
	hugePagesAllowed  = file("/status", func(old string) string { return line("THP_enabled", "1")(old) })
	hugePagesForEight = []change{hugePagesOn,
		file("/sys/kernel/mm/transparent_hugepage/defrag", content("always defer [defer+madvise] madvise never\n")),
		file("/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none", content("0\n"))}
	unwritten   = file("/proc/meminfo", line("Dirty", "4194304"))             // 4 GiB
	largeMemory = file("/proc/vmstat", line("nr_dirty_threshold", "6553600")) // 25 GiB in pages of 4 KiB
)

func TestMustFindOnTape(t *testing.T) {
	for _, c := range []struct {
		name, fixture, rule string
		sick, healthy       []change
	}{
		{"swappiness_60", "mariadb-ext4", "cross/kernel-swappiness-high", swappiness("60"), swappiness("1")},
		{"swappiness_0", "mariadb-ext4", "cross/kernel-swappiness-zero", swappiness("0"), swappiness("1")},
		{"dirty_ratio_on_large_memory", "postgres-ext4", "cross/kernel-dirty-limit-postgres",
			[]change{largeMemory, unwritten}, []change{largeMemory}},
		{"huge_pages_on_for_mongodb_7", "postgres-ext4", "cross/kernel-thp-mongo-7",
			[]change{mongod("7.0.14", "27017"), hugePagesOn, hugePagesAllowed}, []change{mongod("7.0.14", "27017"), hugePagesOff}},
		{"huge_pages_off_for_mongodb_8", "postgres-ext4", "cross/kernel-thp-mongo-8",
			[]change{mongod("8.0.4", "27017"), hugePagesOff}, append([]change{mongod("8.0.4", "27017")}, hugePagesForEight...)},
		{"read_ahead_in_sectors_taken_for_kilobytes", "postgres-ext4", "cross/storage-mongo-readahead",
			[]change{mongod("7.0.14", "27017"), file("/queue/read_ahead_kb", content("128\n"))},
			[]change{mongod("7.0.14", "27017"), file("/queue/read_ahead_kb", content("16\n"))}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Run("sick", func(t *testing.T) {
				want(t, edited(t, c.fixture, c.sick...), c.rule, stack.Ref{}, rule.Fires)
			})
			t.Run("healthy", func(t *testing.T) {
				want(t, edited(t, c.fixture, c.healthy...), c.rule, stack.Ref{}, rule.Quiet)
			})
		})
	}
}

// TestRulesThatPullOneKnobApart has two releases of MongoDB on one host that
// want the opposite of transparent huge pages: the plan sets the knob at most
// once, and the report says which rule lost and why.
func TestRulesThatPullOneKnobApart(t *testing.T) {
	name := write(t, "postgres-ext4", []change{mongod("7.0.14", "27017"), mongod("8.0.4", "27018"), hugePagesOn, hugePagesAllowed})
	out, err := exec.Command(shared.plumb.Path, "check", "--json", "--tape", name).Output()
	check(t, err)
	var doc struct {
		Conflicts []struct {
			Knob   stack.Knob
			Reason string
		}
		Plan struct{ Steps []struct{ Knob stack.Knob } }
	}
	check(t, json.Unmarshal(out, &doc))
	apart := 0
	for _, c := range doc.Conflicts {
		switch {
		case c.Reason == "":
			t.Errorf("a conflict without a reason: %+v", c)
		case c.Knob.Of.Kind == "host" && strings.HasPrefix(c.Knob.Name, "thp_"):
			apart++
		case c.Knob.Name != "read_ahead_kb": // PostgreSQL and MongoDB want less of it, but not as much less
			t.Errorf("unexpected conflict %+v", c)
		}
	}
	if apart == 0 {
		t.Fatal("no conflict is reported")
	}
	seen := map[stack.Knob]int{}
	for _, s := range doc.Plan.Steps {
		if seen[s.Knob]++; seen[s.Knob] > 1 {
			t.Errorf("the plan sets %v twice", s.Knob)
		}
	}
}
