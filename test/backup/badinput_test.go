package backup

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/engine/postgres/wal"
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
	if err == nil || !strings.Contains(err.Error(), "restored/log already exists, and has nothing of this backup") {
		t.Error(err)
	}
	if text, err := os.ReadFile(own); err != nil || string(text) != "mine" {
		t.Errorf("%q, %v", text, err)
	}
	if out, err := exec.Command("zfs", "list", "-H", "-o", "name", g.pool.Name+"/restored/data").Output(); err == nil {
		t.Errorf("there is %s", out)
	}
}

// TestPoolFillsUp restores to a pool without room for it: zfs says so, nothing of the dataset is left, and with room the same command
// goes well.
func TestPoolFillsUp(t *testing.T) {
	g := newGround(t)
	file := filepath.Join(g.pool.Dir, "db/data/large")
	sh(t, "sh", "-ec", `head -c 30M /dev/urandom > "$0"; sync; free=$(zfs get -Hp -o value available "$1"); zfs create -o reservation=$((free - 20000000)) "$1/other"`, file, g.pool.Name)
	want := sums(t, filepath.Dir(file))
	res := g.up(t, g.point(t, "20261125T120000Z-0001"), false)
	m, err := g.vault.Get(t.Context(), res.ID)
	must(t, err)
	target := g.pool.Name + "/restored"
	if _, err := g.restore().Datasets(t.Context(), m, target); err == nil || !strings.Contains(err.Error(), "out of space") || !strings.Contains(err.Error(), target+"/data") {
		t.Error(err)
	}
	if out, err := exec.Command("zfs", "list", "-H", "-o", "name", target+"/data").Output(); err == nil {
		t.Errorf("there is %s", out)
	}
	sh(t, "zfs", "set", "reservation=none", g.pool.Name+"/other") // which others cannot keep busy
	if _, err := g.restore().Datasets(t.Context(), m, target); err != nil {
		t.Fatal(err)
	}
	if g.content(t, target+"/data") != want {
		t.Error("it holds something else")
	}
}

// TestNoRoomForAFile refuses a file for which there is no room before anything is fetched. A pipe takes what it takes.
func TestNoRoomForAFile(t *testing.T) {
	box := sandbox.ForTest(t, "")
	small, err := box.Mount("small", "tmpfs", "tmpfs", "size=1m")
	sandbox.Need(t, err)
	k := newKeep(t)
	res, err := k.b.Run(t.Context(), backup.Job{Name: "noise", Sources: []backup.Source{{Stream: manifest.Stream{Name: "noise", Kind: manifest.Command}, Argv: []string{"head", "-c", "3M", "/dev/urandom"}}}})
	must(t, err)
	key := filepath.Join(t.TempDir(), "key.txt")
	must(t, os.WriteFile(key, []byte(k.key.String()+"\n"), 0o600))
	restore := func(file string) (string, error) {
		out, err := exec.Command(built.Path, "restore", res.ID, "--from", "file://"+k.at, "--identity", key, "--trust", k.b.Public, "--state", t.TempDir(), "--output", file).CombinedOutput()
		return strings.Join(strings.Fields(string(out)), " "), err
	}
	if out, err := restore(filepath.Join(small, "noise")); err == nil || !strings.Contains(out, "are free in "+small+", but the restored data can take 3M") {
		t.Errorf("%v\n%s", err, out)
	}
	if left, err := os.ReadDir(small); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	pipe := filepath.Join(small, "pipe")
	must(t, exec.Command("mkfifo", pipe).Run())
	take := exec.Command("cat", pipe)
	must(t, take.Start())
	if out, err := restore(pipe); err != nil {
		_ = take.Process.Kill() // nobody may have opened the other end
		t.Errorf("%v\n%s", err, out)
	}
	must(t, take.Wait())
}

// bases is a PostgreSQL whose bases are backed up, without an archive.
type bases struct {
	*sandbox.Server
	box                *sandbox.Box
	url, state, keys   string
	recipient, fetches string // what gives a base with the log that it needs
}

func newBases(t *testing.T) *bases {
	t.Helper()
	sandbox.NeedLong(t, "starts a PostgreSQL: run without -short")
	box := sandbox.ForTest(t, "")
	s, err := box.Postgres(sandbox.PostgresOptions{Port: sandbox.FreePort(t)})
	sandbox.Need(t, err)
	base, err := filepath.Glob("/usr/lib/postgresql/*/bin/pg_basebackup")
	must(t, err)
	if len(base) == 0 {
		t.Skip("no pg_basebackup: apt-get install postgresql-client")
	}
	k, err := age.GenerateX25519Identity()
	must(t, err)
	b := &bases{Server: s, box: box, url: "file://" + t.TempDir(), state: t.TempDir(), keys: filepath.Join(t.TempDir(), "key.txt"), recipient: k.Recipient().String()}
	must(t, os.WriteFile(b.keys, []byte(k.String()+"\n"), 0o600))
	b.fetches = fmt.Sprintf("%s -h %s -p %d -U %s -D - -Ft -X fetch -c fast", base[len(base)-1], s.Socket, s.Port, s.User)
	return b
}

