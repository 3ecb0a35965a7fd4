package mysql_test

import (
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/change/changetest"
	"plumb/internal/engine/mysql"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// live is a private server with the LiveDoer that changes it.
type live struct {
	t      *testing.T
	server *sandbox.Server
	db     *sql.DB
	doer   *host.LiveDoer
	cat    *catalog.Catalog
	conf   string
}

func newLive(t *testing.T, o sandbox.MySQLOptions) *live {
	t.Helper()
	sandbox.NeedLong(t, "starts a real server: run without -short")
	box := sandbox.ForTest(t, "")
	server, err := box.MySQL(o)
	sandbox.Need(t, err)
	db, err := server.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	cat := hosttest.Catalog(t)
	doer := host.NewLiveDoer(host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{"mysql": mysql.Dialer{}}, DSN: "root@unix(" + server.Socket + ")/"}))
	t.Cleanup(func() { doer.Close() })
	return &live{t, server, db, doer, cat, filepath.Join(filepath.Dir(server.Socket), "my.cnf")}
}

// given names the server as --dsn does.
func (l *live) given() *host.Target {
	t, err := mysql.Given("root@unix(" + l.server.Socket + ")/")
	if err != nil {
		l.t.Fatal(err)
	}
	return &t
}

// user is who runs the server.
func (l *live) user() int {
	l.t.Helper()
	of, err := os.Stat("/proc/" + strconv.Itoa(l.server.PID))
	if err != nil {
		l.t.Fatal(err)
	}
	return int(of.Sys().(*syscall.Stat_t).Uid)
}

// observe is what a check would see of the server.
func (l *live) observe() *stack.Stack {
	l.t.Helper()
	var seen stack.Stack
	var obs stack.Observation
	p := obs.New("process", strconv.Itoa(l.server.PID))
	for name, v := range map[string]stack.Value{"engine": stack.Text("mysql"), "own_mounts": stack.Bool(false), "uid": stack.Int(int64(l.user())),
		"args": stack.List([]string{"mariadbd", "--defaults-file=" + l.conf}), "listen": stack.List([]string{"unix:" + l.server.Socket})} {
		p.Set(name, v, "test")
	}
	seen.Add("process", obs)
	obs, err := mysql.NewProbe(l.cat, l.given()).Collect(l.t.Context(), l.doer, &seen)
	if err != nil {
		l.t.Fatal(err)
	}
	seen.Add("mysql", obs)
	return &seen
}

func (l *live) knob(name string) stack.Knob {
	return stack.Knob{Of: stack.Ref{Kind: "mysql", Name: l.server.Socket}, Name: name}
}

// state is all that setting a knob may touch.
func (l *live) state(name string) string {
	l.t.Helper()
	var value string
	if err := l.db.QueryRow("SELECT @@GLOBAL." + name).Scan(&value); err != nil {
		l.t.Fatal(err)
	}
	out := []string{name + " = " + value, "persisted = " + l.persisted(name)}
	files, err := filepath.Glob(filepath.Dir(l.conf) + "/*.cnf")
	more, err2 := filepath.Glob(filepath.Dir(l.conf) + "/*/*.cnf")
	if err := errors.Join(err, err2); err != nil {
		l.t.Fatal(err)
	}
	for _, f := range append(files, more...) {
		text, err := os.ReadFile(f)
		if err != nil {
			l.t.Fatal(err)
		}
		out = append(out, f+":", string(text))
	}
	return strings.Join(out, "\n")
}

// persisted gives what SET PERSIST_ONLY keeps, on servers that have it.
func (l *live) persisted(name string) string {
	var value string
	err := l.db.QueryRow("SELECT VARIABLE_VALUE FROM performance_schema.persisted_variables WHERE VARIABLE_NAME = '" + name + "'").Scan(&value)
	if err != nil {
		return err.Error()
	}
	return value
}

func (l *live) exec(statements ...string) {
	l.t.Helper()
	if err := l.server.Exec(statements...); err != nil {
		l.t.Fatal(err)
	}
}

// suite is the conformance suite for one knob.
func (l *live) suite(t *testing.T, name string, to stack.Value, few int, meddle ...string) {
	c := changetest.Case{
		Doer: l.doer, Setter: mysql.NewSetter(l.cat, l.given()), Catalog: l.cat, Observe: l.observe, Knob: l.knob(name), To: to, Unsafe: true,
		State: func() string { return l.state(name) }, Dir: changetest.Journal(t.TempDir()), Few: few,
	}
	if meddle != nil {
		c.Meddle = func() { l.exec(meddle...) }
	}
	changetest.Run(t, c)
}

