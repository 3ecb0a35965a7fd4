package backup

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/test/sandbox"
)

// driven is a real PostgreSQL that pgBackRest backs up, on a plain directory.
type driven struct {
	t                     *testing.T
	box                   *sandbox.Box
	dir, state, url, name string
	server                *sandbox.Server
	db                    *sql.DB
	more                  []string // flags of the store
}

const archives = "archive_mode = on\n"

func newDriven(t *testing.T, settings string) *driven {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("it runs programs as the server's user: it needs root")
	}
	if _, err := exec.LookPath("pgbackrest"); err != nil {
		sandbox.Need(t, sandbox.Missing{What: "no pgBackRest", Hint: "apt-get install pgbackrest"})
	}
	dir := sandbox.Directory(t, "driven")
	box := sandbox.ForTest(t, dir)
	sandbox.Need(t, box.As("postgres"))
	d := &driven{t: t, box: box, dir: dir, state: filepath.Join(dir, "state"), url: "file://" + filepath.Join(dir, "repository")}
	d.serve("pg", settings)
	return d
}

// serve starts another server, which is the one from now on.
func (d *driven) serve(name, settings string) {
	d.t.Helper()
	port := sandbox.FreePort(d.t)
	var err error
	d.server, err = d.box.Postgres(sandbox.PostgresOptions{Name: name, Port: port, Settings: "wal_level = replica\nfsync = off\nmax_connections = 77\n" + settings})
	sandbox.Need(d.t, err)
	d.db, err = d.server.Open()
	must(d.t, err)
	db := d.db
	d.t.Cleanup(func() { _ = db.Close() })
	d.name = fmt.Sprintf("postgres:%d", port)
}

// plumb runs it, and gives what it said.
func (d *driven) plumb(code int, verb string, args ...string) string {
	d.t.Helper()
	args = append(append(strings.Fields(verb), args...), "--with", "pgbackrest", "--state", d.state)
	out, errs := built.Run(d.t, code, args...)
	return out + errs
}

func (d *driven) first() string {
	d.t.Helper()
	return d.plumb(0, "backup", append([]string{d.name, "--to", d.url, "--set-archiving"}, d.more...)...)
}

func (d *driven) ask(query string) (out string) {
	d.t.Helper()
	must(d.t, d.db.QueryRow(query).Scan(&out))
	return out
}

// archived waits until all that was written up to now is archived.
func (d *driven) archived() (segment string) {
	d.t.Helper()
	segment = d.ask("SELECT pg_walfile_name(pg_switch_wal())")
	d.eventually("the archive has "+segment, func() bool {
		return d.ask("SELECT coalesce(last_archived_wal, '') FROM pg_stat_archiver") >= segment
	})
	return segment
}

func (d *driven) eventually(what string, is func() bool) {
	d.t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			d.t.Fatal("never so: " + what)
		}
	}
}

func (d *driven) stanza() string { return "pg-" + strings.TrimPrefix(d.name, "postgres:") }

func (d *driven) conf() string { return d.state + "-pgbackrest/" + d.stanza() + ".conf" }

func (d *driven) key() string { return d.state + "-pgbackrest/" + d.stanza() + ".private/key.conf" }

func says(t *testing.T, got string, want ...string) {
	t.Helper()
	flat := strings.Join(strings.Fields(got), " ") // lines are wrapped to the screen
	for _, w := range want {
		if !strings.Contains(flat, w) {
			t.Errorf("%q is not in\n%s", w, got)
		}
	}
}

// TestPgBackRest has a server backed up, its backups judged and proven, and brings it back to a moment, also where nothing
// but the store, the key and the sheet are left.
func TestPgBackRest(t *testing.T) {
	d := newDriven(t, archives)
	d.round()
}

