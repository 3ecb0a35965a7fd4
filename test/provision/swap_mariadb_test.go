package provision

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plumb/test/sandbox"
)

// TestSwapMariaDB brings a MariaDB 10.11 of Debian 12 under 11.8 of Debian 13, writes, and goes back: the new one was tried on a
// copy of a point, how much is lost is said beforehand, and the data and the packages of before are there again.
func TestSwapMariaDB(t *testing.T) {
	for _, c := range []struct {
		name string
		at   string // what lies on the filesystem with snapshots: mounted itself, or a directory of it, as provision has it
	}{{"plain", "/var/lib"}, {"watched", "/var/lib"}, {"mounted", "/var/lib/mysql"}, {"none", ""}} {
		t.Run(c.name, func(t *testing.T) {
			if os.Getenv(inside) == "" {
				sandbox.NeedTime(t, "installs two versions of MariaDB: PLUMB_REAL=1 go test ./test/provision -run Swap")
				plumb, err := binary()
				must(t, err)
				inDebianWith(t, plumb)
				return
			}
			w := &swappingMariaDB{swapping{&bare{T: t, product: "mariadb"}, "mysql:3306"}}
			w.install(c.at)
			w.looks()
			switch c.name {
			case "none":
				w.unrehearsed()
			case "plain":
				w.fails()
				w.there()
				w.andBack("/var/lib/mysql.since-11.8")
				w.killed()
			case "watched":
				w.watched()
			default:
				w.there()
				w.andBack("/var/lib/mysql/.mysql.since-11.8")
			}
			w.sh("service mariadb stop")
		})
	}
}

// swappingMariaDB is a Debian with a MariaDB 10.11, whose sources have 11.8 too.
type swappingMariaDB struct{ swapping }

func (w *swappingMariaDB) install(at string) {
	w.Helper()
	if at != "" {
		w.onBtrfs(at)
	}
	address := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(250), rand.IntN(250), 1+rand.IntN(250)) // other servers of this machine have port 3306, too
	w.sh(`export DEBIAN_FRONTEND=noninteractive
apt-get -q -y --no-install-recommends install mariadb-server procps
echo 'deb http://deb.debian.org/debian/ trixie main' >/etc/apt/sources.list.d/trixie.list
printf '[mysqld]\nlog_bin\ninnodb_buffer_pool_size = 64M\nbind_address = %s\n' "$1" >/etc/mysql/mariadb.conf.d/70-own.cnf
apt-get -q update; service mariadb start`, address)
	w.own("CREATE DATABASE shop; CREATE TABLE shop.t AS SELECT seq AS a FROM mysql.help_topic, (SELECT 1 AS seq) s LIMIT 100; CREATE TABLE shop.m (a INT) ENGINE MyISAM; INSERT INTO shop.m VALUES (1)")
	w.own("INSTALL SONAME 'server_audit'") // its data say that it has this plugin, its configuration only how it is set
	w.sh("echo 'server_audit_file_rotations = 3' >>/etc/mysql/mariadb.conf.d/70-own.cnf")
}

// databases wants those of before, and no other. MariaDB lists a directory in its own as a database, whatever its name begins with.
func (w *swappingMariaDB) databases(aside string) {
	w.Helper()
	want := "information_schema mysql performance_schema shop sys"
	if filepath.Dir(aside) == "/var/lib/mysql" {
		want = "#mysql50#" + filepath.Base(aside) + " " + want
	}
	if got := strings.Join(strings.Fields(w.own("SHOW DATABASES")), " "); got != want {
		w.Errorf("gone back the databases are %s, not %s", got, want)
	}
}

// own asks as root.
func (w *swappingMariaDB) own(statement string) string {
	w.Helper()
	return w.sh(`mariadb -N -B -e "$1"`, statement)
}

func (w *swappingMariaDB) packages() string {
	w.Helper()
	return w.sh(`dpkg-query -W -f='${Package} ${Version} ${db:Status-Status}\n' | grep -v not-installed`)
}

// looks: libraries that others use too are a person's to bring, and a dry run changes nothing.
func (w *swappingMariaDB) looks() {
	w.Helper()
	before := w.packages()
	out := w.swap(3, "11.8", "--dry-run")
	first := regexp.MustCompile(`apt-get install (.*)`).FindStringSubmatch(out)
	if first == nil || !strings.Contains(out, "libc6") {
		w.Fatalf("it does not say which packages others need too: %s", out)
	}
	if now := w.packages(); now != before {
		w.Error("a dry run changed packages")
	}
	w.sh("export DEBIAN_FRONTEND=noninteractive; apt-get -q -y --no-install-recommends -o Dpkg::Options::=--force-confold install $1", first[1])
	w.sh("service mariadb status >/dev/null || service mariadb start")
	before = w.packages()
	w.swap(0, "11.8", "--dry-run")
	if now := w.packages(); now != before || exists("/var/lib/plumb-releases") {
		w.Error("a dry run changed something")
	}
	if out := w.swap(3, "12.3"); !strings.Contains(out, "have no") {
		w.Errorf("a series that nobody has: %s", out)
	}
}

