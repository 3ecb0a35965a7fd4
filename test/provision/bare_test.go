package provision

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	view "plumb/internal/view/provision"
	"plumb/test/program"
	"plumb/test/sandbox"
)

// bare is Debian's least system with a disk, on which one spec and one command make a server.
type bare struct {
	*testing.T
	product, fstype string
	at              string // where the spec wants the data; "": where the packages have them
	spec            string
	args            []string
}

// TestBareDebian lays a Debian out that has no server: packages, accounts, a pool or filesystem, the data moved there, the
// settings. It answers within the time, a second run does nothing, and what is taken away leaves the system as it was.
func TestBareDebian(t *testing.T) {
	for _, c := range []struct{ product, fstype, at string }{{"mariadb", "zfs", ""}, {"postgres", "zfs", ""}, {"mariadb", "ext4", ""}, {"postgres", "xfs", ""}, {"mariadb", "btrfs", ""},
		{"mariadb", "zfs", "/srv/shop"}, {"postgres", "xfs", "/srv/shop"}} {
		t.Run(c.product+"-"+c.fstype+strings.ReplaceAll(c.at, "/", "-"), func(t *testing.T) {
			if os.Getenv(inside) == "" {
				sandbox.NeedTime(t, "installs a server into a Debian of its own: PLUMB_REAL=1 go test ./test/provision -run Bare")
				if c.fstype == "zfs" {
					alone, err := sandbox.Alone("zfs-fuse")
					must(t, err)
					defer alone.Close()
				}
				plumb, err := binary()
				must(t, err)
				inDebianWith(t, plumb)
				return
			}
			(&bare{T: t, product: c.product, fstype: c.fstype, at: c.at}).whole()
		})
	}
}

