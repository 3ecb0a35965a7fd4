package provision

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"plumb/test/sandbox"
)

// TestElsewhereKilledAmid kills a provision while the server's data are between their old path and that of server.at, and a
// taking away while they are between both again. The same command goes on: the server answers from the new path, with what
// was written there it answers from the old one, and in the end the system is as it was.
func TestElsewhereKilledAmid(t *testing.T) {
	for _, c := range []struct{ product, fstype, was string }{{"mariadb", "ext4", "/var/lib/mysql"}, {"postgres", "xfs", "/var/lib/postgresql/15/main"}} {
		t.Run(c.product, func(t *testing.T) {
			if os.Getenv(inside) == "" {
				sandbox.NeedTime(t, "moves a server to another path, killed amid it: PLUMB_REAL=1 go test ./test/provision -run ElsewhereKilled")
				plumb, err := binary()
				must(t, err)
				inDebianWith(t, plumb)
				return
			}
			b := &bare{T: t, product: c.product, fstype: c.fstype, at: "/srv/shop"}
			b.lays()
			before := manifest(t)
			b.killed("directory at the new path", func() bool { return exists(b.at) }, "--yes")
			if exists(c.was) {
				t.Errorf("it was killed before %s had another name", c.was)
			}
			b.provision("--yes")
			b.answers()
			if again := b.provision("--yes"); again.Acts != 0 {
				t.Errorf("done again it makes %d acts", again.Acts)
			}
			b.sql("games", "INSERT INTO t VALUES (7)") // which the old directory does not have
			b.killed("old directory by its name", func() bool { return exists(c.was) }, "--undo", "--yes")
			out, err := goneOn(t, func() *exec.Cmd { return b.command("--undo", "--yes") })
			if err == nil || !strings.Contains(string(out), "shop") || exists(b.at) {
				t.Fatalf("the data are back, and their database is not dropped: %v\n%s", err, out)
			}
			if out, err := b.query("games", "SELECT a FROM t"); err != nil || !strings.Contains(out, "7") {
				t.Errorf("what was written at the new path is lost: %v: %s", err, out)
			}
			b.sql("games", "DROP TABLE t")
			b.typed("--undo", "--yes")
			asBefore(t, before)
		})
	}
}

// killed runs plumb, and kills it once something holds.
func (b *bare) killed(what string, holds func() bool, more ...string) {
	b.Helper()
	c := b.command(more...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	must(b.T, c.Start())
	waitFor(b.T, what, holds)
	must(b.T, c.Process.Kill())
	if err := c.Wait(); err == nil {
		b.Fatalf("it had ended when there was a %s", what)
	}
}
