package provision

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"plumb/internal/change"
	"plumb/internal/system/packages"
)

// recipeOf plans the packages of a server.
func (m *machine) recipeOf(flavor string) change.Recipe {
	m.t.Helper()
	w, err := packages.Server(flavor, "", false)
	must(m.t, err)
	r, err := packages.Recipe(context.Background(), m.h, w)
	must(m.t, err)
	return r
}

func TestPackagesComeAndGoByteForByte(t *testing.T) {
	if !inDebian(t) {
		return
	}
	m := newMachine(t)
	before := manifest(t)
	first, err := m.apply(m.recipeOf("mariadb"))
	must(t, err)
	second, err := m.apply(m.recipeOf("postgres"))
	must(t, err)
	for _, f := range []string{"/usr/sbin/mariadbd", "/var/lib/mysql/mysql", "/var/lib/postgresql/15/main/PG_VERSION"} {
		if !exists(f) {
			t.Errorf("there is no %s", f)
		}
	}
	for _, flavor := range []string{"mariadb", "postgres"} {
		if again := m.recipeOf(flavor); len(again.Acts) != 0 {
			t.Errorf("%s is there, and a second plan has %d acts", flavor, len(again.Acts))
		}
	}
	must(t, m.undo(second, change.UndoOptions{}))
	must(t, m.undo(first, change.UndoOptions{}))
	asBefore(t, before)
}

// TestPackagesStayWhileTheyHoldData: what removes Debian's packages of PostgreSQL drops all
// databases without a question.
func TestPackagesStayWhileTheyHoldData(t *testing.T) {
	if !inDebian(t) {
		return
	}
	m := newMachine(t)
	before := manifest(t)
	for flavor, file := range map[string]string{"mariadb": "/var/lib/mysql/shop/orders.ibd", "postgres": "/var/lib/postgresql/15/main/base/5/16384"} {
		number, err := m.apply(m.recipeOf(flavor))
		must(t, err)
		dir := file[:strings.LastIndex(file, "/")]
		had := exists(dir)
		must(t, os.MkdirAll(dir, 0o700))
		must(t, os.WriteFile(file, []byte("somebody's"), 0o600))
		for _, o := range []change.UndoOptions{{}, {Force: true}} {
			err := m.undo(number, o)
			if _, drifted := errors.AsType[*change.Drifted](err); !drifted {
				t.Errorf("undone (%+v) while %s is there: %v", o, file, err)
			}
			if !exists(file) {
				t.Fatalf("%s is gone", file)
			}
		}
		must(t, os.Remove(file))
		if !had {
			must(t, os.Remove(dir))
		}
		must(t, m.undo(number, change.UndoOptions{}))
	}
	asBefore(t, before)
}

// TestPackagesKilledAmid kills apt and dpkg with their children, and then either
// takes all back or goes on.
func TestPackagesKilledAmid(t *testing.T) {
	if !inDebian(t) {
		return
	}
	m := newMachine(t)
	before := manifest(t)
	for _, amid := range []string{"/var/lib/dpkg/info/galera-4.list", "/usr/sbin/mariadbd", "/var/lib/mysql/ibdata1"} {
		out := make(chan error)
		r := m.recipeOf("mariadb")
		go func() { _, err := m.apply(r); out <- err }()
		waitFor(t, amid, func() bool { return exists(amid) })
		for _, name := range []string{"apt-get", "dpkg", "mariadb-server.", "mariadbd", "mysql_install_d", "mariadb-install"} {
			for _, pid := range processes(name) {
				n, _ := strconv.Atoi(pid)
				_ = syscall.Kill(n, syscall.SIGKILL)
			}
		}
		if err := <-out; err == nil {
			t.Fatalf("killed when %s came, and it went well", amid)
		}
		asBefore(t, before)
	}
}

// TestPackagesGoOnAfterADeath: the machine dies amid dpkg, and what was begun is ended.
func TestPackagesGoOnAfterADeath(t *testing.T) {
	if !inDebian(t) {
		return
	}
	m := newMachine(t)
	before := manifest(t)
	number := m.dies("mariadb", "/usr/sbin/mariadbd")
	if _, err := packages.Recipe(context.Background(), m.h, packages.Want{Names: []string{"hello"}}); err == nil || !strings.Contains(err.Error(), "dpkg was interrupted") {
		t.Errorf("a plan where dpkg was interrupted: %v", err)
	}
	must(t, m.k.Resume(context.Background(), number))
	if again := m.recipeOf("mariadb"); len(again.Acts) != 0 {
		t.Errorf("gone on with, and a second plan has %d acts", len(again.Acts))
	}
	must(t, m.undo(number, change.UndoOptions{}))
	asBefore(t, before)
	must(t, m.undo(m.dies("mariadb", "/var/lib/mysql/ibdata1"), change.UndoOptions{}))
	asBefore(t, before)
}

// TestPackagesSayWhatIsInTheWay: each is a state of its own, and nothing was changed.
func TestPackagesSayWhatIsInTheWay(t *testing.T) {
	if !inDebian(t) {
		return
	}
	m := newMachine(t)
	before := manifest(t)
	fails := func(what string, want string, r change.Recipe) {
		t.Helper()
		_, err := m.apply(r)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
		t.Logf("%s: %v", what, err)
		asBefore(t, before)
	}
	unlock := lock(t, "/var/lib/dpkg/lock-frontend")
	fails("somebody holds the lock", "lock-frontend", hurried(m.recipeOf("postgres")))
	unlock()
	const nowhere = "/etc/apt/apt.conf.d/99nowhere"
	must(t, os.WriteFile(nowhere, []byte("Acquire::http::Proxy \"http://127.0.0.1:9\";\n"), 0o644))
	before = manifest(t)
	fails("no network", "Unable to fetch", m.recipeOf("postgres"))
	_, err := packages.Recipe(context.Background(), m.h, packages.Want{Names: []string{"no-such-package"}})
	if r, ok := errors.AsType[*change.Refusal](err); !ok || !strings.Contains(r.What, "apt-get update") {
		t.Errorf("a package that nobody has: %v", err)
	}
	_, err = packages.Recipe(context.Background(), m.h, packages.Want{Names: []string{"-o=Dir::Bin::dpkg=/tmp/x"}})
	if err == nil || !strings.Contains(err.Error(), "not a package name") {
		t.Errorf("an option in place of a name: %v", err)
	}
}

// hurried waits for a lock no longer than a second.
func hurried(r change.Recipe) change.Recipe {
	for i := range r.Acts[0].Switch.Do {
		argv := r.Acts[0].Switch.Do[i].Argv
		if at := slices.Index(argv, "DPkg::Lock::Timeout=120"); at >= 0 {
			argv[at] = "DPkg::Lock::Timeout=1"
			return r
		}
	}
	panic("nothing waits for the lock")
}

// lock takes a lock as apt does.
func lock(t *testing.T, name string) (unlock func()) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o640)
	must(t, err)
	must(t, syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK}))
	return func() { f.Close() }
}
