package mysql

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/host/taped"
	"plumb/internal/stack"
	"plumb/internal/tape"
	"plumb/test/sandbox"
)

// waits is what a rogue does: nothing, until it is killed.
const waits = "while :; do read -t 1000 x <> <(:); done"

// collectFromRogue records what the probe reads of a process of nobody that is
// called mysqld and names an option file.
func collectFromRogue(t *testing.T, file string) (*tape.Tape, stack.Observation) {
	t.Helper()
	args := []string{"--defaults-file=" + file}
	pid := sandbox.Rogue(t, "mysqld", waits, args...)
	live := host.NewLive(host.LiveOptions{})
	t.Cleanup(func() { live.Close() })
	rec := taped.NewRecorder(host.NewCached(live))
	seen := running(strconv.Itoa(pid), append([]string{"mysqld"}, args...), []string{})
	obs, err := NewProbe(hosttest.Catalog(t), nil).Collect(t.Context(), rec, seen)
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := rec.Tape()
	if err != nil {
		t.Fatal(err)
	}
	return recorded, obs
}

func put(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
	return name
}

// Anybody can start a process called mysqld and name what root alone may read.
func TestARogueReadsNothingThroughUs(t *testing.T) {
	dir := sandbox.Open(t)
	const marker = "only-root-may-read-this"
	secret := put(t, dir+"/secret", "[mysqld]\nsocket="+marker+"\n", 0o600)
	if err := os.Symlink(secret, dir+"/link"); err != nil {
		t.Fatal(err)
	}
	shut := filepath.Join(dir, "shut")
	if err := os.Mkdir(shut, 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, shut+"/"+marker+".cnf", "[mysqld]\nport=1\n", 0o644)
	file := put(t, dir+"/my.cnf", fmt.Sprintf("[mysqld]\nport=3399\n!include %s\n!include %s/link\n!includedir %s\n!include /etc/shadow\n", secret, dir, shut), 0o644)
	recorded, obs := collectFromRogue(t, file)
	for _, e := range recorded.Entries {
		if strings.Contains(fmt.Sprint(e.Of, e.Value, e.Says), marker) || e.Text != nil && strings.Contains(string(*e.Text), marker) {
			t.Errorf("on the tape: %s %v", e.Op, e.Of)
		}
	}
	said := fmt.Sprint(obs.Gaps)
	for _, name := range []string{secret, dir + "/link", shut, "/etc/shadow"} {
		if !strings.Contains(said, name) {
			t.Errorf("no gap tells of %s: %s", name, said)
		}
	}
	if db := obs.Things[0]; db.Facts["option_files"].Value.String() == "" {
		t.Error("its own option file was not read")
	}
}

// However many options a file has, and however often it is included, a
// look costs some megabytes.
func TestOptionFilesWithoutEnd(t *testing.T) {
	dir := sandbox.Open(t)
	big := put(t, dir+"/big.cnf", "[mysqld]\n"+strings.Repeat("a=b\n", 2<<20), 0o644)
	var many strings.Builder
	many.WriteString("[mysqld]\n")
	for i := range 200 {
		name := fmt.Sprintf("%s/%d.cnf", dir, i)
		if err := os.Symlink(big, name); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&many, "!include %s\n!include %s\n", name, big)
	}
	for name, file := range map[string]string{
		"one file":              big,
		"many":                  put(t, dir+"/many.cnf", many.String(), 0o644),
		"includes":              put(t, dir+"/includes.cnf", "[mysqld]\n"+strings.Repeat("!include /nowhere\n", 400_000), 0o644),
		"other files":           put(t, dir+"/others.cnf", numbered("!include /nowhere/%d\n", 300_000), 0o644),
		"directories":           put(t, dir+"/dirs.cnf", numbered("!includedir /usr/lib/../lib/./%d/..\n", 100_000), 0o644),
		"includes of itself":    put(t, dir+"/self.cnf", "[mysqld]\n"+strings.Repeat("!include "+dir+"/self.cnf\n", 50_000), 0o644),
		"comments, and nothing": put(t, dir+"/comments.cnf", strings.Repeat("#\n", 4<<20), 0o644),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			recorded, obs := collectFromRogue(t, file)
			runtime.ReadMemStats(&after)
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 200 {
				t.Errorf("it took %d MiB", took)
			}
			if n := len(recorded.Entries); n > 1000 {
				t.Errorf("the tape has %d entries", n)
			}
			if n := len(obs.Gaps); n == 0 || n > 300 {
				t.Errorf("%d gaps", n)
			}
		})
	}
}

func numbered(form string, n int) string {
	var b strings.Builder
	b.WriteString("[mysqld]\n")
	for i := range n {
		fmt.Fprintf(&b, form, i)
	}
	return b.String()
}