// A number, a switch, a word and a fraction, in the server's own option file.
func TestSuiteOnMariaDB(t *testing.T) {
	l := newLive(t, sandbox.MySQLOptions{Settings: "sync-binlog = 0   # as in an article\nlog_bin\nserver_id=1\nloose-innodb_io_capacity=300"})
	for _, c := range []struct {
		name   string
		to     stack.Value
		meddle []string
	}{
		{"sync_binlog", stack.Int(1), []string{"SET GLOBAL sync_binlog = 7"}},
		{"innodb_io_capacity", stack.Int(900), nil},
		{"innodb_flush_neighbors", stack.Int(0), nil},
		{"general_log", stack.Bool(true), nil},
		{"binlog_format", stack.Text("ROW"), nil},
		{"innodb_max_dirty_pages_pct", stack.Float(70), nil},
	} {
		t.Run(c.name, func(t *testing.T) { l.suite(t, c.name, c.to, 9, c.meddle...) })
	}
}

// MySQL keeps values by itself; what it refuses to keep goes into a file.
func TestSuiteOnMySQL(t *testing.T) {
	o, err := mysqlOfSid()
	sandbox.Need(t, err)
	o.Settings = "sync_binlog = 0"
	l := newLive(t, o)
	l.exec("SET PERSIST_ONLY innodb_io_capacity = 300", "SET PERSIST_ONLY innodb_read_io_threads = 3")
	for _, c := range []struct {
		name   string
		to     stack.Value
		meddle []string
	}{
		{"sync_binlog", stack.Int(1), []string{"SET GLOBAL sync_binlog = 7"}},
		{"innodb_io_capacity", stack.Int(900), []string{"SET PERSIST_ONLY innodb_io_capacity = 700"}},
		{"innodb_read_io_threads", stack.Int(8), nil},
		{"general_log", stack.Bool(true), nil},
		{"innodb_max_dirty_pages_pct", stack.Float(70), nil},
		{"innodb_redo_log_capacity", stack.Int(200 << 20), nil},
		{"innodb_doublewrite", stack.Text("OFF"), nil},
		{"innodb_buffer_pool_size", stack.Int(256 << 20), nil},
	} {
		t.Run(c.name, func(t *testing.T) { l.suite(t, c.name, c.to, 20, c.meddle...) })
	}
}

// With an included directory the value goes into a file of ours there, which
// is read last. One that is read at start only waits for a restart.
func TestDropInAndRestart(t *testing.T) {
	l := newLive(t, sandbox.MySQLOptions{Settings: "sync_binlog = 0"})
	dir := filepath.Join(filepath.Dir(l.conf), "conf.d")
	text, err := os.ReadFile(l.conf)
	if err := errors.Join(err, os.Mkdir(dir, 0o755), os.Chown(dir, l.user(), -1), os.WriteFile(dir+"/50-own.cnf", []byte("[mysqld]\ninnodb_log_buffer_size=8M\n"), 0o644),
		os.WriteFile(l.conf, append(text, []byte("!includedir "+dir+"\n")...), 0o644)); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]stack.Value{"sync_binlog": stack.Int(1), "innodb_log_buffer_size": stack.Int(32 << 20), "innodb_doublewrite": stack.Bool(false)} {
		t.Run(name, func(t *testing.T) {
			fact := l.cat.Fact("mysql", name)
			if fact.Type == catalog.Text {
				to = stack.Text("OFF")
			}
			r, err := mysql.NewSetter(l.cat, l.given()).Recipe(t.Context(), l.doer, l.observe(), change.Want{Knob: l.knob(name), To: to, Fact: fact})
			if err != nil || r.Lasts != dir+"/zz-plumb.cnf" || (r.Waits != "") != (name != "sync_binlog") {
				t.Fatalf("%+v, %v", r, err)
			}
			readsLast(t, l, r.Acts[len(r.Acts)-1].Edit)
			l.suite(t, name, to, 9)
		})
	}
}

