package packages

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"plumb/test/namespace"
)

const journals = "/var/lib/plumb"

// script makes a root that looks like this machine's, in which nothing that is
// written reaches it, and changes into it.
const script = `set -e
at=$1 packages=$2 tape=$3; shift 3
mount -t tmpfs tmpfs "$at"
mkdir "$at/upper" "$at/work" "$at/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$at/upper,workdir=$at/work" "$at/root"
cd "$at/root"
rm -rf var/lib/plumb
mkdir packages
cp "$packages"/*.deb "$packages"/*.rpm "$tape" "$0" packages
mount -t proc proc proc
mount --rbind /dev dev
exec chroot . /packages/"$(basename "$0")" "$@"
`

// inRootOfItsOwn runs the test again where it can install what it likes.
// It tells whether that is here.
func inRootOfItsOwn(t *testing.T, programs ...string) bool {
	t.Helper()
	if os.Getenv(packagesIn) != "" {
		return true
	}
	if os.Getuid() != 0 {
		t.Skip("needs root to install a package")
	}
	for _, p := range append(programs, "unshare", "mount", "chroot") {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("needs %s", p)
		}
	}
	dir := pack(t)
	own := []string{"unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "sh", "-c"}
	tape, err := filepath.Abs("../../fixtures/mariadb-zfs-128K.tape.gz")
	must(t, err)
	self, err := os.Executable()
	must(t, err)
	probe := `mount -t tmpfs t "$0" && mkdir "$0/u" "$0/w" "$0/r" && mount -t overlay o -o "lowerdir=/,upperdir=$0/u,workdir=$0/w" "$0/r" && chroot "$0/r" ` + programs[0] + ` --version`
	if out, err := exec.Command(own[0], append(own[1:], namespace.LetGo("")+probe, t.TempDir())...).CombinedOutput(); err != nil {
		t.Skipf("no root of its own can be made here: %s", out)
	}
	c := exec.Command(own[0], append(own[1:], namespace.LetGo("")+script, self, t.TempDir(), dir, tape, "-test.run=^"+t.Name()+"$", "-test.v")...)
	c.Env = append(os.Environ(), packagesIn+"=/packages", "TMPDIR=/tmp", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive")
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	return false
}

// does runs a command that is to succeed, and gives all it printed.
func does(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return string(out)
}

// refuses runs a command that is to fail and to say all of this.
func refuses(t *testing.T, want []string, argv ...string) {
	t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err == nil {
		t.Fatalf("%s succeeded:\n%s", strings.Join(argv, " "), out)
	}
	t.Logf("%s:\n%s", strings.Join(argv, " "), out)
	for _, w := range want {
		if !strings.Contains(string(out), w) {
			t.Errorf("%s does not say %q:\n%s", strings.Join(argv, " "), w, out)
		}
	}
}

func exists(name string) bool { _, err := os.Lstat(name); return err == nil }

// works tries what is installed, as a user would.
func works(t *testing.T) {
	t.Helper()
	if got := does(t, "plumb", "version"); !strings.HasPrefix(got, "plumb ") {
		t.Errorf("plumb version says %q", got)
	}
	if got := does(t, "plumb", "check", "--tape", "/packages/mariadb-zfs-128K.tape.gz"); !strings.Contains(got, "recordsize") {
		t.Errorf("plumb check of a tape says nothing of its record size:\n%s", got)
	}
	info, err := os.Stat(journals)
	must(t, err)
	if st := info.Sys().(*syscall.Stat_t); info.Mode().Perm() != 0o700 || st.Uid != 0 || st.Gid != 0 {
		t.Errorf("%s is %v of %d:%d", journals, info.Mode(), st.Uid, st.Gid)
	}
	if got := does(t, "gzip", "-cd", "/usr/share/man/man1/plumb-check.1.gz"); !strings.Contains(got, "plumb-check - ") {
		t.Errorf("the man page of check has no name:\n%.300s", got)
	}
	does(t, "bash", "-n", "/usr/share/bash-completion/completions/plumb")
	if fish := read(t, "/usr/share/fish/vendor_completions.d/plumb.fish"); !bytes.Contains(fish, []byte("complete -c plumb")) {
		t.Error("the completion for fish completes nothing")
	}
}

const (
	settings = "/etc/sysctl.d/90-packages.conf"
	before   = "# by hand\nvm.swappiness = 60\n"
	plan     = `{"plumb": 1, "kind": "plan", "host": "here", "taken_at": "2026-01-01T00:00:00Z", "steps": [
	{"knob": {"of": "host:here", "name": "vm_swappiness"}, "from": 60, "to": 10, "because": "a test", "why": [],
	 "effect": "now", "durability_from": "safe", "durability_to": "safe"}]}`
)

// change makes a change of a file that plumb can take back. The machine is
// named as an image: nothing that runs is touched.
func change(t *testing.T) {
	t.Helper()
	must(t, os.WriteFile("/packages/plan.json", []byte(plan), 0o644))
	must(t, os.MkdirAll(filepath.Dir(settings), 0o755))
	must(t, os.WriteFile(settings, []byte(before), 0o644))
	does(t, "plumb", "fix", "--root", "/", "/packages/plan.json", "--yes")
	if does(t, "plumb", "history"); !exists(journals + "/change-000001.journal") {
		t.Fatal("the change has no journal")
	}
}

// takenBack undoes it, and wants everything to be as it was.
func takenBack(t *testing.T) {
	t.Helper()
	does(t, "plumb", "undo", "--yes")
	if got := string(read(t, settings)); got != before {
		t.Errorf("%s is now %q", settings, got)
	}
}
