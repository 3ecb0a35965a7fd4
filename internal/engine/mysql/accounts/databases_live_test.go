package accounts_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/engine/mysql"
	"plumb/internal/engine/mysql/accounts"
	"plumb/internal/host"
	"plumb/internal/provision/spec"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// scene is a new server, into which Plumb comes with a login, and a journal.
type scene struct {
	*testing.T
	server *sandbox.Server
	target host.Target
	doer   *host.LiveDoer
	k      *change.Executor
}

func newScene(t *testing.T, login string) *scene {
	t.Helper()
	sandbox.NeedLong(t, "starts a real server: run without -short")
	box := sandbox.ForTest(t, "")
	server, err := box.MySQL(sandbox.MySQLOptions{})
	sandbox.Need(t, err)
	for _, dir := range []string{box.Dir, filepath.Dir(server.Socket)} { // so that others can try to come in
		must(t, os.Chmod(dir, 0o711))
	}
	dsn := login + "@unix(" + server.Socket + ")/"
	target, err := mysql.Given(dsn)
	must(t, err)
	doer := host.NewLiveDoer(host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{"mysql": mysql.Dialer{}}, DSN: dsn}))
	t.Cleanup(func() { doer.Close() })
	k := change.NewExecutor(doer, "test")
	k.Dir = t.TempDir() + "/journal"
	return &scene{t, server, target, doer, k}
}

func (s *scene) apply(r change.Recipe) (number int) {
	s.Helper()
	step := change.Prepared{Step: change.Step{Knob: stack.Knob{Of: stack.Ref{Kind: "mysql", Name: "1"}, Name: "accounts"}}, Recipe: r}
	out, err := s.k.Apply(s.Context(), change.Draft{Steps: []change.Prepared{step}}, change.ApplyOptions{})
	must(s.T, err)
	return out.Number
}

// as asks as a user of the system, over the socket, with a name that the server knows. Who is kept out is told so by the server.
func (s *scene) as(user, name, statement string) (string, error) {
	s.Helper()
	out, err := exec.Command("setpriv", "--reuid", user, "--clear-groups", "mariadb", "--no-defaults", "-S", s.server.Socket, "-u", name, "-N", "-e", statement).CombinedOutput()
	if err != nil && !strings.Contains(string(out), "denied") {
		s.Errorf("%s asks as %s: %v: %s", user, name, err, out)
	}
	return strings.TrimSpace(string(out)), err
}

// The owner of a database comes in as the user that the kernel names, and nobody else does; what is in the database keeps it
// from being taken back, and taken back nothing is left of it.
func TestDatabasesHaveAnOwnerWithoutAPassword(t *testing.T) {
	s := newScene(t, "root")
	if _, err := exec.LookPath("setpriv"); err != nil {
		sandbox.Need(t, sandbox.Missing{What: "no setpriv", Hint: "apt-get install util-linux"})
	}
	db, err := s.server.Open()
	must(t, err)
	defer db.Close()
	before := everybody(t, db)
	want := []spec.Database{{Name: "shop_a", Owner: "games"}, {Name: "shop_b", Owner: "games"}}
	if fresh, err := accounts.Fresh(t.Context(), s.doer, s.target); err != nil || !fresh {
		t.Errorf("a new server is fresh: %v, %v", fresh, err)
	}
	acts, err := accounts.Databases(t.Context(), s.doer, s.target, "mariadb", want)
	must(t, err)
	if len(acts) != 5 {
		t.Errorf("%d acts for two databases of one owner, want 5", len(acts))
	}
	number := s.apply(change.Recipe{Acts: acts})
	if again, err := accounts.Databases(t.Context(), s.doer, s.target, "mariadb", want); err != nil || len(again) != 0 {
		t.Errorf("done, there are %d acts left: %v", len(again), err)
	}
	if fresh, err := accounts.Fresh(t.Context(), s.doer, s.target); err != nil || fresh {
		t.Errorf("with two databases it is fresh: %v, %v", fresh, err)
	}
	if out, err := s.as("games", "games", "CREATE TABLE shop_a.t (a INT); SELECT DATABASE() IS NULL"); err != nil || out != "1" {
		t.Errorf("the owner: %s, %v", out, err)
	}
	if out, err := s.as("games", "games", "CREATE DATABASE shopXa"); err == nil {
		t.Errorf("the owner of shop_a has rights in a database whose name is like it: %s", out)
	}
	if out, err := s.as("nobody", "games", "SELECT 1"); err == nil {
		t.Errorf("another user of the system comes in: %s", out)
	}
	for _, o := range []change.UndoOptions{{}, {Force: true}} {
		err = s.k.Undo(t.Context(), []int{number}, o)
		if _, drifted := errors.AsType[*change.Drifted](err); !drifted {
			t.Errorf("undone with %+v while a table is there: %v", o, err)
		}
	}
	_, err = db.Exec("SELECT COUNT(*) FROM shop_a.t")
	must(t, err)
	_, err = db.Exec("DROP TABLE shop_a.t")
	must(t, err)
	must(t, s.k.Undo(t.Context(), []int{number}, change.UndoOptions{}))
	if after := everybody(t, db); after != before {
		t.Errorf("undone, there are\n%s\nand there were\n%s", after, before)
	}
	if fresh, err := accounts.Fresh(t.Context(), s.doer, s.target); err != nil || !fresh {
		t.Errorf("undone, it is fresh: %v, %v", fresh, err)
	}
}

// Root without a password is let in by the socket alone from then on; Plumb, which is root, still comes in.
func TestRootComesInByTheSocketAlone(t *testing.T) {
	s := newScene(t, "root")
	r, err := accounts.Recipe(t.Context(), s.doer, s.target, "mariadb")
	must(t, err)
	number := s.apply(r)
	fresh := change.NewExecutor(host.NewLiveDoer(host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{"mysql": mysql.Dialer{}}, DSN: "root@unix(" + s.server.Socket + ")/"})), "test")
	fresh.Dir = s.k.Dir
	if again, err := accounts.Recipe(t.Context(), fresh.Doer, s.target, "mariadb"); err != nil || len(again.Acts) != 0 {
		t.Errorf("come in anew, there are %d acts left: %v", len(again.Acts), err)
	}
	if out, err := s.as("nobody", "root", "SELECT 1"); err == nil {
		t.Errorf("nobody comes in as root: %s", out)
	}
	must(t, fresh.Undo(t.Context(), []int{number}, change.UndoOptions{}))
	if out, err := s.as("nobody", "root", "SELECT 1"); err != nil {
		t.Errorf("undone, it is not as it was, when everybody came in: %v: %s", err, out)
	}
}

// Nobody is locked out of a server with the account by which Plumb would take that back.
func TestTheOwnAccountIsNotClosed(t *testing.T) {
	s := newScene(t, "keeper")
	for _, statement := range []string{"CREATE USER keeper@localhost", "GRANT ALL ON *.* TO keeper@localhost WITH GRANT OPTION"} {
		must(t, s.server.Exec(statement))
	}
	_, err := accounts.Recipe(t.Context(), s.doer, s.target, "mariadb")
	if _, refused := errors.AsType[*change.Refusal](err); !refused || !strings.Contains(err.Error(), "'keeper'@'localhost'") {
		t.Errorf("the account that Plumb comes in with has no password: %v", err)
	}
}
