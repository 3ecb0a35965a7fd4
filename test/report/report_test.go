package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// play gives what each run of a test alone says, in order.
type play struct {
	says  map[string][]string // pass, fail or skip
	asked []string
}

func (p *play) run(test id) io.Reader {
	p.asked = append(p.asked, test.test)
	left := p.says[test.test]
	if len(left) == 0 {
		return strings.NewReader("")
	}
	p.says[test.test] = left[1:]
	return strings.NewReader(events("p", "run "+test.test, left[0]+" "+test.test, left[0]+" "))
}

// events writes lines such as "fail TestA/part" as go test -json does.
func events(pkg string, lines ...string) string {
	var b strings.Builder
	for _, l := range lines {
		action, rest, _ := strings.Cut(l, " ")
		test, output, _ := strings.Cut(rest, " ")
		fmt.Fprintf(&b, "{\"Action\":%q,\"Package\":%q,\"Test\":%q,\"Output\":%q}\n", action, pkg, test, output)
	}
	return b.String()
}

func TestRerun(t *testing.T) {
	failed := func(names ...string) string {
		lines := []string{"run TestSound", "pass TestSound"}
		for _, n := range names {
			lines = append(lines, "run "+n, "output "+n+" said why", "fail "+n)
		}
		return events("p", append(lines, "fail ")...)
	}
	for _, c := range []struct {
		name, first string
		alone       map[string][]string
		times       int
		bad         bool
		flaky       int
		asked       []string
	}{
		{"passes at once", failed("TestA"), map[string][]string{"TestA": {"pass"}}, 2, false, 1, []string{"TestA"}},
		{"passes the second time", failed("TestA"), map[string][]string{"TestA": {"fail", "pass"}}, 2, false, 1, []string{"TestA", "TestA"}},
		{"never passes", failed("TestA"), map[string][]string{"TestA": {"fail", "fail", "pass"}}, 2, true, 0, []string{"TestA", "TestA"}},
		{"skips when alone", failed("TestA"), map[string][]string{"TestA": {"skip", "skip"}}, 2, true, 0, []string{"TestA", "TestA"}},
		{"does not run when alone", failed("TestA"), nil, 1, true, 0, []string{"TestA"}},
		{"a part is run with its whole", failed("TestA/b", "TestA"), map[string][]string{"TestA": {"pass"}}, 2, false, 1, []string{"TestA"}},
		{"two may", failed("TestA", "TestB"), map[string][]string{"TestA": {"pass"}, "TestB": {"pass"}}, 2, false, 2, []string{"TestA", "TestB"}},
		{"three are too many", failed("TestA", "TestB", "TestC"), map[string][]string{"TestA": {"pass"}, "TestB": {"pass"}, "TestC": {"pass"}}, 2, true, 3, []string{"TestA", "TestB", "TestC"}},
		{"not asked to", failed("TestA"), map[string][]string{"TestA": {"pass"}}, 0, true, 0, nil},
		{"a panic", events("p", "run TestA", "output TestA panic: oh", "fail TestA", "fail "), map[string][]string{"TestA": {"pass"}}, 2, true, 0, nil},
		{"a race", events("p", "run TestA", "output TestA WARNING: DATA RACE", "fail TestA", "fail "), map[string][]string{"TestA": {"pass"}}, 2, true, 0, nil},
		{"a test that never ended", events("p", "run TestB", "run TestA", "fail TestA", "fail "), map[string][]string{"TestA": {"pass"}}, 2, true, 0, nil},
		{"a package that does not build", events("p", "fail "), nil, 2, true, 0, nil},
		{"no event at all", "", nil, 2, true, 0, nil},
		{"not JSON", "x.go:1: syntax error\n" + events("p", "run TestA", "pass TestA", "pass "), nil, 2, true, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			tally, alone := newTally(), &play{says: c.alone}
			if _, err := tally.read(strings.NewReader(c.first), suite{}, io.Discard); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			tally.rerun(c.times, alone, &out)
			tally.print(&out)
			if tally.bad() != c.bad || len(tally.flaky) != c.flaky || !slices.Equal(alone.asked, c.asked) {
				t.Errorf("bad %v, flaky %q, asked %q\n%s", tally.bad(), tally.flaky, alone.asked, &out)
			}
			if c.flaky > 0 && (!strings.Contains(out.String(), "said why") || !strings.Contains(out.String(), "flaky: failed, and passed")) {
				t.Errorf("the closing lines do not say what was flaky, and why:\n%s", &out)
			}
		})
	}
}