// fails: what the new server does not take ends the swap while the old one runs on.
func (w *swappingMariaDB) fails() {
	w.Helper()
	pid := w.own("SELECT @@pid_file, VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'Uptime_since_flush_status'")
	before := w.packages()
	w.sh("printf '[mysqld]\\ninnodb_change_buffering = none\\nloose_x = 1\\nnothing_of_this_name = 1\\n' >/etc/mysql/mariadb.conf.d/99-bad.cnf")
	if out := w.swap(3, "11.8", "--yes"); !strings.Contains(out, "nothing_of_this_name") {
		w.Errorf("a setting that the new server does not have: %s", out)
	}
	w.sh("rm /etc/mysql/mariadb.conf.d/99-bad.cnf")
	if now := w.packages(); now != before || strings.Fields(pid)[0] != w.own("SELECT @@pid_file") || w.own("SELECT COUNT(*) FROM shop.t") != "100" {
		w.Error("a swap that failed changed something")
	}
}

const isMariaDB = "SELECT CONCAT((SELECT COUNT(*) FROM shop.t), ' ', (SELECT COUNT(*) FROM shop.m), ' ', SUBSTRING_INDEX(@@version, '.', 2), ' ', @@innodb_buffer_pool_size DIV 1048576)"

func (w *swappingMariaDB) there() {
	w.Helper()
	if out := w.swap(0, "11.8", "--yes"); !strings.Contains(out, "tables are the same") {
		w.Errorf("it was not tried on a copy: %s", out)
	}
	if got := w.own(isMariaDB); got != "100 1 11.8 64" {
		w.Errorf("after the swap there is %s", got)
	}
	if got := w.own("SELECT @@server_audit_file_rotations"); got != "3" {
		w.Errorf("after the swap a setting of a plugin is %s", got)
	}
	if out := w.sh("mariadb-upgrade --check-if-upgrade-is-needed 2>&1 || :"); !strings.Contains(out, "no need") {
		w.Errorf("after the swap: %s", out)
	}
}

// unrehearsed: where no copy can be made, nothing is done before somebody says so.
func (w *swappingMariaDB) unrehearsed() {
	w.Helper()
	before := w.packages()
	if out := w.swap(3, "11.8", "--yes"); !strings.Contains(out, "--unrehearsed") {
		w.Errorf("no copy can be made: %s", out)
	}
	if now := w.packages(); now != before || exists("/var/lib/plumb-releases") {
		w.Error("a swap that was not tried has changed something")
	}
	w.swap(0, "11.8", "--unrehearsed", "--yes")
	if got := w.own(isMariaDB); got != "100 1 11.8 64" {
		w.Errorf("after the swap there is %s", got)
	}
	w.updates()
	w.swap(0, "--undo", "--yes")
	if got := w.own(isMariaDB); got != "100 1 10.11 64" {
		w.Errorf("gone back there is %s", got)
	}
	if now := w.packages(); now != before {
		w.Errorf("gone back the packages are\n%s\nnot\n%s", now, before)
	}
}

// updates brings another version of a package within its series, as unattended-upgrades does.
func (w *swappingMariaDB) updates() {
	w.Helper()
	w.sh(`cd "$(mktemp -d)"; dpkg-deb -R /var/lib/plumb-releases/*/new/mariadb-common_*.deb of
sed -i 's/^Version: .*/&+update1/' of/DEBIAN/control; dpkg-deb -b of update.deb; dpkg --force-confold -i update.deb`)
}

// andBack: how much is lost is said before, and what was written since is kept under another name.
func (w *swappingMariaDB) andBack(aside string) {
	w.Helper()
	for range 30 {
		w.own("INSERT INTO shop.t VALUES (0)")
	}
	n := regexp.MustCompile(`at most ([0-9]+) transactions[^:]* has ([0-9]+):`).FindStringSubmatch(w.swap(0, "--undo", "--dry-run"))
	if n == nil {
		w.Fatal("what is lost is not said")
	}
	if most, err := strconv.Atoi(n[1]); err != nil || most < 30 || most > 3000 {
		w.Errorf("30 were written, and at most %d are said to be lost: %v", most, err)
	}
	if logged, err := strconv.Atoi(n[2]); err != nil || logged < 30 || logged > 100 {
		w.Errorf("30 were written, and the binary log is said to have %d: %v", logged, err)
	}
	w.swap(0, "--undo", "--yes")
	if got := w.own(isMariaDB); got != "100 1 10.11 64" {
		w.Errorf("gone back there is %s", got)
	}
	w.databases(aside)
	if got := w.sh(`ls "$1"; rm -r "$1"`, aside); !strings.Contains(got, "ibdata1") {
		w.Errorf("what was written since lies in %s: %s", aside, got)
	}
	if exists("/var/lib/plumb-releases") || exists("/var/lib/mysql.before-11.8") {
		w.Error("gone back, what was made for the swap is still there")
	}
	w.swap(3, "--undo", "--yes")
}