// readsLast asks MariaDB's own reader of option files what a start would take.
func readsLast(t *testing.T, l *live, e *change.Edit) {
	program, err := exec.LookPath("my_print_defaults")
	if err != nil {
		t.Log("not asked what a start would take:", err)
		return
	}
	if err := os.WriteFile(e.File, []byte("[mysqld]\n"+strings.TrimPrefix(e.Key, "mysqld/")+" = "+e.Value+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(e.File)
	out, err := exec.Command(program, "--defaults-file="+l.conf, "mysqld", "mariadb").Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if want := "--" + strings.TrimPrefix(e.Key, "mysqld/") + "=" + e.Value; err != nil || lines[len(lines)-1] != want {
		t.Errorf("the last option of a start is %s, not %s: %v", lines[len(lines)-1], want, err)
	}
}

// The buffer pool grows and shrinks in steps.
func TestBufferPool(t *testing.T) {
	l := newLive(t, sandbox.MySQLOptions{Settings: "innodb_buffer_pool_size = 128M\ninnodb_buffer_pool_chunk_size = 1M"})
	r, err := mysql.NewSetter(l.cat, l.given()).Recipe(t.Context(), l.doer, l.observe(),
		change.Want{Knob: l.knob("innodb_buffer_pool_size"), To: stack.Int(512 << 20), Fact: l.cat.Fact("mysql", "innodb_buffer_pool_size")})
	if err != nil || len(r.Acts) != 4 || r.Acts[0].Switch.Guard == nil {
		t.Fatalf("%d acts, %v", len(r.Acts), err)
	}
	l.suite(t, "innodb_buffer_pool_size", stack.Int(384<<20), 40)
	l.suite(t, "innodb_buffer_pool_size", stack.Int(64<<20), 40)
}

// What cannot be set, or not so that it lasts, is refused before anything is
// touched, with the reason.
func TestRefusals(t *testing.T) {
	l := newLive(t, sandbox.MySQLOptions{Settings: "sync_binlog = 0"})
	for _, c := range []struct {
		name, knob string
		to         stack.Value
		args       []string
		want       string
	}{
		{"out of range", "innodb_io_capacity", stack.Int(5), nil, "outside the range that the server accepts for innodb_io_capacity: 100 to"},
		{"no such word", "binlog_format", stack.Text("FAST"), nil, "not one of the values of binlog_format: MIXED"},
		{"not in this server", "innodb_redo_log_capacity", stack.Int(1 << 30), nil, "has no variable innodb_redo_log_capacity"},
		{"on the command line", "sync_binlog", stack.Int(1), []string{"mariadbd", "--defaults-file=" + l.conf, "--sync-binlog=0"}, "started with --sync-binlog on its command line"},
		{"no option files", "sync_binlog", stack.Int(1), []string{"mariadbd", "--no-defaults"}, "started with --no-defaults"},
		{"more than there is", "innodb_buffer_pool_size", stack.Int(1 << 50), nil, "must stay free"},
	} {
		s := l.observe()
		if c.args != nil {
			p := s.OfKind("process")[0]
			p.Set("args", stack.List(c.args), "test")
		}
		_, err := mysql.NewSetter(l.cat, l.given()).Recipe(t.Context(), l.doer, s, change.Want{Knob: l.knob(c.knob), To: c.to, Fact: l.cat.Fact("mysql", c.knob)})
		if r, ok := errors.AsType[*change.Refusal](err); !ok || !strings.Contains(r.Why, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := os.Chmod(l.conf, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := mysql.NewSetter(l.cat, l.given()).Recipe(t.Context(), l.doer, l.observe(), change.Want{Knob: l.knob("sync_binlog"), To: stack.Int(1), Fact: l.cat.Fact("mysql", "sync_binlog")})
	if err == nil || !strings.Contains(err.Error(), "the server ignores it") {
		t.Errorf("an option file that everybody can write: %v", err)
	}
}

// log_bin shows ON or OFF, and its option takes a name: whoever writes OFF gets a log. So it is not set, nor are the names of logs that
// are there, and the reason is told.
func TestNamesOfLogsAreRefused(t *testing.T) {
	for name, tree := range map[string]func() (sandbox.MySQLOptions, error){
		"MariaDB":             func() (sandbox.MySQLOptions, error) { return sandbox.MySQLOptions{}, nil },
		"MySQL of Debian sid": mysqlOfSid,
	} {
		t.Run(name, func(t *testing.T) {
			o, err := tree()
			sandbox.Need(t, err)
			o.Settings = "log_bin = OFF\nserver_id = 1"
			l := newLive(t, o)
			if got := l.state("log_bin") + l.state("log_bin_basename"); !strings.Contains(got, "log_bin = 1") || !strings.Contains(got, "/OFF\n") {
				t.Errorf("with log_bin = OFF:\n%s", got)
			}
			for knob, to := range map[string]stack.Value{"log_bin": stack.Bool(false), "log_bin_index": stack.Text("/srv/log.index"), "relay_log": stack.Text("/srv/relay"), "relay_log_index": stack.Text("/srv/relay.index")} {
				_, err := mysql.NewSetter(l.cat, l.given()).Recipe(t.Context(), l.doer, l.observe(), change.Want{Knob: l.knob(knob), To: to, Fact: l.cat.Fact("mysql", knob)})
				if r, ok := errors.AsType[*change.Refusal](err); !ok || !strings.Contains(r.Why, knob+" cannot be set") || !strings.Contains(r.What, "option file") {
					t.Errorf("%s: %v", knob, err)
				}
			}
		})
	}
	_, err := mysql.NewSetter(nil, nil).Recipe(t.Context(), nil, nil, change.Want{Knob: stack.Knob{Name: "log_bin"}, To: stack.Bool(false), Image: true})
	if err == nil || !strings.Contains(err.Error(), "a log called OFF") {
		t.Errorf("in an image: %v", err)
	}
}
