package provision

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"plumb/test/sandbox"
)

// TestSwapPostgres brings a PostgreSQL 15 of Debian 12 under 17 of Debian 13, writes, and goes back: how much is lost is said
// beforehand, what was there before the swap is there, and what was written since lies under another name.
func TestSwapPostgres(t *testing.T) {
	for _, name := range []string{"plain", "none"} { // with snapshots, and without
		t.Run(name, func(t *testing.T) {
			if os.Getenv(inside) == "" {
				sandbox.NeedTime(t, "installs two versions of PostgreSQL: PLUMB_REAL=1 go test ./test/provision -run Swap")
				plumb, err := binary()
				must(t, err)
				inDebianWith(t, plumb)
				return
			}
			w := newSwapping(t, name == "plain")
			w.looks()
			if name == "none" {
				w.unrehearsed()
			} else {
				w.fails()
				w.there()
				w.andBack()
				w.killed()
			}
			w.sh("pg_ctlcluster 15 main stop || pg_ctlcluster 17 main stop")
		})
	}
}

// swapping is a Debian with a server, and the programs of a newer one: a PostgreSQL 15, and those of 17.
type swapping struct {
	*bare
	server string // as plumb calls it
}

func newSwapping(t *testing.T, snapshots bool) swapping {
	t.Helper()
	w := swapping{&bare{T: t, product: "postgres"}, "postgres:5432"}
	if snapshots {
		w.onBtrfs("/var/lib")
	}
	w.sh(`echo 'deb http://deb.debian.org/debian/ trixie main' >/etc/apt/sources.list.d/trixie.list
mkdir -p /etc/postgresql-common; echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
export DEBIAN_FRONTEND=noninteractive; apt-get -q update; apt-get -q -y --no-install-recommends install postgresql-15/bookworm postgresql-17/trixie
pg_createcluster --locale=C.UTF-8 15 main -- --wal-segsize=2; pg_ctlcluster 15 main start`)
	w.own("CREATE TABLE t AS SELECT generate_series(1, 1000) AS a, 0.1::float8 AS f, now() AS n")
	w.own("CREATE TABLE \"a %I t\" (t text PRIMARY KEY, b bytea, i interval, j jsonb)")
	w.own(`INSERT INTO "a %I t" VALUES ('ä', '\x00ff', '1 day -3 h', '{"a": 1}'), ('b', NULL, NULL, NULL); CREATE SEQUENCE s; SELECT nextval('s'), lo_from_bytea(0, 'x')`)
	w.own(`CREATE DATABASE "wörld;"`)
	w.own("ALTER SYSTEM SET work_mem = '7MB'")
	w.sh("echo \"maintenance_work_mem = '99MB'\" >>/etc/postgresql/15/main/postgresql.conf; pg_ctlcluster 15 main reload")
	return w
}

// own asks as the server's superuser.
func (w swapping) own(statement string) string {
	w.Helper()
	return w.sh(`setpriv --reuid=postgres --clear-groups psql -XqAtd postgres -c "$1"`, statement)
}

// command is plumb provision swap.
func (w swapping) command(more ...string) *exec.Cmd {
	return exec.Command("/run/plumb", append([]string{"provision", "swap", w.server, "--timeout", "2m"}, more...)...)
}

// dies is killed as soon as something is there.
func (w swapping) dies(what string, there func() bool, more ...string) {
	w.Helper()
	said, err := os.CreateTemp(w.TempDir(), "said") // a pipe would be held open by what goes on
	must(w.T, err)
	defer said.Close()
	c := w.command(more...)
	c.Stdout, c.Stderr = said, said
	must(w.T, c.Start())
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	waitFor(w.T, what, func() bool {
		select {
		case err := <-ended:
			text, _ := os.ReadFile(said.Name())
			w.Fatalf("swap %v ended before there was %s: %v\n%s", more, what, err, text)
		default:
		}
		return there()
	})
	_ = c.Process.Kill()
	<-ended
}

// goesOn is the next run after a death: what the killed one has left may still run, and is waited for, as the next one says.
func (w swapping) goesOn(more ...string) {
	w.Helper()
	waitFor(w.T, "end of what a killed swap has left", func() bool {
		out, err := w.command(more...).CombinedOutput()
		left := err != nil && strings.Contains(string(out), "a Plumb that was killed started it")
		if err != nil && !left {
			w.Fatalf("swap %v, after a death: %v\n%s", more, err, out)
		}
		if !left {
			w.Logf("swap %v, after a death\n%s", more, out)
		}
		return !left
	})
}

