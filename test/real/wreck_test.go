package real

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plumb/internal/rule"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// wreck is a host with many severe things wrong at once. Rules of danger and
// outage are seldom met in peace: here each of them meets what it warns of.
type wreck struct {
	name  string
	long  string // why it needs make test-real, if it needs more than time
	quick bool   // make test has time for it
	start func(t *testing.T, b *sandbox.Box)
	fires []string // rules that must fire somewhere on this host
}

func wrecks() []wreck {
	return slices.Concat(mariadbWrecks(), postgresWrecks(), zfsWrecks(), filesystemWrecks(), fetchedWrecks())
}

func TestWrecks(t *testing.T) {
	for _, w := range wrecks() {
		t.Run(w.name, func(t *testing.T) {
			if !w.quick {
				sandbox.NeedTime(t, cmp.Or(w.long, "one wreck of each kind is enough here")+": make test-real runs it")
			}
			w.start(t, box(t))
			s := look(t)
			for _, id := range w.fires {
				firesSomewhere(t, s, id)
			}
		})
	}
}

// firesSomewhere demands that a rule fires for at least one thing.
func firesSomewhere(t *testing.T, s *stack.Stack, id string) {
	t.Helper()
	if shared.rules.Rule(id) == nil {
		t.Errorf("there is no rule %s", id)
		return
	}
	found := verdicts(s, id, stack.Ref{})
	if slices.ContainsFunc(found, func(v rule.Evaluation) bool { return v.Outcome == rule.Fires }) {
		return
	}
	t.Errorf("%s does not fire", id)
	for _, v := range found {
		t.Errorf("  %v: %v, missing %v", v.Things, v.Outcome, v.Missing)
	}
}

// TestSoundServers is the wrecks' twin: two servers with nothing severe wrong.
// No rule that a wreck must meet fires, and those about the servers are not
// unknown.
func TestSoundServers(t *testing.T) {
	b := box(t)
	maria := mysqlOn(t, b, volume(t, b, "ext4"), "log_bin\nsync_binlog=1\nbinlog_expire_logs_seconds=86400\nmax_connections=100\n")
	pg := postgresOn(t, b, "", "")
	s := look(t)
	own := []stack.Ref{refOf(t, s, maria), refOf(t, s, pg)}
	for _, w := range wrecks() {
		for _, id := range w.fires {
			for _, v := range verdicts(s, id, stack.Ref{}) {
				server := strings.HasPrefix(id, "mysql/") || strings.HasPrefix(id, "postgres/")
				if ofThisTest(v, b, own) && (v.Outcome == rule.Fires || v.Outcome == rule.Unknown && server) {
					t.Errorf("%s is %v for %v: %v, missing %v", id, v.Outcome, v.Things, v.Evidence, v.Missing)
				}
			}
		}
	}
}

// ofThisTest leaves out what the machine itself brings, such as its own disk, and the servers of other
// tests, which run beside this one.
func ofThisTest(v rule.Evaluation, b *sandbox.Box, own []stack.Ref) bool {
	return slices.ContainsFunc(v.Things, func(r stack.Ref) bool {
		return slices.Contains(own, r) || strings.HasPrefix(r.Name, b.Dir)
	})
}

// run runs a command that the test needs.
func run(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v: %s", argv, err, out)
	}
	return strings.TrimSpace(string(out))
}

// fill takes a part of the room of a filesystem, and of its inodes.
func fill(t *testing.T, dir string, percent, files int) {
	t.Helper()
	run(t, "sh", "-c", `
		set -e
		size=$(df --output=size -k "$1" | tail -1); used=$(df --output=used -k "$1" | tail -1)
		more=$((size * $2 / 100 - used))
		[ "$more" -le 0 ] || fallocate -l "${more}K" "$1/ballast"
		[ "$3" -eq 0 ] || { mkdir "$1/many" && cd "$1/many" && seq "$3" | xargs touch; }`,
		"sh", dir, strconv.Itoa(percent), strconv.Itoa(files))
}

// ballast writes a file of a certain size, for where fallocate cannot.
func ballast(t *testing.T, name string, megabytes int) {
	t.Helper()
	run(t, "dd", "if=/dev/urandom", "of="+name, "bs=1M", "count="+strconv.Itoa(megabytes), "conv=fsync", "status=none")
}

// patterned writes a file whose blocks are known again, and gives how they begin.
func patterned(t *testing.T, name string, megabytes int) []byte {
	t.Helper()
	known := bytes.Repeat([]byte("plumb's ballast "), 256)
	f, err := os.Create(name)
	check(t, err)
	_, err = f.Write(bytes.Repeat(known, megabytes<<20/len(known)))
	check(t, errors.Join(err, f.Sync(), f.Close()))
	return known
}

// damageBelow writes over some blocks of a patterned file in the image of the
// disk they lie on. Only the file's: damage done blindly may hit what the
// filesystem needs to be mounted, or nothing at all.
func damageBelow(t *testing.T, image string, known []byte) {
	t.Helper()
	f, err := os.OpenFile(image, os.O_RDWR, 0)
	check(t, err)
	defer f.Close()
	part := make([]byte, 128<<10)
	damaged := 0
	for at := int64(0); damaged < 5; at += int64(len(part)) {
		n, err := f.ReadAt(part, at)
		if n < len(part) {
			t.Fatalf("%d of the file's blocks were found below it: %v", damaged, err)
		}
		if bytes.HasPrefix(part, known) {
			_, err := f.WriteAt([]byte("damage"), at+512)
			check(t, err)
			damaged++
		}
	}
}

// add appends to a file, such as an option file of a server that runs.
func add(t *testing.T, name, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	check(t, err)
	_, err = f.WriteString(text)
	check(t, err)
	check(t, f.Close())
}

// deviceOf gives the name of the device that a directory is mounted from.
func deviceOf(t *testing.T, dir string) string {
	t.Helper()
	return filepath.Base(run(t, "findmnt", "-n", "-o", "SOURCE", "--target", dir))
}

// wait waits for what comes of itself.
func wait(t *testing.T, what string, came func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !came(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never came: %s", what)
		}
	}
}
