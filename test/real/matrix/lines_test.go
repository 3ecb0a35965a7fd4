package matrix

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plumb/internal/catalog"
	"plumb/internal/engine/mysql"
)

// lines asks the server's program which names it knows in option files: the old ones, which SHOW VARIABLES does not list, above all.
func (l *live) lines(t *testing.T) {
	if l.kind != "mysql" {
		t.Skip("PostgreSQL itself says which names it knows: see catalogue")
	}
	db, err := l.server.Open()
	must(t, err)
	defer db.Close()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", l.server.PID))
	must(t, err)
	argv := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
	i := slices.IndexFunc(argv, func(arg string) bool { return strings.HasPrefix(arg, "--defaults-file=") })
	if i < 0 {
		t.Fatalf("it was started by %q", argv)
	}
	knows(t, l.flavor, cell(query(t, db, "SELECT VERSION()")[0], 0), argv[:i])
	names := mysql.MySQLOptionless()
	if l.flavor == "mariadb" {
		names = nil
		for _, r := range query(t, db, "SELECT LOWER(VARIABLE_NAME) FROM information_schema.SYSTEM_VARIABLES WHERE COMMAND_LINE_ARGUMENT IS NULL") {
			names = append(names, cell(r, 0))
		}
	}
	optionless(t, l.flavor, names, argv[:i])
}

// optionless tries variables that no option sets, as MariaDB says itself, and Plumb of MySQL: the program knows none of the names, save those of
// MariaDB that Plumb knows to stand for options of their own. The option version only tells it.
func optionless(t *testing.T, flavor string, names, program []string) {
	t.Helper()
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "version" })
	args := []string{}
	for _, name := range names {
		args = append(args, "--loose-"+name+"=1")
	}
	out := asks(t, flavor, program, args...)
	for _, name := range names {
		apart := flavor == "mariadb" && mysql.OptionApart(name)
		if unknown := strings.Contains(out, "unknown variable 'loose-"+name+"=1'"); unknown == apart {
			t.Errorf("the program of %s knows an option %s: %t", flavor, name, !unknown)
		}
	}
	if len(names) < 20 {
		t.Errorf("%d variables: %q", len(names), names)
	}
}

// What the catalogue says of the MariaDB that is installed, its program says too.
func TestLinesOfTheInstalledServer(t *testing.T) {
	program, err := exec.LookPath("mariadbd")
	if err != nil {
		t.Skip("no mariadbd: apt-get install mariadb-server-core")
	}
	text, err := exec.Command(program, "--no-defaults", "--version").Output()
	must(t, err)
	_, version, _ := strings.Cut(string(text), "Ver ")
	knows(t, "mariadb", catalog.Numbers(version), []string{program})
}

// knows compares what the catalogue says of names in option files with what a program takes: one that it does not have ends its start,
// or is ignored. It lists those that it has, and goes on after others that begin with loose_.
func knows(t *testing.T, flavor, version string, program []string) {
	t.Helper()
	has := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z0-9-]+)`).FindAllStringSubmatch(runs(t, flavor, program, "--verbose", "--help"), -1) {
		has[strings.ReplaceAll(m[1], "-", "_")] = true
	}
	var args, gone []string
	for _, name := range slices.Sorted(maps.Keys(knobsOf(t, "mysql"))) {
		k := knobsOf(t, "mysql")[name].Knob
		switch {
		case !k.Has(flavor, version):
			gone = append(gone, name)
			args = append(args, "--loose-"+name+"=1")
		case !has[name] && k.Removed != "" && !slices.Contains(setAlone, name) && !strings.Contains(knobsOf(t, "mysql")[name].Doc, "with the plugin"):
			t.Errorf("%s %s has no option %s; the catalogue says that it does", flavor, version, name)
		}
	}
	out := asks(t, flavor, program, args...)
	for _, name := range gone {
		unknown := strings.Contains(out, "unknown variable 'loose-"+name+"=1'")
		if ignores := knobsOf(t, "mysql")[name].Knob.Ignores(flavor, version); ignores == unknown {
			t.Errorf("%s %s knows %s: %t; the catalogue says that it is gone, and ignored: %t", flavor, version, name, !unknown, ignores)
		}
	}
	if len(has) < 300 || len(gone) < 20 {
		t.Errorf("%d names are known, %d are gone", len(has), len(gone))
	}
}

// setAlone are variables of MariaDB that SET changes, or nobody: in an option file no version knows them.
var setAlone = []string{"tx_isolation", "tx_read_only", "large_page_size"}

// asks has a program read its arguments, and gives what it says of them.
func asks(t *testing.T, flavor string, program []string, args ...string) string {
	t.Helper()
	if flavor == "mariadb" {
		return runs(t, flavor, program, append(args, "--verbose", "--help")...)
	}
	return runs(t, flavor, program, append(args, "--validate-config", "--log-error-verbosity=2")...)
}

// runs runs a server's program that does not go on to serve.
func runs(t *testing.T, flavor string, program []string, args ...string) string {
	t.Helper()
	argv := slices.Concat(program, []string{"--no-defaults", "--user=root"})
	if flavor != "mariadb" {
		argv = append(argv, "--secure-file-priv=NULL")
	}
	argv = slices.Concat(argv, []string{"--datadir=" + t.TempDir()}, args)
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Errorf("%q: %v: %.2000s", args, err, out)
	}
	return string(out)
}
