package host_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"plumb/internal/engine/mysql"
	"plumb/internal/engine/postgres"
	"plumb/internal/host"
	"plumb/test/sandbox"
)

// product is a real server, and what is said to it.
type product struct {
	start  func(*sandbox.Box) (*sandbox.Server, error)
	dialer host.Dialer
	given  func(socket string) (dsn string, t host.Target, err error)
	kill   string // one connection, by its number
	count  string // connections other than the one that asks
	slow   string // a statement that takes a minute
	ask    string // which connection it is
	holder string // makes the login of the sessions that are held: any other Plumb of this machine logs in as the superuser

	userOf                          func(socket string) (dsn string, t host.Target, err error) // the login that comes and goes
	makeUser, lock, unlock, killAll string                                                     // of that login and its sessions
}

func products() map[string]product {
	return map[string]product{
		"mariadb": {
			start: func(b *sandbox.Box) (*sandbox.Server, error) {
				return b.MySQL(sandbox.MySQLOptions{Settings: "wait_timeout=1\n"})
			},
			dialer: mysql.Dialer{},
			given: func(socket string) (string, host.Target, error) {
				dsn := "held@unix(" + socket + ")/"
				t, err := mysql.Given(dsn)
				return dsn, t, err
			},
			holder: "CREATE USER held@localhost",
			kill:   "KILL CONNECTION %d",
			count:  "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'held'",
			slow:   "DO SLEEP(60)",
			ask:    "SELECT CONNECTION_ID()",
			userOf: func(socket string) (string, host.Target, error) {
				dsn := "watch:secret@unix(" + socket + ")/"
				t, err := mysql.Given(dsn)
				return dsn, t, err
			},
			makeUser: "CREATE USER watch@localhost IDENTIFIED BY 'secret'",
			lock:     "ALTER USER watch@localhost ACCOUNT LOCK",
			unlock:   "ALTER USER watch@localhost ACCOUNT UNLOCK",
			killAll:  "KILL CONNECTION USER watch@localhost",
		},
		"postgres": {
			start: func(b *sandbox.Box) (*sandbox.Server, error) {
				return b.Postgres(sandbox.PostgresOptions{Settings: "idle_in_transaction_session_timeout = 500\nstatement_timeout = 800\n"})
			},
			dialer: postgres.Dialer{},
			given: func(socket string) (string, host.Target, error) {
				dsn := "postgres://held@/postgres?host=" + socket
				t, err := postgres.Given(dsn)
				return dsn, t, err
			},
			holder: "CREATE ROLE held LOGIN",
			kill:   "SELECT pg_terminate_backend(%d)",
			count:  "SELECT COUNT(*) FROM pg_stat_activity WHERE usename = 'held'",
			slow:   "SELECT pg_sleep(60)",
			ask:    "SELECT pg_backend_pid()",
			userOf: func(socket string) (string, host.Target, error) {
				dsn := "postgres://watch@/postgres?host=" + socket
				t, err := postgres.Given(dsn)
				return dsn, t, err
			},
			makeUser: "CREATE ROLE watch LOGIN",
			lock:     "ALTER ROLE watch NOLOGIN",
			unlock:   "ALTER ROLE watch LOGIN",
			killAll:  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'watch'",
		},
	}
}

// server is a product that runs.
type server struct {
	product
	t      *testing.T
	doer   *host.LiveDoer
	target host.Target
	admin  *sql.DB
}

func run(t *testing.T, p product) *server {
	sandbox.NeedLong(t, "starts a real server: run without -short")
	box := sandbox.ForTest(t, "")
	s, err := p.start(box)
	sandbox.Need(t, err)
	dsn, target, err := p.given(s.Socket)
	sandbox.Need(t, err)
	admin, err := s.Open()
	sandbox.Need(t, err)
	admin.SetMaxOpenConns(1)
	t.Cleanup(func() { admin.Close() })
	sandbox.Need(t, s.Exec(p.holder))
	doer := host.NewLiveDoer(host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{target.Engine: p.dialer}, DSN: dsn}))
	t.Cleanup(func() { doer.Close() })
	return &server{p, t, doer, target, admin}
}

