package real

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/test/namespace"
	"plumb/test/program"
	"plumb/test/sandbox"
)

const (
	inOwnMounts = "PLUMB_TEST_OWN_MOUNTS" // set in the process that may mount over /root and /etc/passwd
	myPassword  = "s3cr3t-of-mysql"
	pgPassword  = "s3cr3t-of-postgres"
)

// TestRogueServersLearnNoPassword: root has passwords in its option and password
// files, and somebody else's processes call themselves mysqld and postgres.
// Whatever command meets them, they learn neither a password nor an answer made
// with one, and the result says why. The real servers, run by the accounts of
// their packages, are logged in to with the same files.
func TestRogueServersLearnNoPassword(t *testing.T) {
	if os.Getenv(inOwnMounts) == "" {
		againInOwnMounts(t)
		return
	}
	if out, err := exec.Command("sh", "-c", namespace.LetGo("")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b := box(t)
	fake, err := program.Rogue(b.Dir)
	check(t, err)
	asRootWithPasswords(t, b)
	t.Run("rogue", func(t *testing.T) { rogues(t, fake) })
	t.Run("real", func(t *testing.T) { realOnes(t, b) })
}

// againInOwnMounts runs the test again in a process with mounts and numbers of
// processes of its own: it puts other files in the place of root's.
func againInOwnMounts(t *testing.T) {
	sandbox.NeedLong(t, "starts real servers: run without -short")
	if os.Getuid() != 0 {
		t.Skip("needs root: it is about root's password files")
	}
	if out, err := exec.Command("unshare", "--mount", "--propagation", "private", "true").CombinedOutput(); err != nil { // in a chroot, for example
		t.Skipf("no mounts of its own can be had here: %s", out)
	}
	cmd := exec.Command("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private",
		os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inOwnMounts+"=1")
	out, err := cmd.CombinedOutput()
	switch text := string(out); {
	case err == nil && strings.Contains(text, "--- SKIP"):
		t.Skipf("%s", out)
	case err != nil || !strings.Contains(text, "--- PASS: "+t.Name()):
		t.Fatalf("%v\n%s", err, out)
	default:
		t.Logf("%s", out)
	}
}

// asRootWithPasswords gives root other files, and the machine the accounts of
// the packages.
func asRootWithPasswords(t *testing.T, b *sandbox.Box) {
	t.Helper()
	check(t, syscall.Mount("tmpfs", "/root", "tmpfs", 0, "mode=0700"))
	check(t, os.WriteFile("/root/.my.cnf", []byte("[client]\nuser=root\npassword="+myPassword+"\n"), 0o600))
	check(t, os.WriteFile("/root/.pgpass", []byte("localhost:*:*:postgres:"+pgPassword+"\n"), 0o600))
	users, err := os.ReadFile("/etc/passwd")
	check(t, err)
	for name, uid := range map[string]string{"mysql": "59991", "postgres": "59992"} {
		if !bytes.Contains(users, []byte("\n"+name+":")) {
			users = append(users, name+":x:"+uid+":"+uid+"::/nonexistent:/bin/false\n"...)
		}
	}
	file := filepath.Join(b.Dir, "passwd")
	check(t, os.WriteFile(file, users, 0o644))
	check(t, syscall.Mount(file, "/etc/passwd", "", syscall.MS_BIND, ""))
	t.Setenv("HOME", "/root")
	for _, name := range []string{"MYSQL_PWD", "PGPASSWORD", "PGPASSFILE", "PLUMB_DSN"} {
		t.Setenv(name, "")
	}
}

// rogues starts a process of nobody's for each engine, and runs what logs in
// to servers.
func rogues(t *testing.T, fake string) {
	dir, err := os.MkdirTemp("/tmp", "rogue-")
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	check(t, os.Chown(dir, 65534, 65534))
	my, pg := filepath.Join(dir, "my.sock"), filepath.Join(dir, ".s.PGSQL.5432")
	told := map[string]string{}
	for _, r := range []struct{ program, socket, plugin string }{
		{"mysqld", my, "caching_sha2_password"}, {"mysqld", my + "2", "mysql_native_password"}, {"postgres", pg, ""},
	} {
		name := filepath.Join(dir, r.program)
		if _, err := os.Stat(name); err != nil {
			text, err := os.ReadFile(fake)
			check(t, err)
			check(t, os.WriteFile(name, text, 0o755))
		}
		told[r.socket] = r.socket + ".told"
		cmd := exec.Command(name, "--socket="+r.socket, "--told="+told[r.socket], "--plugin="+r.plugin)
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		check(t, cmd.Start())
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		waitFor(t, r.socket)
	}
	found := []string{my, my + "2", pg}
	for _, c := range []struct {
		argv []string
		code int
		asks []string // whom it must have met
	}{
		{[]string{"check", "--all"}, 0, found},
		{[]string{"stack"}, 0, found},
		{[]string{"capture", "-o", filepath.Join(dir, "t.tape")}, 0, found},
		{[]string{"fix", "--dry-run"}, -1, found},
		{[]string{"rehearse", "--dry-run"}, -1, found},
		{[]string{"load", "oltp", "point_select", "run", "--time=1", "--mysql-socket=" + my}, 3, nil},
		{[]string{"load", "oltp", "point_select", "run", "--time=1", "--pgsql-host=" + dir, "--pgsql-user=postgres"}, 3, nil},
	} {
		out := runAny(t, c.code, c.argv...)
		for _, socket := range found {
			text, err := os.ReadFile(told[socket])
			check(t, err)
			for _, secret := range []string{myPassword, pgPassword} {
				if bytes.Contains(text, []byte(secret)) {
					t.Errorf("plumb %s told %s a password:\n%s", c.argv[0], socket, text)
				}
			}
			// After the name of the user: no proof at all, or an empty one.
			if bytes.Contains(text, []byte("root\\x00\\x14")) || bytes.Contains(text, []byte("root\\x00 ")) {
				t.Errorf("plumb %s gave %s an answer made with a password:\n%s", c.argv[0], socket, text)
			}
		}
		for _, socket := range c.asks {
			if text, _ := os.ReadFile(told[socket]); !bytes.Contains(text, []byte("connected")) {
				t.Errorf("plumb %s did not meet %s", c.argv[0], socket)
			}
		}
		if c.argv[0] == "check" || c.argv[0] == "load" {
			if !strings.Contains(strings.Join(strings.Fields(out), " "), "is withheld, because process") {
				t.Errorf("plumb %s does not say why:\n%s", c.argv[0], out)
			}
		}
		for _, socket := range found {
			check(t, os.Truncate(told[socket], 0))
		}
	}
}

// realOnes logs in to real servers with the passwords of root's files.
func realOnes(t *testing.T, b *sandbox.Box) {
	check(t, b.As("mysql"))
	s, err := b.MySQL(sandbox.MySQLOptions{Port: freePort(t)})
	check(t, err)
	check(t, s.Exec("SET PASSWORD = PASSWORD('"+myPassword+"')"))
	check(t, b.As("postgres"))
	file, err := b.Write("password", pgPassword+"\n")
	check(t, err)
	p, err := b.Postgres(sandbox.PostgresOptions{Port: freePort(t), Auth: "scram-sha-256", Initdb: []string{"--pwfile=" + file}})
	check(t, err)
	saw := look(t)
	for _, server := range []*sandbox.Server{s, p} {
		db := saw.Find(refOf(t, saw, server))
		if in, _ := db.Bool("logged_in"); !in {
			gap, _ := saw.GapFor(db.Ref, "version")
			t.Errorf("not logged in to the real %s: %+v", server.Engine, gap)
		}
	}
	out := runAny(t, 3, "load", "oltp", "point_select", "run", "--time=1", "--mysql-socket="+s.Socket, "--mysql-db=nothing") // which is not there
	if !strings.Contains(out, "1049") {
		t.Errorf("load was not logged in to the real server:\n%s", out)
	}
}

// runAny runs plumb and gives all it said; code -1 takes any.
func runAny(t *testing.T, code int, argv ...string) string {
	t.Helper()
	cmd := exec.Command(shared.plumb.Path, argv...)
	out, err := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); code >= 0 && got != code {
		t.Errorf("plumb %s: exit %d (%v), want %d\n%s", strings.Join(argv, " "), got, err, code, out)
	}
	return string(out)
}

func waitFor(t *testing.T, socket string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		info, err := os.Stat(socket)
		if err == nil && info.Mode().Perm() == 0o777 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s did not come: %v", socket, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
