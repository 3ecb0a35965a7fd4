package backup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"plumb/test/sandbox"
)

// TestTargetNotEmpty restores nothing where other data lie, and nothing beside them.
func TestTargetNotEmpty(t *testing.T) {
	g := newGround(t)
	g.write(t, 1)
	res := g.up(t, g.point(t, "20261125T120000Z-0001"), false)
	m, err := g.vault.Get(t.Context(), res.ID)
	must(t, err)
	for _, name := range []string{"restored", "restored/log"} {
		_, err := g.pool.Dataset(name)
		must(t, err)
	}
	own := filepath.Join(g.pool.Dir, "restored/log/precious")
	must(t, os.WriteFile(own, []byte("mine"), 0o600))
	_, err = g.restore().Datasets(t.Context(), m, g.pool.Name+"/restored")
	if err == nil || !strings.Contains(err.Error(), "restored/log is there already, and has nothing of this backup") {
		t.Error(err)
	}
	if text, err := os.ReadFile(own); err != nil || string(text) != "mine" {
		t.Errorf("%q, %v", text, err)
	}
	if out, err := exec.Command("zfs", "list", "-H", "-o", "name", g.pool.Name+"/restored/data").Output(); err == nil {
		t.Errorf("there is %s", out)
	}
}

// TestTablespacesOnStdout backs up a PostgreSQL with a tablespace by a command that can give only one: what it says is shown, and there is no backup.
// Without the tablespace it is one, which is a whole tar.
func TestTablespacesOnStdout(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a PostgreSQL: run without -short")
	}
	box, err := sandbox.New("")
	sandbox.Need(t, err)
	t.Cleanup(func() { must(t, box.Close()) })
	s, err := box.Postgres(sandbox.PostgresOptions{Port: sandbox.FreePort(t)})
	sandbox.Need(t, err)
	base, err := filepath.Glob("/usr/lib/postgresql/*/bin/pg_basebackup")
	must(t, err)
	if len(base) == 0 {
		t.Skip("no pg_basebackup: apt-get install postgresql-client")
	}
	space, err := box.Mkdir("space")
	must(t, err)
	k, err := age.GenerateX25519Identity()
	must(t, err)
	place, state, keys := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "key.txt")
	must(t, os.WriteFile(keys, []byte(k.String()+"\n"), 0o600))
	line := fmt.Sprintf("%s -h %s -p %d -U %s -D - -Ft -X fetch -c fast", base[len(base)-1], s.Socket, s.Port, s.User)
	plumb := func(args ...string) (string, error) {
		out, err := exec.Command(built.Path, append(args, "--state", state)...).CombinedOutput()
		return string(out), err
	}
	up := []string{"backup", "--command", line, "--to", "file://" + place, "--recipient", k.Recipient().String()}
	if out, err := plumb(up...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := plumb("restore", "--from", "file://"+place, "--identity", keys, "--command", "tar -t >/dev/null"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	must(t, s.Exec("CREATE TABLESPACE beside LOCATION '"+space+"'", "CREATE TABLE kept (n INT) TABLESPACE beside"))
	out, err := plumb(up...)
	t.Log(out)
	if err == nil || !strings.Contains(out, "tablespace") {
		t.Errorf("%v", err)
	}
	if out, err := plumb("backup", "list", "--from", "file://"+place); err != nil || strings.Count(out, "signed by") != 1 {
		t.Errorf("%v\n%s", err, out)
	}
	must(t, s.Exec("SELECT count(*) FROM kept"))
}
