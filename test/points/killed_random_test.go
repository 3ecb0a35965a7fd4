package points

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/test/mortal"
	"plumb/test/program"
	"plumb/test/sandbox"
)

// killing is a real server, and the real program that is killed at its work on it.
type killing struct {
	t      *testing.T
	bin    string
	state  string
	server *sandbox.Server
	name   string // of the server, as plumb says it
	id     string // of a proven point
	clone  string
	list   string // lists what the storage has
}

// TestKilledAtRandom kills plumb at random moments while it clones, drills and snapshots a real MariaDB. The next
// command cleans up and succeeds.
func TestKilledAtRandom(t *testing.T) {
	sandbox.NeedTime(t, "kills plumb twenty times at its work: make test-real does")
	dir := sandbox.Place(t)
	bin, err := program.Build(dir)
	must(t, err)
	t.Run("zfs-fuse", func(t *testing.T) {
		b := onPool(t, families[0])
		(&killing{t: t, bin: bin.Path, server: b.server, name: b.db(t, b.look(t)).String(), list: "zfs list -H -r -t all -o name " + b.pool.Name}).rounds(20)
	})
	t.Run("btrfs", func(t *testing.T) {
		b := sandbox.ForTest(t, "")
		top, err := b.Filesystem("fs", "btrfs", 1024, nil, "")
		sandbox.Need(t, err)
		out, err := exec.Command("sh", "-ec", fmt.Sprintf("chown 0:0 %[1]s; btrfs subvolume create %[1]s/db", top)).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for _, sub := range []string{"db", "db/data", "db/log"} {
			_, err := b.Mkdir(filepath.Join(top, sub))
			must(t, err)
		}
		must(t, os.Chown(filepath.Join(top, "db"), 0, 0))
		must(t, os.Chmod(filepath.Join(top, "db"), 0o755))
		s, err := families[0].start(t, b, filepath.Join(top, "db/data"), filepath.Join(top, "db/log"))
		sandbox.Need(t, err)
		must(t, s.Exec(families[0].tables...))
		bench := newBench(t, b, nil, s)
		(&killing{t: t, bin: bin.Path, server: s, name: bench.db(t, bench.look(t)).String(), list: "all=$(btrfs subvolume list " + top + "); echo \"$all\" | sed 's/.* path //'"}).rounds(20)
	})
}

// rounds kills each verb in its turn.
func (k *killing) rounds(n int) {
	t := k.t
	dir := sandbox.Directory(t, "killed")
	k.state, k.clone = filepath.Join(dir, "state"), filepath.Base(dir)
	must(t, k.server.Exec("INSERT INTO plumbtest.t (who, n) VALUES (1, 1)"))
	k.id = pointID.FindString(k.plumb("snapshot", k.name, "--drill"))
	verbs := [][]string{{"clone", k.id, "--name", k.clone}, {"drill", k.id}, {"snapshot", k.name}}
	took := make([]time.Duration, len(verbs))
	for i, verb := range verbs {
		began := time.Now()
		k.plumb(verb...)
		took[i] = time.Since(began)
		k.settled("undisturbed")
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d; undisturbed %v take %v", seed, []string{"clone", "drill", "snapshot"}, took)
	random, ended := rand.New(rand.NewPCG(seed, 0)), 0
	for i := range n {
		verb := verbs[i%len(verbs)]
		after := time.Duration(random.Int64N(int64(took[i%len(verbs)])))
		killed := k.kill(after, verb)
		what := fmt.Sprintf("round %d: %s, killed %v after %s", i, verb[0], killed, after.Round(time.Millisecond))
		t.Log(what)
		k.settled(what)
		if !killed {
			ended++
		}
	}
	if ended == n {
		t.Error("each time it had ended before it was killed")
	}
}

// kill starts plumb, and kills it after a time.
func (k *killing) kill(after time.Duration, verb []string) bool {
	c := exec.Command(k.bin, append(slices.Clone(verb), "--state", k.state)...)
	must(k.t, c.Start())
	timer := time.AfterFunc(after, func() { _ = c.Process.Signal(syscall.SIGKILL) })
	defer timer.Stop()
	return mortal.Killed(c.Wait())
}

// plumb runs it to its end, which must be a good one.
func (k *killing) plumb(args ...string) string {
	k.t.Helper()
	out, err := k.typed(args...)
	if err != nil {
		k.t.Fatalf("plumb %q: %v: %s", args, err, out)
	}
	return string(out)
}

// typed runs it, and again for as long as a command runs that a killed one has left.
func (k *killing) typed(args ...string) (out []byte, err error) {
	for {
		out, err = exec.Command(k.bin, append(slices.Clone(args), "--state", k.state)...).CombinedOutput()
		if !program.Awaits(out) {
			return out, err
		}
	}
}

// settled types what a person would, each of which must succeed, and looks what is left.
func (k *killing) settled(what string) {
	t := k.t
	t.Helper()
	if out, err := k.typed("clone", k.id, "--name", k.clone); err != nil && !strings.Contains(string(out), "there is a clone "+k.clone+" already") {
		t.Fatalf("%s: then a clone: %v: %s", what, err, out)
	}
	k.plumb("clone", "drop", k.clone, "--yes")
	k.plumb("drill", k.id)
	k.plumb("snapshot", k.name)
	out, err := k.typed("prune", "--keep", "last=2,verified=1", "--all-right", "100", "--yes")
	if ended, ok := err.(*exec.ExitError); err != nil && (!ok || ended.ExitCode() != 1) { // more than a quarter would go, and not 100
		t.Fatalf("%s: then a prune: %v: %s", what, err, out)
	}
	if left := k.left(); len(left) > 0 {
		t.Fatalf("%s: then these are left: %q", what, left)
	}
	must(t, k.server.Exec("INSERT INTO plumbtest.t (who, n) VALUES (2, 2)"))
}

var ofCopy = regexp.MustCompile(`plumb-clone-|/clone-|^clone-`)

// left lists what belongs to no point that is written down.
func (k *killing) left() (all []string) {
	listed := k.plumb("protect", "list", "--json")
	out, err := exec.Command("sh", "-ec", k.list).Output()
	must(k.t, err)
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		id := pointID.FindString(name)
		if ofCopy.MatchString(name) || id != "" && !strings.Contains(listed, id) {
			all = append(all, name)
		}
	}
	for _, pattern := range []string{k.state + "-copies/*", k.state + "/lab/*.book", k.state + "/clones/*.json", k.state + "/points/.*.json*",
		"/sys/fs/cgroup/*/plumb-" + k.clone, "/sys/fs/cgroup/*/plumb-drill-" + k.id} {
		found, err := filepath.Glob(pattern)
		must(k.t, err)
		all = append(all, found...)
	}
	mounts, err := os.ReadFile("/proc/mounts")
	must(k.t, err)
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, k.state+"-copies") {
			all = append(all, line)
		}
	}
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(k.t, err)
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), k.state+"-copies") {
			all = append(all, "process "+strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return all
}
