package real

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"plumb/internal/engine/mysql"
	"plumb/internal/engine/postgres"
	"plumb/internal/host"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

const wrong = "wr0ng-S3cret"

// dsnOf is how a person reaches a server of the sandbox over TCP.
func dsnOf(s *sandbox.Server, user, password string) string {
	login := user
	if password != "" {
		login += ":" + password
	}
	if s.Engine == "postgres" {
		return fmt.Sprintf("postgres://%s@127.0.0.1:%d/postgres", login, s.Port)
	}
	return fmt.Sprintf("mysql://%s@127.0.0.1:%d/", login, s.Port)
}

// bothServers starts a MariaDB and a PostgreSQL that ask for passwords over TCP.
func bothServers(t *testing.T) []*sandbox.Server {
	t.Helper()
	b := box(t)
	check(t, b.As("mysql")) // a password from a file goes to the accounts of the packages alone
	my, err := b.MySQL(sandbox.MySQLOptions{Port: freePort(t)})
	check(t, err)
	check(t, my.Exec("CREATE USER app@localhost IDENTIFIED BY 'right-one'", "CREATE USER app@'127.0.0.1' IDENTIFIED BY 'right-one'"))
	check(t, b.As("postgres"))
	pg, err := b.Postgres(sandbox.PostgresOptions{Port: freePort(t), TCP: true})
	check(t, err)
	check(t, pg.Exec("CREATE ROLE app LOGIN PASSWORD 'right-one'"))
	hba := "local all postgres trust\nlocal all app scram-sha-256\nhost all app 127.0.0.1/32 scram-sha-256\nhost all plumb 127.0.0.1/32 trust\n"
	check(t, os.WriteFile(filepath.Join(pg.Dir, "pg_hba.conf"), []byte(hba), 0o600))
	check(t, pg.Exec("SELECT pg_reload_conf()"))
	return []*sandbox.Server{my, pg}
}

func TestWrongPassword(t *testing.T) {
	for _, s := range bothServers(t) {
		t.Run(s.Engine, func(t *testing.T) {
			dsn := dsnOf(s, "app", wrong)
			text := plumb(t, "check", "--dsn", dsn)
			if text.code != 0 {
				t.Errorf("exit %d: %s", text.code, text.err)
			}
			doc := plumb(t, "check", "--json", "--dsn", dsn)
			tape := filepath.Join(t.TempDir(), "x.tape")
			captured := plumb(t, "capture", "-o", tape, "--dsn", dsn)
			taped, err := os.ReadFile(tape)
			check(t, err)
			hidden(t, wrong, text.out, text.err, doc.out, doc.err, captured.out, captured.err, string(taped))
		})
	}
}

func TestWrongPasswordLeavesAGap(t *testing.T) {
	b := box(t)
	my, err := b.MySQL(sandbox.MySQLOptions{Port: freePort(t)})
	check(t, err)
	check(t, my.Exec("SET PASSWORD = PASSWORD('right-one')")) // root over the socket is refused as well
	s := plumb(t, "stack", "--json", "--dsn", dsnOf(my, "root", wrong)).seen(t)
	ref := refOf(t, s, my)
	contains(t, gapsOf(s, ref), "login refused", "Access denied", "plumb check --grants")
	if in, ok := s.Find(ref).Bool("logged_in"); !ok || in {
		t.Error("it says that it logged in")
	}
	if v := s.Find(ref).Text("version"); v == "" {
		t.Error("the version, which the program tells, was not read without a login")
	}
	if _, set := s.Find(ref).Get("innodb_flush_log_at_trx_commit"); set {
		t.Error("a value was guessed that only a login could tell")
	}
}

func TestWrongPasswordInAFile(t *testing.T) {
	for _, s := range bothServers(t) {
		t.Run(s.Engine, func(t *testing.T) {
			address := s.Socket
			var dialer host.Dialer = mysql.Dialer{}
			file := "[client]\nuser=app\npassword=" + wrong + "\n"
			if s.Engine == "postgres" {
				address = fmt.Sprintf("%s/.s.PGSQL.%d", s.Socket, s.Port)
				dialer, file = postgres.Dialer{}, fmt.Sprintf("localhost:%d:postgres:app:%s\n", s.Port, wrong)
			}
			target := host.Target{Engine: s.Engine, Name: s.Engine, Network: "unix", Address: address,
				Logins: []host.Login{{User: "app", File: "/home/x/.file", Group: "client"}}}
			_, err := dialer.Dial(context.Background(), target, func(string) ([]byte, error) { return []byte(file), nil })
			if !errors.Is(err, host.ErrLogin) {
				t.Fatalf("got %v", err)
			}
			hidden(t, wrong, err.Error())
			contains(t, err.Error(), address, "app")
		})
	}
}

