package points

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"plumb/internal/backup/known"
	"plumb/internal/host"
	"plumb/internal/rule"
	"plumb/internal/system/backups"
	"plumb/knowledge"
	"plumb/test/program"
	"plumb/test/sandbox"
)

// TestBackupProven backs up points of real servers, and has a server started on what comes back.
func TestBackupProven(t *testing.T) {
	for _, of := range families {
		t.Run(of.name, func(t *testing.T) { backupProven(t, of) })
	}
}

func backupProven(t *testing.T, of family) {
	sandbox.NeedTime(t, "a server is restored and started: make test-real")
	b := onPool(t, of)
	other, err := b.box.ZFSFuse(512)
	must(t, err)
	sandbox.VerifyAccount(t)
	dir := sandbox.Directory(t, "backup")
	key, err := age.GenerateX25519Identity()
	must(t, err)
	keys, store := filepath.Join(dir, "key.txt"), filepath.Join(dir, "store")
	must(t, os.WriteFile(keys, []byte(key.String()+"\n"), 0o600))
	must(t, os.Mkdir(store, 0o700))
	v := verbs{t, filepath.Join(dir, "state")}
	insert := strings.NewReplacer("?, ?", "1, 1", "$1, $2", "1, 1").Replace(of.insert)
	must(t, b.server.Exec(insert))
	doubt := map[string]string{"postgres": "taken with a doubt: synchronous_commit = off"}[of.name] // "": says always so
	if doubt != "" {
		must(t, b.server.Exec("ALTER SYSTEM SET synchronous_commit = off", "SELECT pg_reload_conf()"))
	}
	up := func() {
		id := pointID.FindString(v.typed(0, "snapshot", b.db(t, b.look(t)).String()))
		v.typed(0, "backup", id, "--to", "file://"+store, "--recipient", key.Recipient().String(), "--points", filepath.Join(v.state, "points"))
	}
	up()
	must(t, b.server.Exec(strings.Replace(insert, "1, 1", "1, 2", 1)))
	up() // what changed since
	says(t, v.typed(0, "backup", "list", "--from", "file://"+store), "needs 2", "of a point that is crash")

	j := newRestoreJudge(t, b, v, "file://"+store)
	j.wants("a backup of just now", rule.Quiet)
	j.note(func(s *known.Server) { s.First = s.First.Add(-25 * time.Hour) })
	j.wants("a day, and nobody has restored it", rule.Fires)

	out := v.typed(0, "verify", "--from", "file://"+store, "--identity", keys, "--restore", other.Name)
	says(t, out, "it started, and all checks passed", "recovered position", "has been removed", doubt)
	j.wants("it was restored", rule.Quiet)
	j.note(func(s *known.Server) { s.Restored = time.Time{} })
	j.wants("this host does not know it", rule.Fires)
	says(t, v.typed(0, "backup", "list", "--from", "file://"+store, "--note"), "a server started on it on")
	j.wants("it has heard of it", rule.Quiet)
	if left := datasetsOf(t, other); strings.Contains(left, "plumb-verify") {
		t.Errorf("left behind:\n%s", left)
	}
	v.typed(0, "restore", "--from", "file://"+store, "--identity", keys, "--into", other.Name+"/back")
	if there := datasetsOf(t, other); !strings.Contains(there, other.Name+"/back/") {
		t.Errorf("nothing is restored:\n%s", there)
	}
	v.typed(3, "verify", "--from", "file://"+store, "--restore", "none-of-ours", "--identity", keys)
}

// TestBackupProvenOnBtrfs does the same on btrfs, with a subvolume below the top.
func TestBackupProvenOnBtrfs(t *testing.T) {
	for _, of := range families {
		t.Run(of.name, func(t *testing.T) { provenOnBtrfs(t, of) })
	}
}