// watched: something that watches the server starts it again all the time, once its data were copied, and on the way back once they are in
// their place. Whatever becomes of the swap, all that the server then acknowledged is there, and the old data never meet the newer server.
func (w *swappingMariaDB) watched() {
	w.Helper()
	w.own("CREATE TABLE shop.w (a INT PRIMARY KEY)")
	acknowledged, end := w.watch("/var/lib/mysql.before-11.8")
	out, err := w.command("11.8", "--yes").CombinedOutput()
	end()
	w.Logf("swap while the server is watched: %v\n%s", err, out)
	w.restarted()
	if got := w.own("SELECT COUNT(*) FROM shop.w"); got != strconv.Itoa(acknowledged()) {
		w.Errorf("it has acknowledged %d rows, and %s are there", acknowledged(), got)
	}
	if err != nil {
		if got := w.own(isMariaDB); got != "100 1 10.11 64" {
			w.Errorf("the swap ended, and there is %s", got)
		}
		w.swap(0, "11.8", "--yes")
	}
	w.own("DELETE FROM shop.w")
	_, end = w.watch("/var/lib/mysql.since-11.8")
	w.swap(0, "--undo", "--yes")
	end()
	w.sh("service mariadb status >/dev/null || service mariadb start")
	if got := w.own(isMariaDB); got != "100 1 10.11 64" {
		w.Errorf("gone back while the server is watched there is %s", got)
	}
	w.sh("rm -r /var/lib/mysql.since-11.8")
}

// restarted ends all servers, and starts one. What was started while another had the data waits for them, and would take its place once
// that is stopped.
func (w *swappingMariaDB) restarted() {
	w.Helper()
	w.sh("for p; do kill -9 $p; done", slices.Concat(processes("mysqld_safe"), processes("mariadbd-safe"))...)
	waitFor(w.T, "end of all servers", func() bool { // one that only starts may not hear the first time
		left := processes("mariadbd")
		w.sh("for p; do kill $p || :; done 2>/dev/null; sleep 0.2", left...)
		return len(left) == 0
	})
	w.sh("service mariadb start")
}

// watch starts the server, as its user, whenever the one that it has started has ended, once there is a file of a name, and has it take
// rows. It gives how many it has acknowledged, and what ends it.
func (w *swappingMariaDB) watch(once string) (acknowledged func() int, end func()) {
	w.Helper()
	dir := w.TempDir()
	c := exec.Command("sh", "-c", `until [ -e "$1" ] || [ -e "$2/end" ]; do sleep 0.01; done
n=0 child=none
while [ ! -e "$2/end" ]; do
	[ -e "/proc/$child/cwd" ] || {
		setpriv --reuid=mysql --regid=mysql --init-groups -- mariadbd --log-error=/tmp/watched.log >/dev/null 2>&1 &
		child=$!
	}
	for i in 1 2 3 4 5; do
		! mariadb -e "INSERT INTO shop.w VALUES ($((n + 1)))" 2>/dev/null || { n=$((n + 1)); echo "$n" >>"$2/ledger"; }
		sleep 0.1
	done
done
[ "$(cat /run/mysqld/mysqld.pid)" = "$child" ] || kill -9 "$child" 2>/dev/null || :`, "sh", once, dir)
	must(w.T, c.Start())
	return func() int {
			text, _ := os.ReadFile(filepath.Join(dir, "ledger"))
			return strings.Count(string(text), "\n")
		}, func() {
			must(w.T, os.WriteFile(filepath.Join(dir, "end"), nil, 0o600))
			must(w.T, c.Wait())
		}
}

// killed: what was begun is ended by the next run, whatever it was amid.
func (w *swappingMariaDB) killed() {
	w.Helper()
	for _, amid := range []string{"/var/lib/plumb-releases/mysql-3306-11.8/new", "/var/lib/plumb-copies/swap-*/run", "/var/lib/mysql.before-11.8", "/var/lib/plumb-releases/mysql-3306-11.8/alone"} {
		w.dies(amid, func() bool { found, _ := filepath.Glob(amid); return found != nil }, "11.8", "--yes")
		w.swap(0, "11.8", "--yes")
		if got := w.own(isMariaDB); got != "100 1 11.8 64" {
			w.Errorf("killed and gone on with there is %s", got)
		}
		w.swap(0, "--undo", "--yes")
		if got := w.own(isMariaDB); got != "100 1 10.11 64" {
			w.Errorf("and back there is %s", got)
		}
		w.sh(`rm -r /var/lib/mysql.since-11.8`)
		if left, _ := filepath.Glob("/var/lib/plumb-copies/*"); left != nil {
			w.Errorf("killed amid %s, of the copy %v is left", amid, left)
		}
	}
}
