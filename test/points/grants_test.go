package points

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	mysqlpoint "plumb/internal/engine/mysql/point"
	postgrespoint "plumb/internal/engine/postgres/point"
	"plumb/internal/product"
	"plumb/test/sandbox"
)

// onBtrfsOf starts a server whose data and log lie in directories of btrfs, such as db/data, for which no test waits for
// another. The first name of each is a subvolume.
func onBtrfsOf(t *testing.T, of family, data, log string) (*bench, verbs) {
	t.Helper()
	b := sandbox.ForTest(t, "")
	top, err := b.Filesystem("fs", "btrfs", 1024, nil, "")
	sandbox.Need(t, err)
	must(t, os.Chown(top, 0, 0))
	uid, gid := b.User()
	out, err := exec.Command("sh", "-ec", fmt.Sprintf("cd %[1]s; for d in %[2]s %[3]s; do [ -e ${d%%/*} ] || btrfs subvolume create ${d%%/*}; mkdir $d; chown %[4]d:%[5]d $d; done", top, data, log, uid, gid)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s, err := of.start(t, b, filepath.Join(top, data), filepath.Join(top, log))
	sandbox.Need(t, err)
	must(t, s.Exec(of.tables...))
	bench := newBench(t, b, nil, s)
	bench.family = of
	dir := sandbox.Directory(t, "verbs")
	return bench, verbs{t, filepath.Join(dir, "state")}
}

// least is a server to which an account with the least rights logs in.
type least struct {
	*bench
	verbs
	dsn, id, server string
}

// as types a command with the account's login.
func (l least) as(code int, args ...string) string {
	l.t.Helper()
	return l.typed(code, append(args, "--dsn", l.dsn)...)
}

// without takes a right away, has commands typed, and gives it back.
func (l least) without(take, give string, f func()) {
	l.t.Helper()
	must(l.t, l.bench.server.Exec(take))
	f()
	must(l.t, l.bench.server.Exec(give))
}

// TestLeastRightsOnMariaDB: with what --grants prints for a verb it can be done, and without any of it
// what is missing is named, before anything is done.
func TestLeastRightsOnMariaDB(t *testing.T) {
	sandbox.NeedTime(t, "types some thirty commands, each of which looks at the host: make test-real")
	b, v := onBtrfsOf(t, families[0], "db/data", "db/log")
	must(t, b.server.Exec("CREATE DATABASE shop", "CREATE TABLE shop.orders (id INT PRIMARY KEY, mail TEXT)", "INSERT INTO shop.orders VALUES (1, 'a'), (2, NULL)", "CREATE USER least@localhost IDENTIFIED BY 'least'"))
	l := least{b, v, "mysql://least:least@/?socket=" + b.server.Socket, "", b.db(t, b.look(t)).String()}
	l.id = pointID.FindString(v.typed(0, "snapshot", l.server, "--drill"))
	given := func(verb string) (rights []string) {
		for line := range strings.Lines(mysqlpoint.Grants(product.MariaDB, "", verb)) {
			if grant, ok := strings.CutPrefix(line, "GRANT "); ok {
				rights = append(rights, strings.Split(grant, " TO ")[0])
				must(t, b.server.Exec("GRANT "+rights[len(rights)-1]+" TO least@localhost"))
			}
		}
		return rights
	}
	rights := given("snapshot")
	if len(rights) != 4 {
		t.Fatalf("the rights are %q", rights)
	}
	l.as(0, "snapshot", l.server)
	locked := l.as(0, "snapshot", l.server, "--mode", "locked")
	if strings.Contains(locked, "doubts") {
		t.Error("it has doubts")
	}
	for right, c := range map[string]struct {
		mode string
		code int // 3: refused; 0: with a doubt
	}{"RELOAD": {"locked", 3}, "BINLOG MONITOR": {"locked", 3}, "SHOW VIEW": {"crash", 3}, "PROCESS": {"locked", 0}} {
		l.without("REVOKE "+right+" ON *.* FROM least@localhost", "GRANT "+right+" ON *.* TO least@localhost", func() {
			says(t, l.as(c.code, "snapshot", l.server, "--mode", c.mode), right)
		})
	}
	must(t, b.server.Exec("REVOKE ALL PRIVILEGES, GRANT OPTION FROM least@localhost"))
	given("rollback")
	rollback := []string{"rollback", l.id, "--stop", "true", "--start", "true", "--dry-run"}
	table := []string{"rollback", l.id, "--table", "shop.orders", "--as", "back", "--yes"}
	says(t, l.as(0, rollback...), "Nothing is destroyed")
	l.as(0, table...)
	l.without("REVOKE BINLOG MONITOR ON *.* FROM least@localhost", "GRANT BINLOG MONITOR ON *.* TO least@localhost", func() { says(t, l.as(3, rollback...), "BINLOG MONITOR") })
	for _, right := range []string{"SELECT", "INSERT", "CREATE", "ALTER", "DROP"} {
		l.without("REVOKE "+right+" ON shop.* FROM least@localhost", "GRANT "+right+" ON shop.* TO least@localhost", func() {
			says(t, l.as(3, append(table, "--as", "again")...), "this user may not "+right+" in shop")
		})
	}
	if got := b.ask(t, "SELECT GROUP_CONCAT(TABLE_NAME ORDER BY 1) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop'"); got != "back,orders" {
		t.Errorf("there are %s", got)
	}
}

// TestLeastRightsOnPostgreSQL is the same of a role.
func TestLeastRightsOnPostgreSQL(t *testing.T) {
	sandbox.NeedTime(t, "types some twenty commands, each of which looks at the host: make test-real")
	b, v := onBtrfsOf(t, families[1], "data/in", "log/in")
	must(t, b.server.Exec("CREATE ROLE owner", "CREATE SCHEMA shop", "CREATE TABLE shop.orders (id int PRIMARY KEY, mail text)", "INSERT INTO shop.orders VALUES (1, 'a'), (2, NULL)",
		"ALTER TABLE shop.orders OWNER TO owner", "GRANT USAGE, CREATE ON SCHEMA shop TO owner"))
	l := least{b, v, fmt.Sprintf("postgres://plumb@/postgres?host=%s&port=%d", b.server.Socket, b.server.Port), "", b.db(t, b.look(t)).String()}
	l.id = pointID.FindString(v.typed(0, "snapshot", l.server, "--drill"))
	must(t, b.server.Exec(postgrespoint.Grants("15", "snapshot")))
	if out := l.as(0, "snapshot", l.server); strings.Contains(out, "doubts") || !strings.Contains(out, "backup-api") {
		t.Error("it has doubts")
	}
	l.without("REVOKE pg_monitor FROM plumb", "GRANT pg_monitor TO plumb", func() {
		says(t, l.as(3, "snapshot", l.server), "may not execute pg_ls_waldir")
		says(t, l.as(0, "snapshot", l.server, "--mode", "freeze"), "GRANT pg_monitor")
	})
	for _, function := range []string{"pg_backup_start(text, boolean)", "pg_backup_stop(boolean)"} {
		l.without("REVOKE EXECUTE ON FUNCTION "+function+" FROM plumb", "GRANT EXECUTE ON FUNCTION "+function+" TO plumb", func() {
			name, _, _ := strings.Cut(function, "(")
			says(t, l.as(3, "snapshot", l.server), "the role plumb may not execute "+name)
		})
	}
	l.without("ALTER ROLE plumb NOREPLICATION", "ALTER ROLE plumb REPLICATION", func() {
		says(t, l.as(0, "snapshot", l.server), "the role plumb lacks REPLICATION")
	})

	must(t, b.server.Exec("DROP OWNED BY plumb", "DROP ROLE plumb",
		strings.NewReplacer("SCHEMA public", "SCHEMA shop", "-- GRANT owner", "GRANT owner").Replace(postgrespoint.Grants("15", "rollback"))))
	says(t, l.as(0, "rollback", l.id, "--stop", "true", "--start", "true", "--dry-run"), "Nothing is destroyed")
	table := []string{"rollback", l.id, "--table", "postgres.shop.orders", "--yes", "--as"}
	l.as(0, append(table, "back")...)
	for _, right := range []string{"USAGE", "CREATE"} {
		l.without("REVOKE "+right+" ON SCHEMA shop FROM plumb, owner", "GRANT "+right+" ON SCHEMA shop TO plumb, owner", func() {
			says(t, l.as(3, append(table, "again")...), "the role may not "+right+" in the schema shop")
		})
	}
	l.without("REVOKE owner FROM plumb", "GRANT owner TO plumb", func() {
		says(t, l.as(3, append(table, "again")...), `must be member of role "owner"`)
	})
	if got := b.ask(t, "SELECT string_agg(relname, ',' ORDER BY relname) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'shop'::regnamespace"); got != "back,orders" {
		t.Errorf("there are %s", got)
	}
}
