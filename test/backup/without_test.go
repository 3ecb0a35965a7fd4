package backup

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
)

// pageBlock gives the block of docs/restore-without-plumb.md that has some words.
func pageBlock(t *testing.T, has string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/restore-without-plumb.md")
	must(t, err)
	for i, block := range strings.Split(string(page), "\n```\n") {
		if i%2 == 1 && strings.Contains(block, has) {
			return block
		}
	}
	t.Fatalf("docs/restore-without-plumb.md has no block with %q", has)
	return ""
}

// withoutPlumb runs blocks of the page in a directory, with bash and what else they name.
func withoutPlumb(t *testing.T, dir string, env []string, blocks ...string) {
	t.Helper()
	if out, err := triedWithoutPlumb(t, dir, env, blocks...); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func triedWithoutPlumb(t *testing.T, dir string, env []string, blocks ...string) (string, error) {
	t.Helper()
	for _, name := range []string{"bash", "age", "zstd", "openssl"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed: apt-get install age zstd openssl", name)
		}
	}
	cmd := exec.Command("bash", "-e", "-c", strings.Join(blocks, "\n"))
	cmd.Env, cmd.Dir = append(os.Environ(), env...), dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestWithoutPlumbOnZFS restores a chain of two as the page says: who made it and what it is are compared first, and what was
// changed or is another's is found out.
func TestWithoutPlumbOnZFS(t *testing.T) {
	g := newGround(t)
	g.write(t, 1)
	full := g.up(t, g.point(t, "20261125T120000Z-0001"), false)
	g.write(t, 2)
	next := g.up(t, g.point(t, "20261125T130000Z-0002"), false)
	want := sums(t, g.pool.Dir+"/db/data")
	key := filepath.Join(t.TempDir(), "key.txt")
	must(t, os.WriteFile(key, []byte(g.key.String()+"\n"), 0o600))
	env := []string{"KEY=" + key, "FULL=" + full.ID, "NEXT=" + next.ID, "SIGNED_BY=" + g.b.Public}
	check := strings.ReplaceAll(pageBlock(t, "openssl"), "/tmp/", t.TempDir()+"/")
	for _, id := range []string{full.ID, next.ID} {
		withoutPlumb(t, filepath.Join(g.at, "backups", id), env, check)
	}
	withoutPlumb(t, g.at, env, pageBlock(t, "stream()"), strings.ReplaceAll(pageBlock(t, "zfs receive"), "tank/", g.pool.Name+"/"))
	sh(t, "zfs", "set", "mountpoint="+filepath.Join(g.pool.Dir, "without"), g.pool.Name+"/restored/data")
	if g.content(t, g.pool.Name+"/restored/data") != want {
		t.Error("it holds something else")
	}

	at := filepath.Join(g.at, "backups", full.ID)
	check += "\n" + pageBlock(t, "stream()") + "\nstream 0 > /dev/null"
	for _, name := range []string{manifest.ChunkName(full.ID, 0, 0), manifest.PartName(full.ID, 0, 0), manifest.Name(full.ID)} {
		file := filepath.Join(g.at, name)
		good, err := os.ReadFile(file)
		must(t, err)
		must(t, os.WriteFile(file, append([]byte{good[0] ^ 1}, good[1:]...), 0o600))
		if out, err := triedWithoutPlumb(t, at, env, check); err == nil {
			t.Errorf("%s was changed, and is taken: %s", name, out)
		}
		must(t, os.WriteFile(file, good, 0o600))
	}
	stranger := newKeep(t)
	if out, err := triedWithoutPlumb(t, at, append(env, "SIGNED_BY="+stranger.b.Public), check); err == nil {
		t.Errorf("what another signed is taken: %s", out)
	}
}

// TestWithoutPlumbForged checks a backup of two streams as the page says: streams that were swapped, and objects behind the last one,
// which anybody can make who knows the recipient, are in nothing that is read.
func TestWithoutPlumbForged(t *testing.T) {
	k := newKeep(t)
	k.b.Chunk = 4 << 10
	source := func(name, line string) backup.Source {
		return backup.Source{Stream: manifest.Stream{Name: name, Kind: manifest.Command}, Argv: []string{"sh", "-c", line}}
	}
	res, err := k.b.Run(t.Context(), backup.Job{Name: "two", Sources: []backup.Source{source("a", "seq 10000"), source("b", "seq 20000 30000")}})
	must(t, err)
	at := filepath.Join(k.at, "backups", res.ID)
	key := filepath.Join(t.TempDir(), "key.txt")
	must(t, os.WriteFile(key, []byte(k.key.String()+"\n"), 0o600))
	env := []string{"KEY=" + key, "SIGNED_BY=" + k.b.Public}
	check := strings.ReplaceAll(pageBlock(t, "openssl"), "/tmp/", t.TempDir()+"/")
	both := []string{check, pageBlock(t, "stream()"), "stream 0 | cmp - <(seq 10000)", "stream 1 | cmp - <(seq 20000 30000)"}
	withoutPlumb(t, at, env, both...)
	text, err := os.ReadFile(filepath.Join(at, "0/000000000.zst.age"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(at, "0/000000099.zst.age"), text, 0o600))
	withoutPlumb(t, at, env, both...)
	newer := filepath.Join(k.at, "backups", manifest.NewID(time.Now().Add(time.Hour), "0123456789ab"))
	sh(t, "cp", "-r", at, newer)
	if out, err := triedWithoutPlumb(t, newer, env, check); err == nil {
		t.Errorf("an old backup under a newer name is taken: %s", out)
	}
	sh(t, "sh", "-c", "cd "+at+" && mv 0 2 && mv 1 0 && mv 2 1")
	if out, err := triedWithoutPlumb(t, at, env, check); err == nil {
		t.Errorf("streams that were swapped are taken: %s", out)
	}
}

// TestWithoutPlumbLog brings a log back as the page says: past what killed attempts left, and not past a piece that is missing or was changed.
func TestWithoutPlumbLog(t *testing.T) {
	k := newKeep(t)
	keeper := &archive.Keeper{Store: k.b.Store, Sign: k.b.Sign, Public: k.b.Public, To: k.b.To, Host: "db1", Now: time.Now, Chunk: 1000}
	want := bytes.Repeat([]byte("what was written, "), 300)
	pieces := [][2]int64{{0, 2500}, {2500, int64(len(want))}, {int64(len(want)), int64(len(want))}}
	at := func(from, to int64) string {
		return filepath.Join(k.at, fmt.Sprintf("archive/mysql/s/binlog.000001/%016d-%016d", from, to))
	}
	for _, p := range pieces {
		_, err := keeper.Keep(t.Context(), archive.Entry{Piece: archive.Piece{Server: "mysql", Series: "s", File: "binlog.000001", From: p[0], To: p[1]}}, bytes.NewReader(want[p[0]:p[1]]))
		must(t, err)
	}
	objects, err := filepath.Glob(at(0, 2500) + "/*.age")
	must(t, err)
	if len(objects) != 3 {
		t.Fatal(objects)
	}
	for _, left := range []string{at(0, 2500) + "/000000-0123456789abcdef.zst.age", at(0, 1200) + "/000000-0123456789abcdef.zst.age"} {
		must(t, os.MkdirAll(filepath.Dir(left), 0o700))
		must(t, os.WriteFile(left, []byte("of an attempt that was killed"), 0o600))
	}
	key := filepath.Join(t.TempDir(), "key.txt")
	must(t, os.WriteFile(key, []byte(k.key.String()+"\n"), 0o600))
	env := []string{"KEY=" + key, "SERVER=mysql", "SERIES=s", "SIGNED_BY=" + k.b.Public}
	bring := func() (string, string, error) {
		log := t.TempDir()
		out, err := triedWithoutPlumb(t, k.at, env, pageBlock(t, "stream()"), strings.ReplaceAll(pageBlock(t, "piece()"), "/srv/log", log))
		got, _ := os.ReadFile(filepath.Join(log, "binlog.000001"))
		return string(got), out, err
	}
	if got, out, err := bring(); err != nil || got != string(want) {
		t.Errorf("%d of %d bytes, %v\n%s", len(got), len(want), err, out)
	}
	signed, _, _ := strings.Cut(strings.ReplaceAll(pageBlock(t, "openssl"), "/tmp/", t.TempDir()+"/"), "\ndiff ")
	withoutPlumb(t, at(0, 2500), env, strings.ReplaceAll(strings.ReplaceAll(signed, "manifest >", "entry >"), "-n 1 manifest", "-n 1 entry"))
	for _, file := range []string{objects[1], at(0, 2500) + "/entry"} {
		text, err := os.ReadFile(file)
		must(t, err)
		must(t, os.Remove(file))
		if got, out, err := bring(); err == nil || len(got) > 1000 {
			t.Errorf("without %s: %d bytes, %v\n%s", file, len(got), err, out)
		}
		must(t, os.WriteFile(file, append([]byte{text[0] ^ 1}, text[1:]...), 0o600))
		if filepath.Base(file) != "entry" { // of which the signature tells
			if got, _, err := bring(); err == nil || len(got) > 1000 {
				t.Errorf("with another %s: %d bytes", file, len(got))
			}
		}
		must(t, os.WriteFile(file, text, 0o600))
	}
}
