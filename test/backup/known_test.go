package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"

	"plumb/internal/backup/known"
	"plumb/internal/host/hosttest"
	"plumb/internal/rule"
	"plumb/internal/stack"
	"plumb/knowledge"
	"plumb/test/namespace"
	"plumb/test/program"
	"plumb/test/sandbox"
)

// guarded is a real server that is backed up with what Plumb writes down in its usual directory, which only
// this test sees: its commands have mounts of their own.
type guarded struct {
	t              *testing.T
	box            *sandbox.Box
	server         *sandbox.Server
	lib, key, name string // key is a directory with the key and its recipient
	rules          *rule.Base
	more           []string // flags of the store
	n              int
}

func newGuarded(t *testing.T) *guarded { t.Helper(); return newGuardedOn(t, "ext4", 300, "") }

// newGuardedOn has the server on a filesystem of a kind and a size, whose top is root's alone.
func newGuardedOn(t *testing.T, fstype string, megabytes int, settings string) *guarded {
	t.Helper()
	sandbox.NeedLong(t, "starts real servers: run without -short")
	if out, err := exec.Command("unshare", "--mount", "--propagation", "private", "true").CombinedOutput(); err != nil { // in a chroot, for example
		t.Skipf("no mounts of its own can be had here: %s", out)
	}
	box := sandbox.ForTest(t, "")
	sandbox.NeedMount(t, box.Dir)
	g := &guarded{t: t, box: box, lib: t.TempDir(), key: t.TempDir()}
	vol, err := box.Filesystem("vol", fstype, megabytes, nil, "")
	sandbox.Need(t, err)
	must(t, os.Mkdir(vol+"/backups", 0o700))
	data, err := box.Mkdir(vol + "/data")
	must(t, err)
	must(t, errors.Join(os.Chown(vol, 0, 0), os.Chmod(vol, 0o755)))
	g.server, err = box.MySQL(sandbox.MySQLOptions{Datadir: data, Port: sandbox.FreePort(t), Settings: "innodb_log_file_size=16M\n" + settings})
	sandbox.Need(t, err)
	must(t, g.server.Exec("CREATE DATABASE d", "CREATE TABLE d.t (i INT)", "INSERT INTO d.t VALUES (1)"))
	k, err := age.GenerateX25519Identity()
	must(t, err)
	must(t, os.WriteFile(g.key+"/key.txt", []byte(k.String()+"\n"), 0o600))
	must(t, os.WriteFile(g.key+"/recipients", []byte(k.Recipient().String()+"\n"), 0o600))
	cat := hosttest.Catalog(t)
	g.rules, err = rule.Load(knowledge.FS, cat)
	must(t, err)
	g.name = g.serverOf(g.server)
	return g
}

// plumb runs it, with the directory of this test as /var/lib/plumb.
func (g *guarded) plumb(code int, args ...string) string {
	g.t.Helper()
	const apart = `mount -t tmpfs none /var/lib && mkdir /var/lib/plumb && mount --bind "$0" /var/lib/plumb && exec "$@"`
	cmd := exec.Command("unshare", append([]string{"--mount", "--propagation", "private", "sh", "-c", namespace.LetGo(g.box.Dir) + apart, g.lib, built.Path}, args...)...)
	cmd.Dir = "/" // no key lies there
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if got := cmd.ProcessState.ExitCode(); got != code {
		g.t.Fatalf("plumb %s ended with %d, %v, and should with %d\n%s%s", strings.Join(args, " "), got, err, code, out, errs.String())
	}
	return string(out) + errs.String()
}

func (g *guarded) look() *stack.Stack {
	g.t.Helper()
	var text json.RawMessage // without what was told beside it
	must(g.t, json.NewDecoder(strings.NewReader(g.plumb(0, "stack", "--json"))).Decode(&text))
	program.Keep(g.t, text)
	var doc struct{ Stack *stack.Stack }
	must(g.t, json.Unmarshal(text, &doc))
	return doc.Stack
}