// TestFailuresAreShownAtOnce: a long run can be ended before its closing lines.
func TestFailuresAreShownAtOnce(t *testing.T) {
	var out strings.Builder
	text := events("p", "run TestA", "output TestA why A", "fail TestA", "fail ") + events("q", "run TestB", "output TestB why B", "fail TestB")
	if _, err := newTally().read(strings.NewReader(text), suite{}, &out); err != nil || !strings.Contains(out.String(), "why A") || strings.Contains(out.String(), "why B") {
		t.Errorf("%v, and of two failures, one of a package that goes on:\n%s", err, &out)
	}
}

// TestClosingLine: what reads the run counts by this line.
func TestClosingLine(t *testing.T) {
	tally := newTally()
	text := events("p", "run TestA", "pass TestA", "run TestB", "output TestB     b_test.go:7: no root", "skip TestB", "pass ")
	if _, err := tally.read(strings.NewReader(text), suite{}, io.Discard); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	tally.print(&out)
	if want := "\nskipped:\n  p TestB: no root\n\n1 passed, 0 failed, 1 skipped\n"; out.String() != want || tally.bad() {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// TestRealRerun: a test that fails the first time it runs, and one that always
// does, with the real go command.
func TestRealRerun(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"go.mod": "module m\n\ngo 1.21\n",
		"m_test.go": `package m

import (
	"os"
	"testing"
)

func TestOnce(t *testing.T) {
	if os.Mkdir("was-here", 0o700) == nil {
		t.Fatal("the first time")
	}
}

func TestNever(t *testing.T) { t.Fatal("every time") }

func TestNeverWithMore(t *testing.T) {}
`})
	tally, there := newTally(), suite{dir: dir, args: []string{"-timeout", "1m"}}
	if err := tally.test(there, there.command("."), io.Discard); err != nil {
		t.Fatal(err)
	}
	tally.rerun(2, again(tally.suites), io.Discard)
	if len(tally.flaky) != 1 || !strings.HasPrefix(tally.flaky[0], "m TestOnce: ") || !slices.Equal(tally.failures, []id{{"m", "TestNever"}}) {
		t.Errorf("flaky %q, failed %q\n%v", tally.flaky, tally.failures, tally.output)
	}
}

// TestNamedFirstRunFirst: the Makefile names the longest packages before others, and relies on what no documentation of
// go test promises: that it begins packages in the order in which they are named, and each of them once.
func TestNamedFirstRunFirst(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"go.mod": "module m\n\ngo 1.21\n"}
	for _, p := range []string{"a", "b", "c", "d"} {
		files[p+"/p_test.go"] = "package p\n\nimport \"testing\"\n\nfunc TestIt(t *testing.T) {}\n"
	}
	write(t, dir, files)
	out, err := suite{dir: dir, args: []string{"-p", "2", "-vet", "off"}}.command("./d", "./b", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var began []string
	for line := range strings.Lines(string(out)) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Action == "start" {
			began = append(began, e.Package)
		}
	}
	if want := []string{"m/d", "m/b", "m/a", "m/c"}; !slices.Equal(began, want) {
		t.Errorf("began %q, want %q", began, want)
	}
}

// write makes files below a directory.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBrokenOff: a go test that ends in the middle has not passed what it never said.
func TestBrokenOff(t *testing.T) {
	text := events("p", "run TestA", "pass TestA", "pass ")
	if err := newTally().test(suite{}, exec.Command("sh", "-c", `printf %s "$1"; kill -9 $$`, "sh", text), io.Discard); err == nil {
		t.Error("a run that was killed passed")
	}
	whole := newTally()
	if err := whole.test(suite{}, exec.Command("printf", "%s", text), io.Discard); err != nil || whole.bad() {
		t.Errorf("a whole run: %v", err)
	}
}

