package main

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Settings and properties go through the shell as words.
func TestRowsAreWords(t *testing.T) {
	word := regexp.MustCompile(`^[A-Za-z0-9_.=-]+$`)
	seen := map[string]bool{}
	for _, r := range rows() {
		if seen[r.name] || seen[r.title()] {
			t.Errorf("%s is listed twice", r.name)
		}
		seen[r.name], seen[r.title()] = true, true
		for _, w := range slices.Concat([]string{r.name, r.engine, r.storage}, r.properties, r.arguments()) {
			if !word.MatchString(w) {
				t.Errorf("%s: %q is no word", r.name, w)
			}
		}
		if (r.storage == "zfs") != (r.record != "") || r.storage != "zfs" && r.properties != nil {
			t.Errorf("%s: records and properties belong to zfs", r.name)
		}
		if !slices.Contains([]string{"mariadb", "mysql", "postgres"}, r.engine) || (r.engine == "mysql") != (r.release == sid) || !slices.Contains([]string{"ext4", "xfs", "zfs"}, r.storage) || !slices.Contains([]string{bookworm, trixie, sid}, r.release) {
			t.Errorf("%+v", r)
		}
		if strings.Contains(r.title(), "  ") || strings.HasPrefix(r.title(), " ") {
			t.Errorf("title %q", r.title())
		}
	}
}

func TestChosen(t *testing.T) {
	all, err := chosen("")
	ok(t, err)
	some, err := chosen("postgres-*")
	ok(t, err)
	if len(all) != len(rows()) || len(some) == 0 || len(some) >= len(all) {
		t.Errorf("%d of %d", len(some), len(all))
	}
	for _, bad := range []string{"nothing", "["} {
		if _, err := chosen(bad); err == nil {
			t.Errorf("%q was chosen", bad)
		}
	}
}

// The shell reads every script, and what was quoted comes out as it was.
func TestScript(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	for _, r := range rows() {
		for _, what := range []string{"prepare", "serve", "verify"} {
			text := r.script(what, 12)
			if !strings.HasSuffix(text, "\n"+what+"\n") || !strings.Contains(text, "RECORDS='12'\n") {
				t.Errorf("%s %s:\n%s", r.name, what, text[:200])
			}
		}
	}
	cmd := exec.Command(bash, "-n")
	cmd.Stdin = strings.NewReader(rows()[0].script("verify", 0))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if check, err := exec.LookPath("shellcheck"); err == nil {
		if out, err := exec.Command(check, "guest.sh").CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	const odd = "it's a $HOME \\ `x`"
	out, err := exec.Command(bash, "-c", "printf %s "+quote(odd)).Output()
	if err != nil || string(out) != odd {
		t.Errorf("%q, %v", out, err)
	}
}

// A script whose words changed makes other images, and its trials are counted
// anew.
func TestHash(t *testing.T) {
	a := rows()[0]
	b := a
	b.settings = append(slices.Clone(b.settings), "--x=1")
	c := a
	c.release = bookworm
	if a.hash() != rows()[0].hash() || a.hash() == b.hash() || a.hash() == c.hash() {
		t.Error(a.hash(), b.hash(), c.hash())
	}
}