func TestServerIsDown(t *testing.T) {
	for _, engine := range []string{"mysql", "postgres"} {
		t.Run(engine+"_port_refused", func(t *testing.T) {
			port := freePort(t)
			sandbox.NeedLong(t, "reads this host")
			dsn := fmt.Sprintf("%s://app:%s@127.0.0.1:%d/", engine, wrong, port)
			r := plumb(t, "stack", "--json", "--dsn", dsn)
			contains(t, gapsOf(r.seen(t), stack.Ref{Kind: engine, Name: fmt.Sprintf("127.0.0.1:%d", port)}),
				"cannot connect", "connection refused", "is the server accepting connections?")
			hidden(t, wrong, r.out, r.err)
		})
	}
}

// A server that is stopped in the middle accepts connections and says nothing.
func TestServerDoesNotAnswer(t *testing.T) {
	b := box(t)
	my, err := b.MySQL(sandbox.MySQLOptions{Port: freePort(t)})
	check(t, err)
	pg, err := b.Postgres(sandbox.PostgresOptions{Port: freePort(t)})
	check(t, err)
	for _, s := range []*sandbox.Server{my, pg} {
		check(t, syscall.Kill(s.PID, syscall.SIGSTOP))
		defer syscall.Kill(s.PID, syscall.SIGCONT)
	}
	r := plumb(t, "stack", "--json")
	if r.took.Seconds() > 12 {
		t.Errorf("took %v", r.took)
	}
	for _, s := range []*sandbox.Server{my, pg} {
		seen := r.seen(t)
		ref := refOf(t, seen, s)
		if in, ok := seen.Find(ref).Bool("logged_in"); !ok || in {
			t.Errorf("%s: it says that it logged in", ref)
		}
		contains(t, gapsOf(seen, ref), "cannot connect", "answer", "is the server accepting connections?")
	}
}

// The socket of a server that was killed stays behind: nothing is found, and
// nothing hangs on it.
func TestSocketLeftBehind(t *testing.T) {
	b := box(t)
	my, err := b.MySQL(sandbox.MySQLOptions{})
	check(t, err)
	check(t, syscall.Kill(my.PID, syscall.SIGKILL))
	gone(t, my.PID)
	r := plumb(t, "stack", "--json", "--dsn", "root@unix("+my.Socket+")/")
	contains(t, gapsOf(r.seen(t), stack.Ref{Kind: "mysql", Name: my.Socket}), "cannot connect", "connection refused")
}

// remoteOf makes a port that leads to a server as a tunnel or a NAT does: no
// process here listens on it but this test.
func remoteOf(t *testing.T, s *sandbox.Server) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.Port))
			if err != nil {
				in.Close()
				continue
			}
			go func() { io.Copy(out, in); out.Close() }()
			go func() { io.Copy(in, out); in.Close() }()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

// A server elsewhere is judged without this host's facts, and a capture of it
// replays to the same findings.
func TestRemoteServer(t *testing.T) {
	for _, s := range bothServers(t) {
		t.Run(s.Engine, func(t *testing.T) {
			far := *s
			far.Port = remoteOf(t, s)
			user := "app"
			dsn := dsnOf(&far, user, "right-one")
			seen := plumb(t, "stack", "--json", "--dsn", dsn).seen(t)
			ref := stack.Ref{Kind: s.Engine, Name: fmt.Sprintf("127.0.0.1:%d", far.Port)}
			db := seen.Find(ref)
			if db == nil {
				t.Fatalf("%s is not among %v", ref, seen.OfKind(s.Engine))
			}
			if in, _ := db.Bool("logged_in"); !in {
				t.Fatal(gapsOf(seen, ref))
			}
			if remote, _ := db.Bool("remote"); !remote || len(db.Links["process"]) != 0 {
				t.Errorf("%s passes for a server of this host", ref)
			}
			for _, role := range seen.Roles {
				if role.DB == ref && !role.Filesystem.IsZero() {
					t.Errorf("%s of %s was placed on this host's %s", role.Name, ref, role.Filesystem)
				}
			}
			if refOf(t, seen, s) == ref {
				t.Error("the server of this host and the one elsewhere are one")
			}
			sameFromTape(t, ref, "--dsn", dsn)
		})
	}
}