func TestConcurrent(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, ".", map[string]string{
		"d/starts/a.go": "package a\nfunc f() { go f() }\n",
		"d/guards/a.go": "package a\nimport _ \"sync\"\n",
		"d/tests/a.go":  "package a\n", "d/tests/a_test.go": "package a\nfunc f() { go f() }\n",
		"d/a.go": "package d\nfunc f() { f() }\n",
	})
	got, err := concurrent("d")
	if err != nil || !slices.Equal(got, []string{"./d/guards", "./d/starts"}) {
		t.Errorf("%q, %v", got, err)
	}
	if first, err := concurrent("d/starts", "d"); err != nil || !slices.Equal(first, []string{"./d/starts", "./d/guards"}) {
		t.Errorf("%q, %v", first, err)
	}
	for text, want := range map[string][]string{
		"# why\n./d/guards # slow\n": {"./d/starts"},
		"./d/guards\n":               nil, // no reason
		"./d/gone # slow\n":          nil,
	} {
		if err := os.WriteFile("norace", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if left, err := without(got, "norace"); !slices.Equal(left, want) || (err == nil) != (want != nil) {
			t.Errorf("%q leaves %q, %v", text, left, err)
		}
	}
}

// TestRealRace: the detector finds a race that a plain run passes, it fails
// the run, and it is not run again until it hides.
func TestRealRace(t *testing.T) {
	if err := canRace(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"go.mod": "module m\n\ngo 1.21\n",
		"m_test.go": `package m

import "testing"

func TestRacy(t *testing.T) {
	n, done := 0, make(chan bool)
	go func() { n++; close(done) }()
	n++
	<-done
}

func TestSkips(t *testing.T) { t.Skip("without the detector it ran") }

func TestSound(t *testing.T) {}
`})
	tally, there := newTally(), suite{dir: dir, args: []string{"-timeout", "1m"}}
	raced := suite{dir: dir, args: []string{"-race"}, race: true}
	if err := errors.Join(tally.test(there, there.command("."), io.Discard), tally.test(raced, raced.command("."), io.Discard)); err != nil {
		t.Fatal(err)
	}
	tally.rerun(2, again(tally.suites), io.Discard)
	if !tally.bad() || len(tally.flaky) != 0 || !slices.Equal(tally.failures, []id{{"m -race", "TestRacy"}}) {
		t.Errorf("flaky %q, failed %q\n%v", tally.flaky, tally.failures, tally.output)
	}
	if tally.passed != 2 || tally.raced != 1 || tally.skipped != 1 {
		t.Errorf("%d passed, %d with the detector, %d skipped", tally.passed, tally.raced, tally.skipped)
	}
}