func (s *server) hold(ctx context.Context) host.Held {
	s.t.Helper()
	h, err := s.doer.Hold(ctx, s.target)
	if err != nil {
		s.t.Fatal(err)
	}
	return h
}

func (s *server) kill(h host.Held) error {
	_, err := s.admin.Exec(fmt.Sprintf(s.product.kill, h.ID()))
	return err
}

// left waits until the server has so many connections of ours.
func (s *server) left(want int) {
	s.t.Helper()
	var n int
	for late := time.Now().Add(time.Minute); time.Now().Before(late); time.Sleep(10 * time.Millisecond) {
		if err := s.admin.QueryRow(s.count).Scan(&n); err != nil {
			s.t.Fatal(err)
		}
		if n == want {
			return
		}
	}
	s.t.Errorf("the server has %d connections of ours, want %d", n, want)
}

func (s *server) broken(h host.Held, how string, err error) {
	s.t.Helper()
	if !errors.Is(err, host.ErrBroken) {
		s.t.Errorf("%s: %v", how, err)
	}
	for range 2 {
		if err := h.Exec(s.t.Context(), "SELECT 1"); !errors.Is(err, host.ErrBroken) {
			s.t.Errorf("%s, then: %v", how, err)
		}
	}
	s.left(0)
}

func TestHeldOnRealServers(t *testing.T) {
	for name, p := range products() {
		t.Run(name, func(t *testing.T) {
			s := run(t, p)
			for what, test := range map[string]func(*testing.T, *server){"kills": everyKill, "one": oneConnection, "context": contextEnds} {
				t.Run(what, func(t *testing.T) {
					of := *s
					of.t = t
					test(t, &of)
				})
			}
		})
	}
}

// A session whose connection the server ends is noticed each time, whatever
// is asked next, and no other takes its place.
func everyKill(t *testing.T, s *server) {
	for i := range 50 {
		h := s.hold(t.Context())
		if err := errors.Join(h.Exec(t.Context(), "SELECT 1"), h.Whole(t.Context())); err != nil {
			t.Fatal(err)
		}
		if i%4 == 3 { // while a statement runs
			killed := make(chan error, 1)
			time.AfterFunc(50*time.Millisecond, func() { killed <- s.kill(h) })
			err := h.Exec(t.Context(), s.slow)
			sandbox.Need(t, <-killed)
			s.broken(h, "amid a statement", err)
			continue
		}
		sandbox.Need(t, s.kill(h))
		asked := []func() error{
			func() error { _, err := h.Query(t.Context(), "SELECT 1"); return err },
			func() error { return h.Exec(t.Context(), "SELECT 1") },
			func() error { return h.Whole(t.Context()) },
		}
		s.broken(h, fmt.Sprint("at rest, asked in way ", i%4), asked[i%4]())
	}
}

// One connection serves every statement, refused ones and failed transactions
// too, however short of patience the server is with others.
func oneConnection(t *testing.T, s *server) {
	h := s.hold(t.Context())
	for _, statement := range []string{"BEGIN", "no such statement", "ROLLBACK", "BEGIN", "SELECT 1"} {
		err := h.Exec(t.Context(), statement)
		if wrong := statement == "no such statement"; wrong != (err != nil) || errors.Is(err, host.ErrBroken) {
			t.Errorf("%s: %v", statement, err)
		}
		if err := h.Whole(t.Context()); err != nil {
			t.Errorf("after %s: %v", statement, err)
		}
	}
	time.Sleep(1500 * time.Millisecond) // longer than the server lets others be idle
	rows, err := h.Query(t.Context(), s.ask)
	if err != nil || *rows.Values[0][0] != fmt.Sprint(h.ID()) {
		t.Errorf("it is %d, and the server says %v, %v", h.ID(), rows, err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	s.broken(h, "closed", h.Whole(t.Context()))
}

func contextEnds(t *testing.T, s *server) {
	ctx, cancel := context.WithCancel(t.Context())
	h := s.hold(ctx)
	s.left(1)
	cancel()
	s.left(0)
	s.broken(h, "its context ended", h.Whole(t.Context()))

	ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	h = s.hold(t.Context())
	s.broken(h, "a statement whose context ended", h.Exec(ctx, s.slow))
}