// sameFromTape captures and demands that the tape tells of a server.
func sameFromTape(t *testing.T, ref stack.Ref, args ...string) {
	t.Helper()
	tape := filepath.Join(t.TempDir(), "x.tape")
	if r := plumb(t, append([]string{"capture", "-o", tape}, args...)...); r.code != 0 {
		t.Fatal(r.err)
	}
	text, err := os.ReadFile(tape)
	check(t, err)
	hidden(t, "right-one", string(text))
	seen := plumb(t, "stack", "--json", "--tape", tape).seen(t)
	db := seen.Find(ref)
	if db == nil {
		t.Fatalf("%s is not on the tape", ref)
	}
	if in, _ := db.Bool("logged_in"); !in || len(db.Facts) < 50 {
		t.Errorf("the tape tells little of %s: %d facts; %s", ref, len(db.Facts), gapsOf(seen, ref))
	}
}

// section gives the statements that --grants prints for one server.
func section(t *testing.T, all, title string) []string {
	t.Helper()
	_, text, ok := strings.Cut(all, "-- "+title)
	if !ok {
		t.Fatalf("no %s in %s", title, all)
	}
	text, _, _ = strings.Cut(text, "\n\n")
	_, text, _ = strings.Cut(text, "\n") // the rest of the title
	var out []string
	for _, s := range strings.SplitAfter(text, ";\n") {
		var lines []string
		for line := range strings.Lines(s) {
			if !strings.HasPrefix(line, "--") && !strings.HasPrefix(line, " ") {
				lines = append(lines, line)
			}
		}
		if s := strings.TrimSpace(strings.Join(lines, "")); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// A user without privileges gives part of the picture; what --grants prints
// makes the denied parts visible.
func TestGrantsAreEnough(t *testing.T) {
	grants := plumb(t, "check", "--grants")
	for _, s := range bothServers(t) {
		t.Run(s.Engine, func(t *testing.T) {
			login, title := []string{"CREATE ROLE plumb LOGIN"}, "PostgreSQL 10 and later"
			if s.Engine == "mysql" {
				login, title = []string{"CREATE USER plumb@localhost IDENTIFIED BY 'right-one'"}, "MariaDB 10.5 and later"
			}
			check(t, s.Exec(login...))
			dsn := dsnOf(s, "plumb", "right-one")
			before := plumb(t, "stack", "--json", "--dsn", dsn).seen(t)
			ref := refOf(t, before, s)
			denied := gapsOf(before, ref)
			contains(t, denied, "see `plumb check --grants`")
			if in, _ := before.Find(ref).Bool("logged_in"); !in || len(before.Find(ref).Facts) < 50 {
				t.Errorf("little was read without privileges: %d facts", len(before.Find(ref).Facts))
			}
			check(t, s.Exec(map[string]string{"mysql": "DROP USER plumb@localhost", "postgres": "DROP ROLE plumb"}[s.Engine]))
			check(t, s.Exec(section(t, grants.out, title)...))
			if s.Engine == "mysql" { // the test is not the operating-system user plumb
				check(t, s.Exec("ALTER USER plumb@localhost IDENTIFIED BY 'right-one'"))
			}
			after := plumb(t, "stack", "--json", "--dsn", dsn).seen(t)
			if left := gapsOf(after, ref); strings.Contains(left, "not allowed") || strings.Contains(left, "--grants") {
				t.Errorf("still denied after the grants:\n%s\nbefore:\n%s", left, denied)
			}
		})
	}
}

func gone(t *testing.T, pid int) {
	t.Helper()
	for range 100 {
		if state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
		syscall.Nanosleep(&syscall.Timespec{Nsec: 5e7}, nil)
	}
	t.Fatalf("process %d does not end", pid)
}