// Whole tests are named, not their parts nor those of no account.
func TestSlowest(t *testing.T) {
	c := newTally()
	for test, took := range map[string]float64{"TestA": 12, "TestB": 140, "TestB/part": 139, "TestC": 3.5, "TestD": 0.2} {
		c.add(event{Action: "pass", Package: "p", Test: test, Elapsed: took}, io.Discard)
	}
	if got, want := c.slowest(2), []string{"  12.0 s  p TestA", " 140.0 s  p TestB"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestTurns: packages that take turns run one at a time, and beside the others.
func TestTurns(t *testing.T) {
	dir := t.TempDir()
	turn := "package p\n\nimport (\n\t\"os\"\n\t\"testing\"\n\t\"time\"\n)\n\nfunc TestIt(t *testing.T) {\n" +
		"\tif err := os.Mkdir(\"../busy\", 0o700); err != nil {\n\t\tt.Fatal(err)\n\t}\n" +
		"\tfor _, err := os.Stat(\"../c/ran\"); err != nil; _, err = os.Stat(\"../c/ran\") {\n\t\ttime.Sleep(time.Millisecond)\n\t}\n" +
		"\tif err := os.Remove(\"../busy\"); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n"
	beside := "package p\n\nimport (\n\t\"os\"\n\t\"testing\"\n\t\"time\"\n)\n\nfunc TestIt(t *testing.T) {\n" +
		"\tfor _, err := os.Stat(\"../busy\"); err != nil; _, err = os.Stat(\"../busy\") {\n\t\ttime.Sleep(time.Millisecond)\n\t}\n" +
		"\tif err := os.Mkdir(\"ran\", 0o700); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n"
	write(t, dir, map[string]string{"go.mod": "module m\n\ngo 1.21\n", "a/p_test.go": turn, "b/p_test.go": turn, "c/p_test.go": beside})
	t.Chdir(dir)
	apart, others, err := split([]lane{{1, []string{"./b", "./a"}}}, []string{"./..."})
	if err != nil || len(apart) != 1 || !slices.Equal(apart[0].packages, []string{"m/b", "m/a"}) || !slices.Equal(others, []string{"m/c"}) {
		t.Fatalf("%v take turns, %q do not, %v", apart, others, err)
	}
	tally := newTally()
	there := suite{args: []string{"-timeout", "10m", "-vet", "off"}}
	err = tally.run([]job{{"", there, apart[0].packages}, {"", there, others}}, 1, 1)
	if err != nil || tally.bad() || tally.passed != 3 {
		t.Errorf("%d passed, %v\n%v", tally.passed, err, tally.output)
	}
	if _, others, err := split(nil, []string{"./c", "./b", "./..."}); err != nil || !slices.Equal(others, []string{"m/c", "m/b", "m/a"}) {
		t.Errorf("in order and each once are %q, %v", others, err)
	}
	if _, others, err := split(nil, nil); err != nil || len(others) > 0 {
		t.Errorf("of no pattern there are %q, %v", others, err)
	}
	if apart, others, err := split([]lane{{1, []string{"./b"}}, {2, []string{"./..."}}}, []string{"./a", "./b"}); err != nil || len(others) > 0 ||
		len(apart) != 2 || !slices.Equal(apart[0].packages, []string{"m/b"}) || !slices.Equal(apart[1].packages, []string{"m/a"}) || apart[1].places != 2 {
		t.Errorf("of two lanes: %v, and of none %q, %v", apart, others, err)
	}
	if _, _, err := split([]lane{{1, []string{"./gone"}}}, []string{"./..."}); err == nil {
		t.Error("a package that is not there took turns")
	}
}

// TestExec: a program starts the tests of lanes, also when one is run again, and no others.
func TestExec(t *testing.T) {
	dir := t.TempDir()
	it := func(env, more string) string {
		return "package p\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestIt(t *testing.T) {\n\tif os.Getenv(\"STARTED\") != \"" + env + "\"" + more + " {\n\t\tt.Fatal()\n\t}\n}\n"
	}
	write(t, dir, map[string]string{"go.mod": "module m\n\ngo 1.21\n", "a/p_test.go": it("apart", ` || os.Mkdir("was-here", 0o700) == nil`), "b/p_test.go": it("", "")})
	t.Chdir(dir)
	tally, p := newTally(), plan{args: []string{"-timeout", "10m", "-vet", "off"}, lanes: []lane{{1, []string{"./a"}}}, exec: "env STARTED=apart"}
	if err := tally.carryOut(p, []string{"./..."}); err != nil {
		t.Fatal(err)
	}
	tally.rerun(1, again(tally.suites), io.Discard)
	if tally.bad() || tally.passed != 2 || len(tally.flaky) != 1 {
		t.Errorf("%d passed, flaky %q\n%v", tally.passed, tally.flaky, tally.output)
	}
}

func TestReadLane(t *testing.T) {
	if l, err := readLane("2 ./a ./b/..."); err != nil || l.places != 2 || !slices.Equal(l.packages, []string{"./a", "./b/..."}) {
		t.Errorf("%v, %v", l, err)
	}
	for _, bad := range []string{"", "1", "0 ./a", "./a ./b"} {
		if l, err := readLane(bad); err == nil {
			t.Errorf("%q was read as %v", bad, l)
		}
	}
}

// TestLanesGoOn: the lane that ends first takes what is left, here without which the other would never end.
func TestLanesGoOn(t *testing.T) {
	dir := t.TempDir()
	head := "package p\n\nimport (\n\t\"os\"\n\t\"testing\"\n\t\"time\"\n)\n\nvar _ = time.Second\n\nfunc TestIt(t *testing.T) {\n"
	write(t, dir, map[string]string{
		"go.mod":          "module m\n\ngo 1.21\n",
		"waits/p_test.go": head + "\tfor _, err := os.Stat(\"../left/ran\"); err != nil; _, err = os.Stat(\"../left/ran\") {\n\t\ttime.Sleep(time.Millisecond)\n\t}\n}\n",
		"ends/p_test.go":  head + "\t_ = os.Args\n}\n",
		"left/p_test.go":  head + "\tif err := os.Mkdir(\"ran\", 0o700); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n",
	})
	there := suite{dir: dir, args: []string{"-timeout", "10m", "-vet", "off"}}
	tally, jobs := newTally(), []job{}
	for _, p := range []string{"./waits", "./ends", "./left"} {
		jobs = append(jobs, job{p, there, []string{p}})
	}
	if err := tally.run(jobs, 1, 1); err != nil || tally.bad() || tally.passed != 3 {
		t.Errorf("%d passed, %v\n%v", tally.passed, err, tally.output)
	}
}
