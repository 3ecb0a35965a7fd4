package point

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/host/hosttest"
	"plumb/internal/inventory/kinds"
	"plumb/internal/protect"
)

const envLeast = "PLUMB_LEAST" // of the process that is not root: what it does, and with which volume

// TestAllowedOnZFS has a user who is not root take and destroy points with what --grants prints, and without any right of
// it. zfs-fuse has no zfs allow: there it is skipped, and the machine with OpenZFS runs it.
func TestAllowedOnZFS(t *testing.T) {
	if told := os.Getenv(envLeast); told != "" {
		asLeast(t, strings.Split(told, ","))
		return
	}
	pool, z, vols := server(t)
	if z.Fuse {
		t.Skip("zfs-fuse has no zfs allow: test/real/vm runs it on OpenZFS")
	}
	sh(t, "useradd", "least")
	t.Cleanup(func() { sh(t, "userdel", "least") })
	uid, err := strconv.Atoi(strings.TrimSpace(sh(t, "id", "-u", "least")))
	must(t, err)
	test := filepath.Join(t.TempDir(), "least.test") // where he may read it
	sh(t, "cp", os.Args[0], test)
	sh(t, "chmod", "-R", "a+rX", filepath.Dir(filepath.Dir(test)))
	as := func(do string) (string, error) {
		c := exec.Command(test, "-test.run=^TestAllowedOnZFS$", "-test.v")
		c.Env, c.Dir = append(os.Environ(), fmt.Sprintf("%s=%s,%s,%s", envLeast, do, vols[0].Name, vols[0].Mountpoint)), "/"
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
		out, err := c.CombinedOutput()
		return string(out), err
	}
	allow := func(how string, rights ...string) {
		sh(t, "zfs", how, "-u", "least", strings.Join(rights, ","), pool.Name+"/db")
	}
	list := func() string { return sh(t, "zfs", "list", "-H", "-r", "-t", "snapshot", "-o", "name", pool.Name) }
	for _, c := range []struct{ do, verb string }{{"take", "snapshot"}, {"destroy", "prune"}} {
		rights := rightsIn(Allowed(c.verb))
		allow("allow", rights...)
		for _, one := range rights {
			allow("unallow", one)
			before := list()
			out, err := as(c.do)
			t.Logf("%s without %s: %v", c.do, one, err)
			if err == nil || !strings.Contains(out, one) || list() != before {
				t.Errorf("%s without %s: %v: %s; there is %s", c.do, one, err, out, list())
			}
			if c.do == "take" && list() != before { // for the next
				sh(t, "zfs", "destroy", vols[0].Name+"@"+name)
			}
			allow("allow", one)
		}
		if out, err := as(c.do); err != nil {
			t.Fatalf("%s with %v: %v: %s", c.do, rights, err, out)
		}
		if there := list() != ""; there != (c.do == "take") {
			t.Errorf("after %s there is %q", c.do, list())
		}
		allow("unallow", rights...)
	}
}

// rightsIn gives the rights that a text of grants allows.
func rightsIn(text string) []string {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 4 && slices.Equal(f[:3], []string{"zfs", "allow", "-u"}) {
			return strings.Split(f[4], ",")
		}
	}
	return nil
}

// asLeast takes or destroys a point.
func asLeast(t *testing.T, told []string) {
	d, z := hosttest.LiveDoer(t), ZFS{}
	v := protect.Volume{Storage: z.Name(), Name: told[1], Pool: strings.Split(told[1], "/")[0], Mountpoint: told[2]}
	if told[0] == "take" {
		all, err := z.Snapshot(t.Context(), d, []protect.Volume{v}, name, facts)
		allowed(t, err)
		must(t, z.Mark(t.Context(), d, all[0], map[string]string{protect.FactLabel: "crash"}))
		return
	}
	all, err := z.Find(t.Context(), d, []protect.Volume{v}, name)
	must(t, err)
	if len(all) != 1 {
		t.Fatalf("%+v", all)
	}
	allowed(t, z.Destroy(t.Context(), d, all))
}

// allowed shows what a person is told who is not.
func allowed(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v\nhint: %s", err, hint.Of(err))
	}
}

// TestKeylessOnZFS: of an encrypted dataset whose key is not loaded no copy is made, and nothing is left of the try.
func TestKeylessOnZFS(t *testing.T) {
	pool, z, _ := server(t)
	if z.Fuse {
		t.Skip("zfs-fuse has no encryption: test/real/vm runs it on OpenZFS")
	}
	set := pool.Name + "/secret"
	sh(t, "sh", "-c", "echo 12345678 | zfs create -o encryption=on -o keyformat=passphrase "+set)
	d, ctx, dir := hosttest.LiveDoer(t), t.Context(), t.TempDir()
	v := protect.Volume{Storage: z.Name(), Name: set, Pool: pool.Name, Mountpoint: filepath.Join(pool.Dir, "secret")}
	all, err := z.Snapshot(ctx, d, []protect.Volume{v}, name, facts)
	must(t, err)
	sh(t, "zfs", "unmount", set)
	sh(t, "zfs", "unload-key", set)
	before := sh(t, "zfs", "list", "-H", "-r", "-t", "all", "-o", "name", pool.Name)
	err = keylessClone(t, z, all[0], dir)
	if err == nil || !strings.Contains(err.Error(), "the key of "+set+" is not loaded") {
		t.Errorf("without its key: %v", err)
	}
	if after := sh(t, "zfs", "list", "-H", "-r", "-t", "all", "-o", "name", pool.Name); after != before {
		t.Errorf("there was\n%s\nand there is\n%s", before, after)
	}
}

func keylessClone(t *testing.T, z ZFS, m protect.Member, dir string) error {
	t.Helper()
	d := hosttest.LiveDoer(t)
	book, err := kinds.Books(d, filepath.Join(dir, "books")).Open(t.Context(), "run1")
	must(t, err)
	at := filepath.Join(dir, "copy")
	must(t, os.Mkdir(at, 0o755))
	err = z.Clone(t.Context(), d, m, protect.CloneAt{Dir: at, Book: book})
	must(t, book.Close(t.Context()))
	return err
}