func provenOnBtrfs(t *testing.T, of family) {
	sandbox.NeedTime(t, "a server is restored and started: make test-real")
	b, v := onBtrfsOf(t, of, "db/data", "db/log")
	other := b.box.RootBtrfs(t, "other", 1024)
	sandbox.VerifyAccount(t)
	key, err := age.GenerateX25519Identity()
	must(t, err)
	dir := filepath.Dir(v.state)
	keys, store := filepath.Join(dir, "key.txt"), filepath.Join(dir, "store")
	must(t, os.WriteFile(keys, []byte(key.String()+"\n"), 0o600))
	must(t, os.Mkdir(store, 0o700))
	for i := range 3 {
		must(t, b.server.Exec(strings.NewReplacer("?, ?", fmt.Sprintf("1, %d", i), "$1, $2", fmt.Sprintf("1, %d", i)).Replace(of.insert)))
		id := pointID.FindString(v.typed(0, "snapshot", b.db(t, b.look(t)).String()))
		out := v.typed(0, "backup", id, "--to", "file://"+store, "--recipient", key.Recipient().String(), "--points", filepath.Join(v.state, "points"))
		if i > 0 {
			says(t, out, "/db:", "what changed since backup")
		}
	}
	from := []string{"--from", "file://" + store, "--identity", keys}
	killedProof(t, dir, other, append([]string{"verify", "--restore", other, "--state", v.state}, from...))
	out := v.typed(0, append([]string{"verify", "--restore", other}, from...)...)
	says(t, out, "it started, and all checks passed", "recovered position", "has been removed")
	if left := shell(t, "ls -A "+other+"; btrfs subvolume list "+other); strings.Trim(left, "\n") != ".plumb-points" {
		t.Errorf("left behind:\n%s", left)
	}
	says(t, v.typed(2, append([]string{"verify", "--restore", "tank"}, from...)...), "the backup is of btrfs")
	out = v.typed(0, append([]string{"restore", "--into", other + "/back", "--start", "back"}, from...)...)
	run := regexp.MustCompile(`socket in (\S+)`).FindStringSubmatch(out)
	if run == nil {
		t.Fatal("no server was started")
	}
	if rows := cell(t, b.socket(run[1], 5432), "SELECT COUNT(*) FROM plumbtest.t"); rows != "3" {
		t.Errorf("there are %s rows, and there were 3", rows)
	}
	v.typed(0, "clone", "drop", "back", "--yes")
	says(t, v.typed(3, append([]string{"restore", "--into", other + "/back"}, from...)...), "is there")
	if out := shell(t, "stat -c '%a %U' "+other+"/back; ls "+other+"/back; ls -A "+other); out != "700 root\ndb\n.plumb-points\nback\n" {
		t.Errorf("there is\n%s", out)
	}
	must(t, b.server.Exec(strings.NewReplacer("?, ?", "1, 4", "$1, $2", "1, 4").Replace(of.insert)))
	id := pointID.FindString(v.typed(0, "snapshot", b.db(t, b.look(t)).String()))
	v.typed(0, "prune", "--keep", "last=1", "--yes", "--all-right", "3") // and with it all that a backup could begin at
	out = v.typed(0, "backup", id, "--to", "file://"+store, "--recipient", key.Recipient().String(), "--points", filepath.Join(v.state, "points"))
	says(t, out, "This is a full backup: no increment to backup", "this host no longer has all of its snapshots")
	says(t, v.typed(0, append([]string{"verify", "--all", "--sample", "100"}, from...)...), "decrypted and unpacked")
}

// killedProof kills a proof while it restores. What it leaves the next one takes away.
func killedProof(t *testing.T, dir, other string, args []string) {
	t.Helper()
	bin, err := program.Build(dir)
	must(t, err)
	c := exec.Command(bin.Path, args...)
	must(t, c.Start())
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for {
		if found, err := filepath.Glob(other + "/plumb-verify-*/0.0/received"); err != nil || len(found) > 0 {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("it ended before it was killed: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	must(t, c.Process.Kill())
	<-ended
	if found, _ := filepath.Glob(other + "/plumb-verify-*"); len(found) != 1 {
		t.Errorf("it left %q", found)
	}
}

// datasetsOf lists those of a pool.
func datasetsOf(t *testing.T, pool *sandbox.Pool) string {
	t.Helper()
	out, err := exec.Command("zfs", "list", "-H", "-r", "-o", "name", pool.Name).CombinedOutput()
	must(t, err)
	return string(out)
}

// restoreJudge judges by what this host knows whether a backup was ever restored.
type restoreJudge struct {
	t     *testing.T
	b     *bench
	state string
	at    known.At
	rules *rule.Base
}

func newRestoreJudge(t *testing.T, b *bench, v verbs, url string) *restoreJudge {
	t.Helper()
	rules, err := rule.Load(knowledge.FS, b.cat)
	must(t, err)
	return &restoreJudge{t, b, v.state, known.At{URL: url, Plain: url}, rules}
}

// note changes what is known: days go by, or what was heard of is forgotten.
func (j *restoreJudge) note(change func(*known.Server)) {
	j.t.Helper()
	must(j.t, known.Note(j.t.Context(), j.b.Do, j.state, j.at, func(p *known.Place) {
		if len(p.Servers) != 1 {
			j.t.Fatalf("%+v", p.Servers)
		}
		change(&p.Servers[0])
	}))
}

func (j *restoreJudge) wants(what string, want rule.Outcome) {
	j.t.Helper()
	s := j.b.look(j.t)
	obs, err := backups.Probe{State: j.state}.Collect(j.t.Context(), host.NewCached(j.b.Do.(*host.LiveDoer).Live), s)
	must(j.t, err)
	s.Add("backups", obs)
	got := rule.Unknown
	for _, e := range j.rules.Judge(s) {
		if e.Rule.ID == "protect/backup-not-restored" {
			got = e.Outcome
		}
	}
	if got != want || len(obs.Things) != 1 {
		j.t.Errorf("%s: the rule is %v, and should be %v: %+v", what, got, want, obs.Things)
	}
}
