package swap

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/engine/mysql/point"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/product"
	"plumb/internal/protect"
	"plumb/internal/provision"
	"plumb/internal/stack"
)

// The directory in which the server is upgraded is its user's, who could put a link there in time: root opens no file of it.
func TestRootOpensNothingOfTheUsers(t *testing.T) {
	for name, text := range map[string]string{"configured": configured, "shut": shut, "putBack": putBack, "upgrade": upgrade} {
		for line := range strings.Lines(text) {
			if opens := regexp.MustCompile(`[<>] *"?\$(run|at|data|within)\b|(^|[;{|] *)(tail|cat|head|sed|cp|touch) [^;|]*\$(run|at|data|within)\b`); opens.MatchString(line) {
				t.Errorf("%s: root opens what is the user's: %s", name, line)
			}
		}
	}
}

// What is lost is counted from what both moments say, and what cannot be counted is said.
func TestBetween(t *testing.T) {
	then, err := parseMark([]byte("from 10.11.14\nnext 100\ngtid 0-1-7,3-2-5\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		now    string // GTIDs; "-": no binary log
		next   int64
		logged int64 // -1: not known
		ok     bool
	}{
		"both":            {"0-1-9,3-9-6", 120, 3, true},
		"a new domain":    {"0-1-7,3-2-5,4-1-2", 104, 2, true},
		"no log":          {"-", 120, -1, true},
		"the log is anew": {"0-1-2", 120, -1, true},
		"going back":      {"0-1-9", 99, -1, false},
	} {
		now := stood{next: c.next}
		if c.now != "-" {
			if now.gtid, err = point.Domains(c.now); err != nil {
				t.Fatal(err)
			}
		}
		lost, err := between(then, now)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.ok && (lost.Transactions != c.next-100 || (lost.Logged == nil) != (c.logged < 0) || lost.Logged != nil && *lost.Logged != c.logged || lost.But == "") {
			t.Errorf("%s: %+v", name, lost)
		}
	}
}

func TestMarksThatSayNothing(t *testing.T) {
	for _, text := range []string{"", "from 10.11.14\n", "from 10.11.14\nnext x\ngtid \n", "from 10.11.14\nnext 1\ngtid 0-1\n", "from 1\nnext 9999999999999999999\ngtid \n"} {
		if s, err := parseMark([]byte(text)); err == nil {
			t.Errorf("%q is %+v", text, s)
		}
	}
	if _, err := parseCounter("TRANSACTIONS\nno counter\n"); err == nil {
		t.Error("a monitor without the counter has one")
	}
	if n, err := parseCounter("------------\nTRANSACTIONS\n------------\nTrx id counter 4711\nPurge done for trx's n:o < 4710"); err != nil || n != 4711 {
		t.Errorf("the counter is %d: %v", n, err)
	}
}

// All that the way back needs is kept, each directory once, and what cannot be kept is refused.
func TestPlaces(t *testing.T) {
	dirs := func(all ...protect.Dir) protect.Server { return protect.Server{Dirs: all} }
	data := protect.Dir{Role: "data", Path: "/var/lib/mysql"}
	all, err := places(dirs(data, protect.Dir{Role: "redo", Path: "/var/lib/mysql-log"}, protect.Dir{Role: "undo", Path: "/var/lib/mysql/undo"}, protect.Dir{Role: "pid", Path: "/run/mysqld"}), "11.8", "")
	if err != nil || len(all) != 2 || all[1] != (place{"/var/lib/mysql-log", "/var/lib/mysql-log.before-11.8", "mysql-log.since-11.8"}) {
		t.Errorf("%+v %v", all, err)
	}
	if all, err = places(dirs(data), "11.8", "/srv/kept"); err != nil || all[0].kept != "/srv/kept/var-lib-mysql.before-11.8" {
		t.Errorf("%+v %v", all, err)
	}
	for what, sv := range map[string]protect.Server{
		"a database elsewhere":   dirs(data, protect.Dir{Role: "data", Path: "/srv/shop", Link: "shop"}),
		"a tablespace elsewhere": dirs(data, protect.Dir{Role: "tablespace", Path: "/srv/t"}),
		"one above the data":     dirs(data, protect.Dir{Role: "binlog", Path: "/var/lib"}),
		"no data":                dirs(protect.Dir{Role: "redo", Path: "/srv/log"}),
	} {
		if all, err := places(sv, "11.8", ""); err == nil {
			t.Errorf("%s: %+v", what, all)
		}
	}
}

// What an earlier way back has left is refused before the server is stopped.
func TestWhatAnEarlierWayBackLeftIsRefused(t *testing.T) {
	all := []place{{"/var/lib/mysql", "/var/lib/mysql.before-11.8", "mysql.since-11.8"}}
	for left, want := range map[string]bool{"": false, "/var/lib/mysql.since-11.8": true, "/var/lib/mysql/.mysql.since-11.8": true, "/var/lib/mysql.since-11.4": false} {
		err := cleared(t.Context(), hosttest.Map{Stats: map[string]host.Stat{left: {}}}, all)
		if (err != nil) != want || want && (!strings.Contains(err.Error(), left) || hint.Of(err) == "") {
			t.Errorf("%s: %v", left, err)
		}
	}
}

// A swap that would change which options are read is refused, and names them.
func TestOptionsThatTheNextVersionDoesNotRead(t *testing.T) {
	var obs stack.Observation
	p := obs.New("process", "77")
	p.Set("engine", stack.Text("mysql"), "test")
	p.Set("own_mounts", stack.Bool(false), "test")
	seen := &stack.Stack{}
	seen.Add("process", obs)
	w := provision.Swap{Home: provision.Home{PID: 77, Version: "10.11.14"}, Stack: seen, To: product.Release{Flavor: product.MariaDB, Version: "11.8"}}
	for name, c := range map[string]struct{ environ, options, want string }{
		"nothing":      {"HOME=/nonexistent\x00MYSQL_GROUP_SUFFIX=\x00", "[mariadb-10.11]\n[mariadb]\nport=3307\n", ""},
		"a suffix":     {"MARIADB_GROUP_SUFFIX=.a\x00", "", "MARIADB_GROUP_SUFFIX"},
		"an older one": {"MYSQL_GROUP_SUFFIX=.a\x00", "", "MYSQL_GROUP_SUFFIX"},
		"a series":     {"", "[mariadb-10.11]\nport=3307\n", "/etc/mysql/my.cnf:2 port"},
	} {
		err := keepsOptions(t.Context(), hosttest.Map{Files: map[string]string{"/proc/77/environ": c.environ, "/etc/mysql/my.cnf": c.options}}, w)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if err := keepsOptions(t.Context(), hosttest.Map{}, w); err == nil {
		t.Error("an environment that nobody can read has no suffix")
	}
}

func TestSeriesOf(t *testing.T) {
	for text, want := range map[string]string{"11.8": "11.8", "10.11.14-MariaDB-0+deb12u2": "10.11", "11": "", "": ""} {
		if got := seriesOf(text); got != want {
			t.Errorf("%q is of the series %q, want %q", text, got, want)
		}
	}
}

func FuzzMark(f *testing.F) {
	f.Add("from 10.11.14\nnext 100\ngtid 0-1-7,3-2-5\n")
	f.Add("------------\nTrx id counter 4711\n")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := parseMark([]byte(text)); err == nil && (s.next < 0 || !strings.HasPrefix(text, "from ")) {
			t.Errorf("%q is %+v", text, s)
		}
		if n, err := parseCounter(text); err == nil && n < 0 {
			t.Errorf("%q counts %d", text, n)
		}
	})
}