// sh runs a script, and gives what it says.
func (b *bare) sh(script string, args ...string) string {
	b.Helper()
	out, err := exec.Command("sh", append([]string{"-ec", script, "sh"}, args...)...).CombinedOutput()
	if err != nil {
		b.Fatalf("%s: %v: %s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// disks makes what the data shall lie on, and installs what is no server: that is not what is measured.
func (b *bare) disks() (spec string) {
	b.Helper()
	install := "apt-get -q -y --no-install-recommends install "
	if b.fstype == "zfs" {
		b.sh(install + "zfs-fuse; mkdir -p /run/lock; service zfs-fuse stop >/dev/null 2>&1 || :; mkdir -p /srv/disks")
		daemon := exec.Command("zfs-fuse", "-n")
		must(b.T, daemon.Start())
		b.Cleanup(func() { _ = daemon.Process.Kill(); _ = daemon.Wait() })
		waitFor(b.T, "zfs-fuse that answers", func() bool { return exec.Command("zpool", "list").Run() == nil })
		return "pool: {name: tank, layout: mirror, disks: [{path: /srv/disks/a, size: 700M}, {path: /srv/disks/b, size: 700M}]}\n"
	}
	b.sh(install + "xfsprogs btrfs-progs e2fsprogs")
	image := filepath.Join(b.TempDir(), "disk")
	b.sh(`truncate -s 700M "$1"`, image)
	loop := b.sh(`losetup --find --show --direct-io=on "$1"`, image)
	b.Cleanup(func() { b.sh(`losetup --detach "$1"`, loop) })
	return fmt.Sprintf("filesystem: {type: %s, device: %s}\n", b.fstype, loop)
}

// lays makes the disks, and writes the spec.
func (b *bare) lays() {
	b.Helper()
	text := b.disks() + "server: {product: " + b.product + ", databases: [{name: shop, owner: games}]}\n"
	if b.at != "" {
		text = strings.Replace(text, "server: {", "server: {at: "+b.at+", ", 1)
	}
	b.spec = "/root/shop.yaml"
	must(b.T, os.WriteFile(b.spec, []byte(text), 0o600))
	service := map[string]string{"mariadb": "mariadb", "postgres": "postgresql"}[b.product]
	b.args = []string{"--stop", "service " + service + " stop", "--start", "service " + service + " start", "--skip", ofTheMachine, "--timeout", "2m"}
}

func (b *bare) whole() {
	b.lays()
	before := manifest(b.T)
	began := time.Now()
	doc := b.provision("--yes")
	took, packages := time.Since(began), 0.0
	for _, s := range doc.Stages {
		b.Logf("%s: %.1f s", s.Name, s.Seconds)
		if s.Name == "packages" {
			packages = s.Seconds
		}
	}
	if own := took.Seconds() - packages; own > 120 && b.at == "" { // measured where the packages have their data
		b.Errorf("without the packages it took %.0f s, want 120 at most", own)
	}
	b.Logf("from a bare Debian to %s on %s: %v, of which the packages took %.1f s", b.product, b.fstype, took.Round(100*time.Millisecond), packages)
	if len(doc.Left) > 0 {
		b.Errorf("check says %+v", doc.Left)
	}
	b.answers()
	if again := b.provision("--yes"); again.Acts != 0 || len(again.Left) > 0 {
		b.Errorf("done again it makes %d acts, and check says %+v", again.Acts, again.Left)
	}
	b.sql("games", "DROP TABLE t")
	b.typed("--undo", "--yes")
	asBefore(b.T, before)
}

// answers sees that the server answers the owner of the database alone, from where the spec wants its data.
func (b *bare) answers() {
	b.Helper()
	b.sql("games", "CREATE TABLE t (a INT)")
	dir := cmp.Or(b.at, map[string]string{"mariadb": "/var/lib/mysql", "postgres": "/var/lib/postgresql/15/main"}[b.product])
	program := map[string]string{"mariadb": "mariadbd", "postgres": "postgres"}[b.product]
	if pids := processes(program); len(pids) == 0 || b.sh(`readlink "/proc/$1/cwd"`, pids[0]) != dir {
		b.Errorf("the server does not run in %s: %v", dir, pids)
	}
	if is := b.sh(`stat -f -c %T "$1"; grep " $1 " /proc/self/mountinfo`, dir); !strings.Contains(is, map[string]string{"zfs": "fuse.zfs"}[b.fstype]) || !strings.Contains(is, b.fstype) {
		b.Errorf("%s lies on %s", dir, is)
	}
	if out, err := b.query("nobody", "SELECT 1"); err == nil {
		b.Errorf("another user of the system comes in: %s", out)
	}
}

// query asks as a user of the system, over the socket, as the owner of the database.
func (b *bare) query(user, statement string) (string, error) {
	argv := map[string][]string{"mariadb": {"mariadb", "-u", "games", "shop", "-e", statement}, "postgres": {"psql", "-U", "games", "-d", "shop", "-c", statement}}[b.product]
	out, err := exec.Command("setpriv", append([]string{"--reuid", user, "--clear-groups"}, argv...)...).CombinedOutput()
	return string(out), err
}

func (b *bare) sql(user, statement string) {
	b.Helper()
	if out, err := b.query(user, statement); err != nil {
		b.Errorf("%s as %s: %v: %s", statement, user, err, out)
	}
}

func (b *bare) command(more ...string) *exec.Cmd {
	return exec.Command("/run/plumb", slices.Concat([]string{"provision", b.spec}, b.args, more)...)
}

func (b *bare) typed(more ...string) string {
	b.Helper()
	var errs bytes.Buffer
	var out []byte
	var err error
	waitFor(b.T, "end of what a killed plumb has left", func() bool {
		errs.Reset()
		c := b.command(more...)
		c.Stderr = &errs
		out, err = c.Output()
		return !program.Awaits(errs.Bytes())
	})
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) {
		b.Fatalf("provision %v: %v: %s%s", more, err, out, errs.String())
	}
	return string(out)
}

func (b *bare) provision(more ...string) (doc view.ProvisionJSON) {
	b.Helper()
	must(b.T, json.Unmarshal([]byte(b.typed(append(more, "--json")...)), &doc))
	return doc
}
