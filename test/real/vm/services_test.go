package vm

import (
	_ "embed" // the script
	"strings"
	"testing"
	"time"

	"plumb/test/program"
)

//go:embed guest/services.sh
var services string

// TestServicesOnSystemd changes a MariaDB that a real systemd runs: by a drop-in
// and a restart, on trial with systemd's timer, and to a value it does not start with.
func TestServicesOnSystemd(t *testing.T) {
	for _, release := range Releases() {
		t.Run(release, func(t *testing.T) {
			m := Open(t, release)
			plumb := program.ForTest(t)
			r := m.Do(t, Script{In: []string{plumb.Path}, Line: services, Systemd: true, Live: watched(t), Deadline: 20 * time.Minute})
			text := string(r.Output)
			t.Logf("booted in %v, all took %v", r.Boot, r.Took)
			first := "\nundone: " + lineOf(text, "first: ") + ", drop-in: \n"
			for _, want := range []string{"LimitNOFILE=40000", "\nfixed: 40000, pid: 1\n", first,
				"\ntried: 41000, timer: 1\n", strings.Replace(first, "undone", "back", 1),
				"persists in /etc/mysql/mariadb.conf.d/zz-plumb.cnf", "\nconfirmed: 321\nrestarted: 321\n", "\nundone: 200, in the files: \n",
				"\ndown: failed\ncame back: active, in the files: \n"} {
				if !strings.Contains(text, want) {
					t.Errorf("no %q", want)
				}
			}
		})
	}
}

// lineOf gives what follows a word in its line.
func lineOf(text, word string) string {
	_, rest, _ := strings.Cut(text, word)
	line, _, _ := strings.Cut(rest, "\n")
	return line
}