// A new server that crashed is started again by its unit: the way back stops it although nobody listens.
func TestAServerThatCrashedIsStopped(t *testing.T) {
	s := (next{service: "mariadb"}).start().Switch
	if back := s.Undo; !s.Always || len(back) != 1 || strings.Join(back[0].Argv[len(back[0].Argv)-2:], " ") != "sh mariadb" || !strings.HasPrefix(back[0].Argv[2], "service ") {
		t.Errorf("always %v: %+v", s.Always, back)
	}
}

// Somebody has exchanged the packages by hand, so that nothing seems left to be taken back: the data come back all the same, before what
// was kept of them is removed.
func TestTheDataComeBackWhateverThePackagesAre(t *testing.T) {
	m := newMounted(t)
	m.data = filepath.Join(m.dir, "plain")
	m.fill(m.data, "old")
	n := next{dir: m.dir, server: server{home: provision.Home{Version: "10.11.14"}, places: []place{{m.data, m.kept, "plain.since-11.8"}}}}
	up := n.upgrade()
	up.Switch.Do = change.Commands([]string{"sh", "-c", `echo "from 10.11.14" >"$1"; for f in a b c; do printf new >"$2/shop/$f"; done`, "sh", filepath.Join(m.dir, mark), m.data})
	packages := change.Act{Switch: &change.Switch{On: "packages", Inspect: change.Inspection{File: filepath.Join(m.dir, "packages")}, After: "new", Exact: true,
		Do: change.Commands([]string{"sh", "-c", `echo new >"$1"`, "sh", filepath.Join(m.dir, "packages")}), Undo: n.putBack()}}
	d := host.NewLiveDoer(host.NewLive(host.LiveOptions{}))
	t.Cleanup(func() { d.Close() })
	k := change.NewExecutor(d, "test")
	k.Dir = filepath.Join(m.dir, "journal")
	step := provision.Step(stack.Ref{Kind: "mysql", Name: "3306"}, "swap", []change.Act{{Copy: &change.Copy{From: m.data, To: m.kept}}, packages, up})
	step.Data = true
	out, err := k.Apply(t.Context(), change.Draft{Steps: []change.Prepared{step}}, change.ApplyOptions{})
	if err != nil || !m.has(m.data, "new") || !m.has(m.kept, "old") {
		t.Fatal(err)
	}
	for _, name := range []string{"packages", mark} {
		if err := os.Remove(filepath.Join(m.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.Undo(t.Context(), []int{out.Number}, change.UndoOptions{}); err != nil || !m.has(m.data, "old") || !m.has(filepath.Join(m.dir, "plain.since-11.8"), "new") {
		t.Errorf("%v; the data of before are there: %v, those since: %v", err, m.has(m.data, "old"), m.has(filepath.Join(m.dir, "plain.since-11.8"), "new"))
	}
}
