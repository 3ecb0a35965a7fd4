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
	ask, quiet := []string{"--verbose", "--help"}, []string{"--no-defaults", "--user=root"}
	if flavor != "mariadb" {
		ask, quiet = []string{"--validate-config", "--log-error-verbosity=2"}, append(quiet, "--secure-file-priv=NULL")
	}
	run := func(args ...string) string {
		argv := slices.Concat(program, quiet, []string{"--datadir=" + t.TempDir()}, args)
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		if err != nil {
			t.Errorf("%q: %v: %.2000s", args, err, out)
		}
		return string(out)
	}
	has := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z0-9-]+)`).FindAllStringSubmatch(run("--verbose", "--help"), -1) {
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
	out := run(slices.Concat(args, ask)...)
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