// swap runs it, and wants an exit code.
func (w swapping) swap(code int, more ...string) string {
	w.Helper()
	c := w.command(more...)
	out, err := c.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) || c.ProcessState.ExitCode() != code {
		w.Fatalf("swap %v ended with %d, want %d: %v\n%s", more, c.ProcessState.ExitCode(), code, err, out)
	}
	w.Logf("swap %v\n%s", more, out)
	return string(out)
}

// onBtrfs puts a directory on a filesystem that has snapshots.
func (w swapping) onBtrfs(at string) {
	w.Helper()
	image := filepath.Join(w.TempDir(), "disk")
	w.sh(`export DEBIAN_FRONTEND=noninteractive; apt-get -q -y --no-install-recommends install btrfs-progs; truncate -s 3G "$1"; mkfs.btrfs -q "$1"`, image)
	// The loop goes with its last mount, also when this process is killed.
	w.sh(`if [ -d "$2" ]; then mount -o loop "$1" /mnt; cp -a "$2/." /mnt/; umount /mnt; mount -o loop "$1" "$2"
else mkdir "$2"; mount -o loop "$1" /srv; mkdir /srv/data; mount --bind /srv/data "$2"; fi`, image, at)
	w.Cleanup(func() { w.sh(`umount -l "$1"; ! mountpoint -q /srv || umount -l /srv`, at) })
}

// looks: a dry run changes nothing, and tells what the new version does not take; what pg_upgrade refuses ends a swap before anything stands still.
func (w swapping) looks() {
	files := func() string { // but those of the server, which runs
		return w.sh(`find /etc /usr /var/lib -path /var/lib/postgresql/15/main -prune -o -printf '%p %T@ %m %u\n' | sort`)
	}
	before := files()
	w.swap(0, "17", "--dry-run")
	if now := files(); now != before || before == "" {
		w.Error("a dry run changed files")
	}
	w.sh("echo \"promote_trigger_file = '/tmp/promote'\" >>/etc/postgresql/15/main/postgresql.conf")
	if out := w.swap(3, "17", "--dry-run"); !strings.Contains(out, "promote_trigger_file") || !strings.Contains(out, "/etc/postgresql/15/main/postgresql.conf") {
		w.Errorf("of a setting that 17 does not have it says %s", out)
	}
	w.sh("sed -i '/^promote_trigger_file/d' /etc/postgresql/15/main/postgresql.conf")
	w.own("CREATE TABLE bad (r regconfig, o regproc)")
	since := w.own("SELECT pg_postmaster_start_time()")
	if out := w.swap(3, "17", "--yes"); !strings.Contains(out, "reg") {
		w.Errorf("the rehearsal says %s", out)
	}
	if now := w.own("SELECT pg_postmaster_start_time()"); now != since {
		w.Error("the server was stopped although the rehearsal failed")
	}
	w.own("DROP TABLE bad")
}

// fails: what pg_upgrade does not find wrong, and the new server does, ends the swap while the old one runs on. Here an index
// is in disorder, as after an upgrade of the library that sorts.
func (w swapping) fails() {
	w.Helper()
	since := w.own("SELECT pg_postmaster_start_time()")
	w.own("CREATE TABLE d (a text); INSERT INTO d SELECT chr(n) FROM generate_series(65, 122) n; CREATE INDEX i ON d (a COLLATE \"C\")")
	w.own("UPDATE pg_index SET indcollation = (SELECT oid::text::oidvector FROM pg_collation WHERE collname = 'en-x-icu') WHERE indexrelid = 'i'::regclass")
	if out := w.swap(3, "17", "--yes"); !strings.Contains(out, "was not touched") {
		w.Errorf("an index in disorder: %s", out)
	}
	if now := w.own("SELECT pg_postmaster_start_time()"); now != since {
		w.Error("the server was stopped although the rehearsal failed")
	}
	w.own("DROP TABLE d")
	w.noCopy()
}

// noCopy: nothing is left of a copy.
func (w swapping) noCopy() {
	w.Helper()
	if left, _ := filepath.Glob("/var/lib/plumb-copies/*"); left != nil {
		w.Errorf("of the copy %v is left", left)
	}
	waitFor(w.T, "end of the last server of a copy", func() bool { // one that was killed takes a moment
		got := processes("postgres")
		return len(got) == 0 || w.sh(`for p in "$@"; do tr "\0" " " <"/proc/$p/cmdline"; done 2>/dev/null | grep -c plumb-copies || :`, got...) == "0"
	})
}

