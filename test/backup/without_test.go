package backup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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
