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
	var may []string // have no option
	ask := "SELECT LOWER(VARIABLE_NAME) FROM performance_schema.global_variables"
	if l.flavor == "mariadb" {
		ask = "SELECT LOWER(VARIABLE_NAME) FROM information_schema.SYSTEM_VARIABLES WHERE COMMAND_LINE_ARGUMENT IS NULL"
	}
	for _, r := range query(t, db, ask) {
		if name := cell(r, 0); name != "version" && (l.flavor == "mariadb" || mysql.Optionless(name)) { // that option only tells it
			may = append(may, name)
		}
	}
	optionless(t, l.flavor, may, argv[:i])
}

// optionless tries variables that may have no option, one by one: whether the program knows one of the name is what Plumb says. MySQL does not tell
// which those are, so only what Plumb says is tried there.
func optionless(t *testing.T, flavor string, may, program []string) {
	t.Helper()
	for _, name := range may {
		argv := slices.Concat(program, []string{"--no-defaults", "--user=root", "--datadir=" + t.TempDir(), "--" + name + "=1"}, asking(flavor))
		out, _ := exec.Command(argv[0], argv[1:]...).CombinedOutput()                                                                                                       // what is no value is an error too
		if unknown := strings.Contains(string(out), "unknown variable '"+name+"=1'"); unknown != mysql.Optionless(name) && name != "innodb_purge_rseg_truncate_frequency" { // an option of 10.11, and of 11.4 no more
			t.Errorf("the program of %s knows an option %s: %t", flavor, name, !unknown)
		}
	}
	if len(may) < 20 {
		t.Errorf("%d variables: %q", len(may), may)
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
	return runs(t, flavor, program, append(args, asking(flavor)...)...)
}

// asking has a program read its arguments and end.
func asking(flavor string) []string {
	if flavor == "mariadb" {
		return []string{"--verbose", "--help"}
	}
	return []string{"--validate-config", "--log-error-verbosity=2", "--secure-file-priv=NULL"}
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