// unrehearsed: where no copy can be made, nothing is done before somebody says so.
func (w swapping) unrehearsed() {
	w.Helper()
	if out := w.swap(3, "17", "--yes"); !strings.Contains(out, "--unrehearsed") || exists("/etc/postgresql/17/main") {
		w.Errorf("no copy can be made: %s", out)
	}
	w.swap(0, "17", "--unrehearsed", "--yes")
	if got := w.own(isPostgres); got != "1000 17 7MB 99MB 5432 17/main" {
		w.Errorf("after the swap there is %s", got)
	}
}

const isPostgres = "SELECT count(*) || ' ' || current_setting('server_version_num')::int / 10000 || ' ' || current_setting('work_mem') || ' ' || current_setting('maintenance_work_mem') || ' ' || current_setting('port') || ' ' || current_setting('cluster_name') FROM t"

// there: the data are there, the settings too, and one of the two starts with the machine.
func (w swapping) there() {
	w.own("CREATE DATABASE sorted TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en'")
	w.own("UPDATE pg_database SET datcollversion = '1.0' WHERE datname = 'sorted'")
	w.own("CREATE TABLE c (a text COLLATE \"en-x-icu\" PRIMARY KEY); UPDATE pg_collation SET collversion = '1.0' WHERE collname = 'en-x-icu'")
	w.own("CREATE EXTENSION pg_stat_statements VERSION '1.9'")
	out := strings.Join(strings.Fields(w.swap(0, "17", "--yes")), " ")
	for _, said := range []string{"tables have the same checksums", "upgrading the data and the first start took", "ALTER EXTENSION pg_stat_statements UPDATE", "pages have no checksums",
		"REINDEX INDEX public.c_pkey", "ALTER DATABASE sorted REFRESH COLLATION VERSION"} {
		if !strings.Contains(out, said) {
			w.Errorf("of the rehearsal %q is not said: %s", said, out)
		}
	}
	w.noCopy()
	if got := w.own(isPostgres); got != "1000 17 7MB 99MB 5432 17/main" {
		w.Errorf("after the swap there is %s", got)
	}
	for version, want := range map[string]string{"15": "manual", "17": "auto"} {
		if got := w.sh(`grep -v '^ *#' "/etc/postgresql/$1/main/start.conf" | xargs`, version); got != want {
			w.Errorf("at the next start of the machine %s is %s", version, got)
		}
	}
}

// andBack: how much is lost is said before, and what was written since is kept under another name.
func (w swapping) andBack() {
	for range 30 {
		w.own("INSERT INTO t VALUES (0)")
	}
	n := regexp.MustCompile(`at most ([0-9]+) transactions`).FindStringSubmatch(w.swap(0, "--undo", "--dry-run"))
	if n == nil {
		w.Fatal("what is lost is not said")
	}
	if lost, err := strconv.Atoi(n[1]); err != nil || lost < 30 || lost > 300 {
		w.Errorf("30 were written, and %d are said to be lost: %v", lost, err)
	}
	w.swap(0, "--undo", "--yes")
	if got := w.own("SELECT count(*) || ' ' || current_setting('server_version_num')::int / 10000 FROM t"); got != "1000 15" {
		w.Errorf("gone back there is %s", got)
	}
	aside := w.sh("ls -d /var/lib/postgresql/17/main.taken-back-*")
	if got := w.sh(`cat "$1/PG_VERSION"; ls "$1/configuration/postgresql.conf"`, aside); !strings.HasPrefix(got, "17") {
		w.Errorf("what was written since lies in %s: %s", aside, got)
	}
	w.sh(`rm -r "$1" && rmdir /var/lib/postgresql/17`, aside)
	w.swap(3, "--undo", "--yes")
}

// killed: what was begun is ended by the next run, also where a script of the first one goes on meanwhile.
func (w swapping) killed() {
	for _, amid := range []string{"/var/lib/plumb-copies/swap-*/run", "/var/lib/plumb-copies/swap-*/root/var/lib/postgresql/15/main/plumb-upgraded/base", "/etc/postgresql/17/main/begun-by-plumb"} {
		w.dies(amid, func() bool { found, _ := filepath.Glob(amid); return found != nil }, "17", "--yes")
	}
	w.goesOn("17", "--yes")
	w.noCopy()
	if got := w.own("SELECT count(*) || ' ' || current_setting('server_version_num')::int / 10000 FROM t"); got != "1000 17" {
		w.Errorf("killed and gone on with there is %s", got)
	}
	if got := w.swap(3, "15"); !strings.Contains(got, "newer versions only") {
		w.Errorf("down it is %s", got)
	}
}
