package points

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"plumb/internal/cli"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/test/sandbox"
)

// verbs types commands as a person does.
type verbs struct {
	t     *testing.T
	state string
}

// typed runs one command that is to end with an exit code, and gives what it printed.
func (v verbs) typed(code int, args ...string) string {
	v.t.Helper()
	var out, failed bytes.Buffer
	got := cli.Main(append(args, "--state", v.state), strings.NewReader(""), &out, &failed)
	v.t.Logf("$ plumb %s\n%s%s", strings.Join(args, " "), out.String(), failed.String())
	if got != code {
		v.t.Fatalf("plumb %q ended with %d, not %d", args, got, code)
	}
	return out.String() + failed.String()
}

// says demands that an output holds some texts.
func says(t *testing.T, out string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), text) {
			t.Errorf("it does not say %q:\n%s", text, out)
		}
	}
}

var pointID = regexp.MustCompile(`\d{8}T\d{6}Z-[0-9a-f]{4}`)

// TestTypedOnMariaDB goes the way of a point from the dry run to the prune on the command line.
func TestTypedOnMariaDB(t *testing.T) {
	b := onPool(t, families[0])
	must(t, b.server.Exec("CREATE DATABASE shop", "CREATE TABLE shop.orders (id INT AUTO_INCREMENT PRIMARY KEY, mail TEXT)", "INSERT INTO shop.orders (mail) VALUES ('a@example.com'), ('b@example.com')"))
	dir := sandbox.Directory(t, "verbs")
	v := verbs{t, filepath.Join(dir, "state")}
	server := b.db(t, b.look(t)).String()
	beside, err := b.box.Filesystem("beside", "ext4", 32, nil, "")
	must(t, err)

	says(t, v.typed(0, "snapshot", server, "--dry-run"), "Where it keeps its data", "Mode crash, which is taken", "Nothing was locked")
	if out := v.typed(0, "protect", "list"); !strings.Contains(out, "There is no point") {
		t.Error("the dry run took a point")
	}
	v.typed(2, "snapshot", server, "--mode", "fast")
	v.typed(2, "snapshot", "mysql:1")
	out := v.typed(0, "snapshot", server, "--drill", "--ready")
	says(t, out, "proven: a copy was started", "ready", "well: recovered at least to binlog.", "the lowest priority for processor and disk")
	first := pointID.FindString(out)
	second := pointID.FindString(v.typed(0, "snapshot", server, "--mode", "locked"))
	says(t, v.typed(0, "drill", second, "--checks", "full"), "exactly the point's")
	says(t, v.typed(0, "protect", "list"), first, second, "proven")
	v.typed(3, "drill", "2025")

	says(t, v.typed(0, "clone", first, "--name", "dev", "--mask", "UPDATE shop.orders SET mail = ''"), "dev", "after 1 statement of a mask")
	says(t, v.typed(3, "clone", first, "--name", "dev"), "there is a clone dev already")
	run := regexp.MustCompile(`socket in (\S+)`).FindStringSubmatch(v.typed(0, "clone", "list"))[1]
	notMounted(t, run, beside)
	db, err := (&sandbox.Server{Engine: "mysql", Socket: filepath.Join(run, "mysqld.sock"), User: "root"}).Open()
	must(t, err)
	var mails string
	must(t, db.QueryRow("SELECT GROUP_CONCAT(mail) FROM shop.orders").Scan(&mails))
	must(t, db.Close())
	if mails != "," {
		t.Errorf("the clone holds %q", mails)
	}
	says(t, v.typed(0, "prune", "--keep", "last=1", "--dry-run"), "was made of it", "no point of")
	v.typed(2, "clone", "drop", "dev") // cannot ask
	v.typed(0, "clone", "drop", "dev", "--yes")
	third := pointID.FindString(v.typed(0, "snapshot", server))
	says(t, v.typed(1, "prune", "--keep", "last=1", "--yes"), "the last proven point would go", "0 points destroyed")
	says(t, v.typed(0, "prune", "--keep", "last=1,verified=1", "--yes"), "destroyed "+first, "1 point destroyed")
	if out := v.typed(0, "protect", "list"); strings.Contains(out, first) || !strings.Contains(out, second) || !strings.Contains(out, third) {
		t.Error("the prune did not destroy the one it named")
	}
	v.policy(filepath.Join(dir, "protect.yaml"), server)
}

// notMounted wants that the process of a clone has no mount on a directory of others: it would
// keep its disk busy for as long as the clone lives.
func notMounted(t *testing.T, run, dir string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	found := false
	for _, file := range files {
		if argv, err := os.ReadFile(file); err != nil || !bytes.Contains(argv, []byte(run)) {
			continue
		}
		mounts, err := os.ReadFile(filepath.Join(filepath.Dir(file), "mountinfo"))
		must(t, err)
		if found = true; bytes.Contains(mounts, []byte(" "+dir+" ")) {
			t.Errorf("it keeps %s busy:\n%s", dir, mounts)
		}
	}
	if !found {
		t.Error("the clone has no process")
	}
}

// older makes the points and their proofs older: as if so much time had passed.
func (v verbs) older(by time.Duration) {
	v.t.Helper()
	do, store := hosttest.LiveDoer(v.t), protect.Store{Dir: filepath.Join(v.state, "points")}
	all, err := store.List(v.t.Context(), do)
	must(v.t, err)
	for _, p := range all {
		for _, at := range []*time.Time{&p.Times.Began, &p.Times.Snapshot, &p.Times.Ended} {
			*at = at.Add(-by)
		}
		if p.Drill != nil {
			p.Drill.At = p.Drill.At.Add(-by)
		}
		must(v.t, store.Put(v.t.Context(), do, p))
	}
}

// policy has a policy carried out, and asks whether it is met.
func (v verbs) policy(file, server string) {
	v.t.Helper()
	recipients, store := file+".recipients", file+".store"
	key, err := age.GenerateX25519Identity()
	must(v.t, err)
	must(v.t, os.WriteFile(recipients, []byte(key.Recipient().String()+"\n"), 0o600))
	must(v.t, os.Mkdir(store, 0o700))
	must(v.t, os.WriteFile(file, []byte("points:\n  - server: "+server+"\n    every: 1m\n    keep: last=2,verified=1\n    drill: {every: 1m}\n    backup:\n      - {to: ['file://"+store+"'], recipients: "+recipients+"}\n"), 0o600))
	says(v.t, v.typed(1, "protect", "status", "--policy", file), "the policy was never run", "The policy is not met")
	v.older(time.Minute)
	says(v.t, v.typed(0, "protect", "run", file, "--dry-run"), "due snapshot "+server)
	says(v.t, v.typed(0, "protect", "run", file), "done snapshot "+server, "done drill "+server, "done prune "+server)
	says(v.t, v.typed(1, "protect", "status"), "nothing was backed up to file://"+store+" yet", "2 points")
	says(v.t, v.typed(0, "protect", "run", file, "--backups"), "done backup "+server)
	says(v.t, v.typed(0, "protect", "run", file, "--backups"), "Nothing is due")
	says(v.t, v.typed(0, "protect", "status"), "The policy is met", "backup file://"+store)
	if all, err := filepath.Glob(store + "/backups/*/manifest"); err != nil || len(all) != 1 {
		v.t.Errorf("there are %v, %v", all, err)
	}
}