func (g *guarded) serverOf(s *sandbox.Server) string {
	g.t.Helper()
	for _, db := range g.look().OfKind(s.Engine) {
		if slices.Contains(db.Links["process"], stack.Ref{Kind: "process", Name: fmt.Sprint(s.PID)}) {
			return db.Ref.String()
		}
	}
	g.t.Fatal("the server is not found")
	return ""
}

// backup backs the server up, as a dump.
func (g *guarded) backup(code int, recipients string, to ...string) string {
	g.t.Helper()
	g.n++
	args := []string{"backup", "--command", fmt.Sprintf("echo %d; cat %s/vol/data/ibdata1", g.n, g.box.Dir), "--server", g.name, "--recipients-file", recipients}
	for _, one := range to {
		args = append(args, "--to", one)
	}
	return g.plumb(code, append(args, g.more...)...)
}

// says wants of each rule that it says this of the server's backups.
func (g *guarded) says(want map[string]rule.Outcome) {
	g.t.Helper()
	g.saysOf(stack.Ref{Kind: "backups", Name: g.name}, want)
}

// saysOf wants of each rule that it says this of a thing.
func (g *guarded) saysOf(of stack.Ref, want map[string]rule.Outcome) {
	g.t.Helper()
	seen := g.look()
	if seen.Find(of) == nil {
		g.t.Fatalf("nothing is known of %s", of)
	}
	all := g.rules.Judge(seen)
	for id, outcome := range want {
		id = "protect/" + id
		found := slices.DeleteFunc(slices.Clone(all), func(e rule.Evaluation) bool { return e.Rule.ID != id || !slices.Contains(e.Things, of) })
		fires := slices.ContainsFunc(found, func(e rule.Evaluation) bool { return e.Outcome == rule.Fires })
		unknown := slices.ContainsFunc(found, func(e rule.Evaluation) bool { return e.Outcome == rule.Unknown })
		if fires != (outcome == rule.Fires) || unknown != (outcome == rule.Unknown) {
			for _, e := range found {
				g.t.Logf("%s is %v of %v, evidence %v, missing %v", id, e.Outcome, e.Things, e.Evidence, e.Missing)
			}
			g.t.Errorf("%s is not %v", id, outcome)
		}
	}
}

// aged puts what is known of the backups back in time: the ends that are there become the last of several, a day apart.
func (g *guarded) aged(ends int, last time.Duration) {
	g.t.Helper()
	files, err := filepath.Glob(g.lib + "/backups/known/*.json")
	must(g.t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(g.t, err)
		var p known.Place
		must(g.t, json.Unmarshal(text, &p))
		s := &p.Servers[0]
		s.Ends = nil
		for n := range ends {
			s.Ends = append(s.Ends, time.Now().UTC().Add(-last-time.Duration(ends-1-n)*24*time.Hour))
		}
		s.First, s.Newest = s.Ends[0], s.Ends[ends-1]
		text, err = json.Marshal(p)
		must(g.t, err)
		must(g.t, os.WriteFile(file, text, 0o644))
	}
}

