package backup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPgBackRestOfSomebodyElse sees that nothing of another's is replaced: an archive_command, a configuration where ours
// would be, a repository that another server has.
func TestPgBackRestOfSomebodyElse(t *testing.T) {
	d := newDriven(t, archives+"archive_command = 'cp %p /nowhere/%f'\n")
	says(t, d.plumb(3, "backup", d.name, "--to", d.url, "--set-archiving"), "its log is archived by another command: cp %p /nowhere/%f")
	d.unarchive()

	must(t, os.MkdirAll(filepath.Dir(d.conf()), 0o755))
	const theirs = "[global]\nrepo1-path=/srv/theirs\n"
	must(t, os.WriteFile(d.conf(), []byte(theirs), 0o644))
	says(t, d.plumb(3, "backup", d.name, "--to", d.url, "--set-archiving"), d.conf()+" is there", "/srv/theirs")
	if text, err := os.ReadFile(d.conf()); err != nil || string(text) != theirs {
		t.Errorf("it says now %q, %v", text, err)
	}
	if got := d.ask("SHOW archive_command"); got != "" {
		t.Errorf("archive_command was set to %s", got)
	}
	must(t, os.Remove(d.conf()))
	d.first()
	first := d.name
	key, err := os.ReadFile(d.key())
	must(t, err)

	stanza := d.stanza()
	d.serve("other", archives)
	d.state = filepath.Join(d.dir, "state-other")
	files := d.state + "-pgbackrest/"
	must(t, os.MkdirAll(files, 0o755))
	says(t, d.plumb(3, "backup", d.name, "--to", d.url, "--set-archiving", "--stanza", stanza), "key is not the one")
	must(t, os.WriteFile(files+stanza+".private/key.conf", key, 0o644)) // who has the key may still not have that server
	says(t, d.plumb(3, "backup", d.name, "--to", d.url, "--set-archiving", "--stanza", stanza), "of another server")
	d.state = filepath.Join(d.dir, "state")
	says(t, d.plumb(1, "backup list", "--stanza", first), "full")
}

// TestPgBackRestIsTakenBack undoes what was written, and keeps the key.
func TestPgBackRestIsTakenBack(t *testing.T) {
	d := newDriven(t, archives)
	said := d.first()
	number := strings.Fields(said[strings.Index(said, "plumb undo ")+len("plumb undo "):])[0]
	if d.ask("SHOW archive_command") == "" {
		t.Error("archive_command was not set")
	}
	out, errs := built.Run(t, 0, "undo", number, "--state", d.state, "--yes", "--keep")
	if _, err := os.Stat(d.conf()); err == nil {
		t.Errorf("the configuration is there:\n%s%s", out, errs)
	}
	if got := d.ask("SHOW archive_command"); got != "" {
		t.Errorf("archive_command is %s", got)
	}
	if _, err := os.Stat(d.key()); err != nil {
		t.Errorf("the key is gone, and the backups are there: %v", err)
	}
	says(t, d.plumb(0, "backup", d.name, "--to", d.url, "--set-archiving"), "incr")
}

// TestPgBackRestWithHoles has files of the archive go: a list tells it, and a proof.
func TestPgBackRestWithHoles(t *testing.T) {
	d := newDriven(t, archives)
	must(t, d.server.Exec("CREATE TABLE t (i INT)"))
	d.first()
	must(t, d.server.Exec("INSERT INTO t VALUES (1)"))
	lost := d.archived()
	must(t, d.server.Exec("INSERT INTO t VALUES (2)"))
	d.archived()
	files, err := filepath.Glob(filepath.Join(d.dir, "repository/archive/*/*/*", lost+"-*"))
	must(t, err)
	if len(files) != 1 {
		t.Fatalf("%s is in %v", lost, files)
	}
	must(t, os.Remove(files[0]))
	says(t, d.plumb(1, "backup list"), "the archived log has a gap: behind")
}

// unarchive takes the server's archive_command away.
func (d *driven) unarchive() {
	d.t.Helper()
	must(d.t, d.server.Exec("ALTER SYSTEM SET archive_command = ''", "SELECT pg_reload_conf()"))
	d.eventually("the server has read that", func() bool { return d.ask("SHOW archive_command") == "" })
}

// TestPgBackRestDies kills a backup at half, and fills the disk of another: there is none then, and the next is whole.
func TestPgBackRestDies(t *testing.T) {
	d := newDriven(t, archives+"archive_command = '/bin/true'\n") // or the log of the rows fills the small disk, and the backup waits for its archive
	must(t, d.server.Exec("CREATE TABLE t (x TEXT)", "INSERT INTO t SELECT string_agg(md5(random()::text), '') FROM generate_series(1, 600000) i GROUP BY i % 6000"))
	d.archived()
	d.unarchive()
	small, err := d.box.Mount("small", "tmpfs", "tmpfs", "size=8m")
	if err == nil {
		uid, gid := d.box.User()
		must(t, os.Chown(small, uid, gid))
		whole := d.url
		d.url = "file://" + small
		says(t, d.plumb(3, "backup", d.name, "--to", d.url, "--set-archiving", "--stanza", "small"), "--keep reverts it")
		if made, _ := filepath.Glob(small + "/backup/small/*F/backup.manifest"); len(made) > 0 {
			t.Errorf("a backup is there: %v", made)
		}
		d.url = whole
		d.unarchive()
	} else {
		t.Logf("no full disk was tried: %v", err)
	}
	cmd := exec.Command(built.Path, "backup", d.name, "--with", "pgbackrest", "--to", d.url, "--stanza", d.stanza(), "--set-archiving", "--state", d.state)
	var said strings.Builder
	cmd.Stderr = &said
	must(t, cmd.Start())
	defer func() {
		if t.Failed() {
			t.Log(said.String())
		}
	}()
	d.eventually("the first files are in the repository", func() bool {
		files, _ := filepath.Glob(filepath.Join(d.dir, "repository/backup/*/*/pg_data/base/*/*"))
		return len(files) > 20
	})
	must(t, cmd.Process.Kill())
	if err := cmd.Wait(); err == nil {
		t.Log("it ended before it was killed")
	}
	began := time.Now()
	for { // what the killed one started ends by itself, and has the lock until then
		out := exec.Command(built.Path, "backup", d.name, "--with", "pgbackrest", "--stanza", d.stanza(), "--to", d.url, "--state", d.state)
		said, err := out.CombinedOutput()
		if err == nil {
			says(t, string(said), "full")
			break
		}
		if !strings.Contains(string(said), "another pgbackrest works") && !strings.Contains(string(said), "is being made") || time.Since(began) > 2*time.Minute {
			t.Fatalf("%v\n%s", err, said)
		}
		time.Sleep(200 * time.Millisecond)
	}
}