// TestPgBackRestToS3 does the same with a bucket.
func TestPgBackRestToS3(t *testing.T) {
	sandbox.NeedTime(t, "a server of S3 is built in two minutes: make test-real does")
	d := newDriven(t, archives)
	cloud, ca := d.box.S3OverTLS(t)
	t.Setenv("AWS_ACCESS_KEY_ID", cloud.Key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", cloud.Secret)
	t.Setenv("AWS_CA_BUNDLE", ca)
	d.url, d.more = "s3://"+cloud.Bucket+"/db1", []string{"--endpoint", cloud.Endpoint, "--region", "us-east-1"}
	t.Cleanup(func() { _ = d.server.Exec("ALTER SYSTEM SET archive_command = ''", "SELECT pg_reload_conf()") }) // or its end waits for the bucket, which is gone by then
	d.round()
	text, err := os.ReadFile(d.conf())
	must(t, err)
	if strings.Contains(string(text), cloud.Secret) {
		t.Error("the login is where everybody reads it")
	}
}

func (d *driven) round() {
	t := d.t
	t.Helper()
	must(t, d.server.Exec("CREATE TABLE t (i INT)", "INSERT INTO t SELECT generate_series(1, 1000)"))
	says(t, d.plumb(3, "backup", append([]string{d.name, "--to", d.url}, d.more...)...), "does not archive its log", "--set-archiving")
	if _, err := os.Stat(d.conf()); err == nil {
		t.Error("what was refused was written")
	}
	says(t, d.first(), "full", "Keep a copy of that file", "no server was started on any of them")
	must(t, d.server.Exec("INSERT INTO t SELECT generate_series(1001, 2000)"))
	says(t, d.plumb(0, "backup", d.name), "incr", "needs 20")
	must(t, d.server.Exec("INSERT INTO t SELECT generate_series(2001, 3000)"))
	at := d.ask("SELECT pg_current_wal_insert_lsn()")
	var moment time.Time
	must(t, d.db.QueryRow("SELECT date_trunc('second', clock_timestamp()) + interval '1 s'").Scan(&moment)) // moments are whole seconds
	d.eventually("that second has come", func() bool {
		return d.ask("SELECT (clock_timestamp() > '"+moment.UTC().Format(time.RFC3339)+"')::text") == "true"
	})
	must(t, d.server.Exec("INSERT INTO t SELECT generate_series(3001, 4000)"))
	d.archived()

	for name, to := range map[string]struct{ moment, want string }{"lsn": {at, "3000"}, "time": {moment.UTC().Format(time.RFC3339), "3000"}, "latest": {"latest", "4000"}} {
		dir := filepath.Join(d.dir, "restored-"+name)
		says(t, d.plumb(0, "restore", "--dir", dir, "--to", to.moment), "start it as its user")
		d.count(dir, to.want)
	}
	d.elsewhere()

	scratch := filepath.Join(d.dir, "s")
	must(t, os.Mkdir(scratch, 0o755))
	says(t, d.plumb(1, "backup list"), "full", "incr", "no server was started")
	sandbox.VerifyAccount(t)
	says(t, d.plumb(0, "verify", "--restore", scratch), "it started, and all checks passed", "has been removed")
	says(t, d.plumb(0, "backup list", "--every", "24h"), "a server started on it on")
	left, err := os.ReadDir(scratch)
	must(t, err)
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	d.known()
}

// known sees that a check knows how old the backups are, and that one was proven.
func (d *driven) known() {
	d.t.Helper()
	files, err := filepath.Glob(d.state + "/known/*.json")
	must(d.t, err)
	if len(files) != 1 {
		d.t.Fatalf("%v is known", files)
	}
	text, err := os.ReadFile(files[0])
	must(d.t, err)
	var p struct {
		Keys    []string
		Servers []struct {
			Name             string
			Backups          int
			Newest, Restored time.Time
		}
	}
	must(d.t, json.Unmarshal(text, &p))
	if len(p.Servers) != 1 || p.Servers[0].Name != d.name || p.Servers[0].Backups != 2 || p.Servers[0].Newest.IsZero() || p.Servers[0].Restored.IsZero() || len(p.Keys) != 1 {
		d.t.Errorf("known: %s", text)
	}
}

// count starts what was restored, and counts its rows.
func (d *driven) count(dir, want string) {
	d.t.Helper()
	conf, err := os.OpenFile(filepath.Join(dir, "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0) // the server that was backed up runs on its socket
	must(d.t, err)
	_, err = fmt.Fprintf(conf, "unix_socket_directories = '%s/%s-run'\n", d.box.Dir, filepath.Base(dir))
	must(d.t, errors.Join(err, conf.Close()))
	s, err := d.box.Postgres(sandbox.PostgresOptions{Name: filepath.Base(dir), Datadir: dir, Port: d.server.Port})
	must(d.t, err)
	db, err := s.Open()
	must(d.t, err)
	defer db.Close()
	d.eventually("the restored server opens its timeline", func() bool {
		recovers := true
		return db.QueryRow("SELECT pg_is_in_recovery()").Scan(&recovers) == nil && !recovers
	})
	var got, archives, listens string
	must(d.t, db.QueryRow("SELECT count(*), current_setting('archive_mode'), current_setting('listen_addresses') FROM t").Scan(&got, &archives, &listens))
	if got != want || archives != "off" || listens != "" {
		d.t.Errorf("%s has %s rows and not %s, archive_mode = %s, listen_addresses = %q", dir, got, want, archives, listens)
	}
	must(d.t, db.Close())
	must(d.t, syscall.Kill(s.PID, syscall.SIGINT))
	d.eventually("the restored server ends", func() bool { return syscall.Kill(s.PID, 0) != nil })
}

// elsewhere restores with nothing but the store and the key, and with a wrong key.
func (d *driven) elsewhere() {
	t := d.t
	t.Helper()
	key, err := os.ReadFile(d.key())
	must(t, err)
	mine := d.state
	defer func() { d.state = mine }()
	wrong := filepath.Join(d.dir, "wrong.conf")
	must(t, os.WriteFile(wrong, []byte("[global]\nrepo1-cipher-pass="+strings.Repeat("x", 64)+"\n"), 0o600))
	right := filepath.Join(d.dir, "right.conf")
	must(t, os.WriteFile(right, key, 0o600))
	dir := filepath.Join(d.dir, "elsewhere")
	for name, identity := range map[string]string{"wrong": wrong, "right": right} {
		d.state = filepath.Join(d.dir, "state-"+name)
		args := append([]string{"--from", d.url, "--stanza", d.stanza(), "--identity", identity, "--user", "postgres", "--dir", dir, "--to", "latest"}, d.more...)
		if identity == wrong {
			says(t, d.plumb(3, "restore", args...), "cannot be read", "is the key the one")
			continue
		}
		says(t, d.plumb(0, "restore", args...), "plumb undo")
		d.count(dir, "4000")
	}
}