// plumb runs a command, and gives what it says in one line.
func (b *bases) plumb(args ...string) (string, error) {
	out, err := exec.Command(built.Path, append(args, "--state", b.state)...).CombinedOutput()
	return strings.Join(strings.Fields(string(out)), " "), err
}

func (b *bases) backup(line string) (string, error) {
	return b.plumb("backup", "--command", line, "--to", b.url, "--recipient", b.recipient)
}

// TestTablespacesOnStdout backs up a PostgreSQL with a tablespace by a command that can give only one: what it says is shown, and there is no backup.
// Without the tablespace it is one, which is a whole tar.
func TestTablespacesOnStdout(t *testing.T) {
	b := newBases(t)
	space, err := b.box.Mkdir("space")
	must(t, err)
	if out, err := b.backup(b.fetches); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := b.plumb("restore", "--from", b.url, "--identity", b.keys, "--command", "tar -t >/dev/null"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	must(t, b.Exec("CREATE TABLESPACE beside LOCATION '"+space+"'", "CREATE TABLE kept (n INT) TABLESPACE beside"))
	out, err := b.backup(b.fetches)
	t.Log(out)
	if err == nil || !strings.Contains(out, "tablespace") {
		t.Errorf("%v", err)
	}
	if out, err := b.plumb("backup", "list", "--from", b.url); err != nil || strings.Count(out, "signed by") != 1 {
		t.Errorf("%v\n%s", err, out)
	}
	must(t, b.Exec("SELECT count(*) FROM kept"))
}

// TestBaseWithoutLog backs up bases beside which no log is archived: that is warned of, and what it means differs. An object that has
// the name of a piece of the log, and that nobody signed, is none, and is named; in test/archive a server archives.
func TestBaseWithoutLog(t *testing.T) {
	b := newBases(t)
	const none, alone, dead = "no log archived for it", "it can be restored as it was when it ended, and to no later moment", "without the log no server starts on it"
	for line, want := range map[string]string{b.fetches: alone, strings.Replace(b.fetches, "-X fetch", "-X none", 1): dead} {
		if out, err := b.backup(line); err != nil || !strings.Contains(out, "warning: the archive has no log for this base backup: "+want) {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
	if out, err := b.backup("echo a dump"); err != nil || strings.Contains(out, "warning") {
		t.Errorf("%v\n%s", err, out)
	}
	out, err := b.plumb("backup", "list", "--from", b.url)
	if err != nil || strings.Count(out, none) != 2 || strings.Count(out, none+", without which no server starts on it") != 1 {
		t.Errorf("%v\n%s", err, out)
	}
	out, err = b.plumb("backup", "list", "--from", b.url, "--json")
	must(t, err)
	var doc struct {
		Backups []struct {
			Facts  map[string]string
			Behind *struct{ Archived bool }
		}
	}
	must(t, json.Unmarshal([]byte(out), &doc))
	var pieces []archive.Piece
	place := strings.TrimPrefix(b.url, "file://")
	for _, one := range doc.Backups {
		start, is := one.Facts["base_start_lsn"]
		if (one.Behind != nil) != is {
			t.Errorf("%+v", one)
		}
		if at, ok := wal.Place(start); ok { // of a segment of 16 MiB
			pieces = append(pieces, archive.Piece{Server: "postgres-" + one.Facts["postgres_system"], Series: "wal", File: wal.Name(1, at, 16<<20), To: 16 << 20})
			forgedPiece(t, place, pieces[len(pieces)-1])
		}
	}
	if out, err := b.plumb("backup", "list", "--from", b.url); err != nil || strings.Count(out, none) != 2 || strings.Count(out, "it is not trusted") != 2 {
		t.Errorf("%v\n%s", err, out)
	}
	for _, p := range pieces {
		archived(t, place, b.state, p)
	}
	if out, err := b.plumb("backup", "list", "--from", b.url); err != nil || strings.Contains(out, none) || strings.Count(out, "signed by") != 3 {
		t.Errorf("%v\n%s", err, out)
	}
}
