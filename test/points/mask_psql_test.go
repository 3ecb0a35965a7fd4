package points

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// database opens one of a PostgreSQL by the directory of its socket.
func database(t *testing.T, dir, name string) *sql.DB {
	t.Helper()
	sockets, err := filepath.Glob(dir + "/.s.PGSQL.*[0-9]")
	if err != nil || len(sockets) != 1 {
		t.Fatalf("sockets %q, %v", sockets, err)
	}
	db, err := sql.Open("pgx", fmt.Sprintf("host=%s port=%s user=postgres dbname=%s", dir, strings.TrimPrefix(filepath.Base(sockets[0]), ".s.PGSQL."), name))
	must(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

const maskOfPSQL = `-- what nobody needs to know
\connect shop
UPDATE orders SET mail = 'a;
b';
DO $$ BEGIN
	DELETE FROM orders WHERE id = 2;
END $$; VACUUM orders; -- which no transaction takes
BEGIN; -- and nobody ends it
INSERT INTO orders VALUES (3, 'c');
\c postgres
BEGIN;
CREATE TABLE masked AS SELECT current_database() AS name
`

// TestMaskOfPSQL types masks as they are written for psql: no line of them swallows the next, and what psql itself would do is refused
// before anything is made.
func TestMaskOfPSQL(t *testing.T) {
	b, v := onBtrfsOf(t, families[1], "db/data", "db/log")
	must(t, b.server.Exec("CREATE DATABASE shop"))
	shop := database(t, b.server.Socket, "shop")
	for _, s := range []string{"CREATE TABLE orders (id INT PRIMARY KEY, mail TEXT)", "INSERT INTO orders VALUES (1, 'a@example.com'), (2, 'b@example.com')"} {
		_, err := shop.Exec(s)
		must(t, err)
	}
	must(t, shop.Close())
	id := pointID.FindString(v.typed(0, "snapshot", b.db(t, b.look(t)).String()))
	dir := t.TempDir()
	file := func(name, text string) string {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		return "@" + filepath.Join(dir, name)
	}

	says(t, v.typed(2, "clone", id, "--name", "dev", "--mask", file("include.sql", "UPDATE a SET b = 1;\n\\i other.sql\n")), "include.sql: line 2: \\i is a command of psql", "hint: ")
	says(t, v.typed(2, "clone", id, "--name", "dev", "--mask", "\\connect shop postgres"), "--mask SQL: line 1: \\connect needs the name of one database")
	says(t, v.typed(2, "clone", id, "--name", "dev", "--mask", file("empty.sql", "-- to be written\n")), "it holds no statement")
	says(t, v.typed(3, "clone", id, "--name", "dev", "--mask", "\\connect nowhere\nSELECT 1"), "nowhere")
	if out := v.typed(0, "clone", "list"); strings.Contains(out, "dev") {
		t.Error("a clone was made with half of its mask")
	}

	says(t, v.typed(0, "clone", id, "--name", "dev", "--mask", file("mask.sql", maskOfPSQL)), "after 9 statements of a mask")
	defer v.typed(0, "clone", "drop", "dev", "--yes")
	run := regexp.MustCompile(`socket in (\S+)`).FindStringSubmatch(v.typed(0, "clone", "list"))[1]
	var mails, name string
	must(t, database(t, run, "shop").QueryRow("SELECT string_agg(id || mail, ',' ORDER BY id) FROM orders").Scan(&mails))
	must(t, database(t, run, "postgres").QueryRow("SELECT name FROM masked").Scan(&name))
	if mails != "1a;\nb,3c" || name != "postgres" {
		t.Errorf("the clone's shop has %q, and the last statement was run in %q", mails, name)
	}
}
