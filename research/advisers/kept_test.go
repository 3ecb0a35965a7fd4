package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"plumb/research/trials"
	"plumb/test/program"
)

// TestKeep: the table of what is kept is the ledger's, without the cells that
// are not done.
func TestKeep(t *testing.T) {
	c := tried(t, "mariadb-*-gp3")
	fill(t, c.Ledger, c.first(t), 3, func(arm string) float64 { return 100 + 10*float64(len(arm)) }, 1000)
	want, err := c.table(t.Context())
	ok(t, err)
	ok(t, c.keep(t.Context()))
	c.Ledger, c.IsKept = "", true
	got, err := c.table(t.Context())
	ok(t, err)
	if got != want || !strings.Contains(got, "1 of 2 cells") {
		t.Errorf("the ledger's:\n%s\nof what is kept:\n%s", want, got)
	}
}

func TestKeepsNoCellThatIsNotDone(t *testing.T) {
	c := tried(t, "mariadb-rw-gp3")
	fill(t, c.Ledger, c.first(t), 2, func(string) float64 { return 50 }, 10)
	ok(t, c.keep(t.Context()))
	c.IsKept = true
	c.says(t, `\| mariadb-rw-gp3 \| not run \|`)
}

// TestKeptOfOtherArms: what was measured before a change of the arms does not count.
func TestKeptOfOtherArms(t *testing.T) {
	c := tried(t, "mariadb-rw-gp3")
	fill(t, c.Ledger, c.first(t), 3, func(string) float64 { return 50 }, 10)
	ok(t, c.keep(t.Context()))
	c.IsKept = true
	c.says(t, `\| mariadb-rw-gp3 \| 49\.8 `)
	ok(t, c.write(advised{"mariadb": {"innodb_buffer_pool_size": "500M"}}))
	c.says(t, `\| mariadb-rw-gp3 \| not run since its arms changed \|`)
}

func TestKeptDamaged(t *testing.T) {
	c := tried(t, "mariadb-rw-gp3")
	fill(t, c.Ledger, c.first(t), 3, func(string) float64 { return 50 }, 10)
	ok(t, c.keep(t.Context()))
	file := trials.Kept(c.Experiments).File(c.first(t))
	text, err := os.ReadFile(file)
	ok(t, err)
	lines := bytes.SplitAfter(text, []byte("\n"))
	lines[1] = lines[1][:len(lines[1])/2]
	ok(t, os.WriteFile(file, bytes.Join(lines, nil), 0o644))
	c.IsKept = true
	_, err = c.table(t.Context())
	if err == nil || !strings.Contains(err.Error(), file+":2: ") {
		t.Errorf("%v", err)
	}
}

// TestPublishedTable: the contest's page shows what is kept, and nothing else. Where its lines are broken does not count.
func TestPublishedTable(t *testing.T) {
	const dir = "../../experiments/advisers"
	c := contest{Contest: trials.Contest{Experiments: dir, IsKept: true}}
	table, err := c.table(t.Context())
	ok(t, err)
	searches, err := c.searches(t.Context())
	ok(t, err)
	page, err := os.ReadFile(dir + "/README.md")
	ok(t, err)
	for _, want := range []string{table, searches} {
		if !strings.Contains(words(string(page)), words(want)) {
			t.Errorf("%s/README.md has another table than go run -C research ./advisers -table -kept:\n%s", dir, want)
		}
	}
}

func words(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestJobs(t *testing.T) {
	for name, test := range map[string]struct {
		trials.Contest
		want string
	}{
		"nothing":     {want: `^nothing to do`},
		"run of kept": {trials.Contest{IsKept: true, Job: trials.Job{Run: true}}, `^-kept is for -table alone`},
	} {
		t.Run(name, func(t *testing.T) {
			err := contest{Contest: test.Contest}.do(t.Context())
			if err == nil {
				t.Fatal("no error")
			}
			program.Reads(t, err.Error(), test.want)
		})
	}
}
