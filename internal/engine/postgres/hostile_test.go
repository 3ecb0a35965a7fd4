package postgres

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/host/taped"
	"plumb/internal/stack"
	"plumb/internal/tape"
	"plumb/test/sandbox"
)

// collectFromRogue records what the probe reads of a process of nobody that is
// called postgres and works in a directory.
func collectFromRogue(t *testing.T, dir string) (*tape.Tape, stack.Observation) {
	t.Helper()
	pid := sandbox.Rogue(t, "postgres", "cd "+dir+"; while :; do read -t 1000 x <> <(:); done")
	name := strconv.Itoa(pid)
	for at := ""; at != dir; time.Sleep(time.Millisecond) {
		at, _ = os.Readlink("/proc/" + name + "/cwd")
	}
	process := stack.NewThing("process", name)
	for fact, v := range map[string]stack.Value{"engine": stack.Text("postgres"), "uid": stack.Int(sandbox.Nobody), "own_mounts": stack.Bool(false),
		"args": stack.List([]string{"postgres", "-D", dir}), "listen": stack.List([]string{"unix:" + dir + "/.s.PGSQL.5432"})} {
		process.Set(fact, v, "test")
	}
	var seen stack.Stack
	seen.Add("process", stack.Observation{Things: []*stack.Thing{process}})
	live := host.NewLive(host.LiveOptions{})
	t.Cleanup(func() { live.Close() })
	rec := taped.NewRecorder(host.NewCached(live))
	cat := hosttest.Catalog(t)
	obs, err := NewProbe(cat, nil).Collect(t.Context(), rec, &seen)
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := rec.Tape()
	if err != nil {
		t.Fatal(err)
	}
	return recorded, obs
}

func put(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

// Whatever a data directory's files are links to, nothing is read through
// them that the server's user may not read.
func TestARogueReadsNothingThroughUs(t *testing.T) {
	for _, file := range []string{"postgresql.conf", "postgresql.auto.conf", "postmaster.pid", "PG_VERSION", "included"} {
		t.Run(file, func(t *testing.T) {
			dir := sandbox.Open(t)
			const marker = "only-root-may-read-this"
			put(t, dir+"/secret", "a = '"+marker+"'\n2\n3\n4\n"+marker+"\n", 0o600)
			if file != "postgresql.conf" {
				put(t, dir+"/postgresql.conf", "include_if_exists 'included'\n", 0o644)
			}
			if err := os.Symlink("secret", dir+"/"+file); err != nil {
				t.Fatal(err)
			}
			recorded, obs := collectFromRogue(t, dir)
			asked := false
			for _, e := range recorded.Entries {
				asked = asked || strings.HasSuffix(string(e.Of[0]), "/"+file)
				if e.Text != nil && strings.Contains(string(*e.Text), marker) {
					t.Errorf("on the tape: %s %v", e.Op, e.Of)
				}
			}
			if !asked {
				t.Errorf("%s was not looked for", file)
			}
			if strings.Contains(fmt.Sprint(obs), marker) {
				t.Errorf("it is told: %+v", obs)
			}
		})
	}
}

// However many settings a file has, and however often it is included, a look
// costs some megabytes.
func TestSettingsWithoutEnd(t *testing.T) {
	for name, text := range map[string]string{
		"settings": strings.Repeat("a=b\n", 2<<20),
		"no form":  strings.Repeat("!\n", 4<<20),
		"includes": strings.Repeat("include 'big.conf'\n", 200),
		"missing":  strings.Repeat("include '/nowhere'\n", 200_000),
		"itself":   strings.Repeat("include 'postgresql.conf'\n", 200_000),
		"a tree":   strings.Repeat("include_dir '/usr/lib'\n", 200_000),
	} {
		t.Run(name, func(t *testing.T) {
			dir := sandbox.Open(t)
			put(t, dir+"/postgresql.conf", text, 0o644)
			put(t, dir+"/big.conf", strings.Repeat("a=b\n", 2<<20), 0o644)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			recorded, obs := collectFromRogue(t, dir)
			runtime.ReadMemStats(&after)
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 200 {
				t.Errorf("it took %d MiB", took)
			}
			if n := len(recorded.Entries); n > 1000 {
				t.Errorf("the tape has %d entries", n)
			}
			for _, thing := range obs.Things {
				if bad, ok := thing.Facts["config_errors"].Value.List(); ok && len(bad) > maxBad {
					t.Errorf("%d wrong lines are told", len(bad))
				}
			}
		})
	}
}