// TestBackupsAreGoodEnough backs a real server up in ways that are not good enough, and has check find each; the healthy twin is
// the same server, backed up better.
func TestBackupsAreGoodEnough(t *testing.T) {
	g := newGuarded(t)
	if things := g.look().OfKind("backups"); len(things) > 0 {
		t.Fatalf("nobody made a backup, and %v is known", things[0].Ref)
	}
	beside := "file://" + g.box.Dir + "/vol/backups"
	g.backup(0, g.key+"/recipients", beside)
	g.says(map[string]rule.Outcome{"backups-on-data-disks": rule.Fires, "backups-on-this-host": rule.Fires, "backup-key-here": rule.Fires,
		"backups-in-one-place": rule.Quiet, "backup-late": rule.Quiet, "backup-not-restored": rule.Quiet})

	// Elsewhere: in memory, which no disk holds, for want of a second disk here; and the key is taken away.
	ram := t.TempDir()
	other := t.TempDir()
	must(t, exec.Command("mount", "-t", "tmpfs", "-o", "size=100m", "none", other).Run())
	unmount := sync.OnceValue(exec.Command("umount", other).Run)
	t.Cleanup(func() { must(t, unmount()) })
	must(t, os.WriteFile(ram+"/recipients", read(t, g.key+"/recipients"), 0o600))
	must(t, os.RemoveAll(g.lib))
	must(t, os.Mkdir(g.lib, 0o700))
	g.backup(0, ram+"/recipients", "file://"+other)
	g.says(map[string]rule.Outcome{"backups-on-data-disks": rule.Quiet, "backups-on-this-host": rule.Fires, "backup-key-here": rule.Quiet})

	// Two days after the last of six that were a day apart; then one more.
	g.aged(6, 50*time.Hour)
	g.says(map[string]rule.Outcome{"backup-late": rule.Fires})
	g.backup(0, ram+"/recipients", "file://"+other)
	g.says(map[string]rule.Outcome{"backup-late": rule.Quiet})

	// The disk is not mounted, and its mount point is empty: it is not written to, and nobody knows where the copies are now.
	must(t, unmount())
	said := g.backup(3, ram+"/recipients", "file://"+other)
	if !strings.Contains(said, "had backups of this host, but is empty now") {
		t.Error(said)
	}
	if left, err := os.ReadDir(other); err != nil || len(left) > 0 {
		t.Errorf("%v is written below the mount point, %v", left, err)
	}
	g.says(map[string]rule.Outcome{"backups-on-this-host": rule.Unknown})
	g.backup(3, ram+"/recipients", "file://"+other, "file://"+g.box.Dir+"/vol/backups/none")
	must(t, os.Mkdir(g.box.Dir+"/vol/more", 0o700))
	if said := g.backup(3, ram+"/recipients", "file://"+other, "file://"+g.box.Dir+"/vol/more"); !strings.Contains(said, "does not have this backup") {
		t.Error(said)
	}
	// Somebody removes all, and a list sees it.
	must(t, os.RemoveAll(g.box.Dir+"/vol/more"))
	must(t, os.Mkdir(g.box.Dir+"/vol/more", 0o700))
	g.plumb(0, "backup", "list", "--from", "file://"+other, "--note")
	g.plumb(0, "backup", "list", "--from", "file://"+g.box.Dir+"/vol/more", "--note")
	g.says(map[string]rule.Outcome{"backup-late": rule.Fires, "backups-on-this-host": rule.Quiet, "backups-on-data-disks": rule.Quiet, "backup-key-here": rule.Quiet})
}

// TestBackupsInBuckets does so with a real server of S3.
func TestBackupsInBuckets(t *testing.T) {
	sandbox.NeedTime(t, "a server of S3 is built in two minutes: make test-real does")
	g := newGuarded(t)
	s := g.box.S3(t)
	t.Setenv("AWS_ACCESS_KEY_ID", s.Key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s.Secret)
	g.more = []string{"--endpoint", s.Endpoint}
	url := "s3://" + s.Bucket + "/db1"
	g.backup(0, g.key+"/recipients", url)
	g.says(map[string]rule.Outcome{"backups-in-one-place": rule.Fires, "backups-on-this-host": rule.Quiet, "backups-on-data-disks": rule.Quiet})
	g.backup(0, g.key+"/recipients", url, url+"-second") // another prefix is no other place
	g.says(map[string]rule.Outcome{"backups-in-one-place": rule.Fires})
	g.backup(0, g.key+"/recipients", url, "file://"+g.box.Dir+"/vol/backups")
	g.says(map[string]rule.Outcome{"backups-in-one-place": rule.Quiet, "backups-on-this-host": rule.Quiet, "backups-on-data-disks": rule.Quiet})
	files, err := filepath.Glob(g.lib + "/backups/known/*.json")
	must(t, err)
	if len(files) != 3 {
		t.Errorf("%d places are known", len(files))
	}
	for _, name := range files { // neither login nor secret is written down
		if text := string(read(t, name)); strings.Contains(text, s.Secret) || strings.Contains(text, `"`+s.Key+`"`) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	return text
}
