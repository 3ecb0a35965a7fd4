package points

import (
	"path/filepath"
	"strings"
	"testing"

	"plumb/test/sandbox"
)

// hard is a table of all that is hard to carry, under a name that is hard to write.
var hard = []string{
	"CREATE DATABASE `shop - \"a`", "CREATE TABLE `shop - \"a`.parents (id INT PRIMARY KEY)", "INSERT INTO `shop - \"a`.parents VALUES (0), (1), (2)",
	"CREATE TABLE `shop - \"a`.`ör``d'er s--uuid` (`i``d` INT AUTO_INCREMENT PRIMARY KEY, f FLOAT, d DOUBLE, n DECIMAL(30,10), b BIT(10), y YEAR, `c,1` VARCHAR(40) CHARACTER SET latin1, c2 CHAR(9) CHARACTER SET ucs2," +
		" c3 TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, bin BINARY(4), bl MEDIUMBLOB, e ENUM('a''b', 'ü'), s SET('x','y'), at TIMESTAMP(6) NULL, dt DATETIME(3), ti TIME(2), j JSON, g POINT," +
		" v INT AS (hidden + 1) VIRTUAL, st INT AS (hidden * 2) STORED, hidden INT INVISIBLE DEFAULT 5, parent INT, ip INET6, KEY k (`c,1`(5), d), UNIQUE u (v), FULLTEXT ft (c3), CHECK (y <> 1999)," +
		" CONSTRAINT `our key` FOREIGN KEY (parent) REFERENCES parents (id)) ENGINE=InnoDB AUTO_INCREMENT=1000 COMMENT='it''s\\na \\\\ comment' ROW_FORMAT=DYNAMIC",
	"SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES'",
	"INSERT INTO `shop - \"a`.`ör``d'er s--uuid` (`i``d`, f, d, n, b, y, `c,1`, c2, c3, bin, bl, e, s, at, dt, ti, j, g, hidden, parent, ip) VALUES" +
		" (0, 16777217.123, 1/3e0, 12345678901234567890.0123456789, b'1010101010', 2024, CONCAT('\\0\\n\\t''\\\\', _latin1 x'80FF'), 'ñü', '😀\\r\\n''\"', x'00FF00', x'000A0D1A5C27', 2, 'x,y', '2024-03-31 02:30:00.123456', '2004-02-31 00:00:00.5', '-838:59:59', '{\"a\": [1, null]}', POINT(1.5, -2), NULL, 1, '::1')," +
		" (5, NULL, -0e0, NULL, NULL, NULL, '', '', '', '', '', NULL, '', NULL, '0000-00-00', NULL, NULL, NULL, 6, NULL, NULL), (1500, 0.1, 1e308, -1, 0, 0, NULL, NULL, NULL, NULL, NULL, 1, NULL, '1970-01-02 00:00:01', NULL, NULL, NULL, NULL, 7, 2, NULL)",
	"CREATE TRIGGER `shop - \"a`.`t r` BEFORE INSERT ON `shop - \"a`.`ör``d'er s--uuid` FOR EACH ROW SET NEW.y = 2000",
}

const hardName = "`shop - \"a`.\"ör`d'er s--uuid\""

// TestTableBack drops tables, goes on writing, and brings them back beside the writes.
func TestTableBack(t *testing.T) {
	b := onPool(t, families[0])
	dir := sandbox.Directory(t, "table")
	v := verbs{t, filepath.Join(dir, "state")}
	must(t, b.server.Exec("CREATE DATABASE shop", "CREATE TABLE shop.orders (id INT, mail TEXT)", "INSERT INTO shop.orders VALUES (1, 'a'), (1, 'a'), (2, NULL)",
		"CREATE TABLE shop.parts (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 3", "INSERT INTO shop.parts SELECT seq FROM plumbtest.seq_1_to_100", "CREATE TABLE shop.many (id INT PRIMARY KEY, t VARCHAR(200))",
		"INSERT INTO shop.many SELECT seq, REPEAT(seq, 20) FROM plumbtest.seq_1_to_50000", "CREATE VIEW shop.v AS SELECT 1", "CREATE TABLE shop.mem (id INT) ENGINE=MEMORY", "CREATE TABLE shop.aria (id INT, t TEXT) ENGINE=Aria", "INSERT INTO shop.aria VALUES (1, 'x')"))
	must(t, b.server.Exec(hard...))
	show := "SHOW CREATE TABLE `shop - \"a`.`ör``d'er s--uuid`"
	checksum := func(table string) string { return b.second(t, "CHECKSUM TABLE "+table+" EXTENDED") }
	id := pointID.FindString(v.typed(0, "snapshot", b.db(t, b.look(t)).String()))
	tables := [][2]string{{"shop.orders", "shop.orders"}, {"shop.parts", "shop.parts"}, {"shop.many", "shop.many"}, {"shop.aria", "shop.aria"}, {hardName, "`shop - \"a`.`ör``d'er s--uuid`"}}
	was := map[string]string{}
	for _, n := range tables {
		was[n[0]] = checksum(n[1])
	}
	made := b.second(t, show)

	says(t, v.typed(3, "rollback", id, "--table", "shop.orders", "--yes"), "has a base table shop.orders", "--as")
	says(t, v.typed(3, "rollback", id, "--table", "shop.Orders", "--yes"), "no table shop.Orders")
	says(t, v.typed(3, "rollback", id, "--table", "none.orders", "--yes"), "no database none")
	says(t, v.typed(3, "rollback", id, "--table", "shop.v", "--as", "w", "--yes"), "is a view")
	says(t, v.typed(3, "rollback", id, "--table", "shop.mem", "--as", "w", "--yes"), "is in MEMORY")
	says(t, v.typed(3, "rollback", id, "--table", "mysql.user", "--as", "w", "--yes"), "own database")
	v.typed(2, "rollback", id, "--table", "orders")
	v.typed(2, "rollback", id, "--table", "shop.orders", "--to", "2026-01-01 00:00:00 UTC")
	v.typed(2, "rollback", id, "--as", "w")

	for _, n := range tables {
		must(t, b.server.Exec("DROP TABLE "+n[1]))
	}
	must(t, b.server.Exec("INSERT INTO plumbtest.t (who, n) VALUES (7, 7)"))
	log := b.second(t, "SHOW MASTER STATUS")
	says(t, v.typed(0, "rollback", id, "--table", "shop.orders", "--dry-run"), "CREATE TABLE `plumb_", "RENAME TABLE", "rows 3", "binary log")
	if now := b.second(t, "SHOW MASTER STATUS"); now != log {
		t.Errorf("a dry run wrote: the log stood at %s, and stands at %s", log, now)
	}
	for _, n := range tables {
		typed, name := n[0], n[1]
		out := v.typed(0, "rollback", id, "--table", typed, "--yes")
		if got := checksum(name); got != was[typed] {
			t.Errorf("%s: the checksum was %s, and is %s", typed, was[typed], got)
		}
		if typed == hardName {
			says(t, out, "ADD CONSTRAINT `our key` FOREIGN KEY (`parent`) REFERENCES `parents` (`id`)", "the trigger t r does not come along")
			if got := b.second(t, show); got != strings.Replace(made, ",\n  CONSTRAINT `our key` FOREIGN KEY (`parent`) REFERENCES `parents` (`id`)", "", 1) {
				t.Errorf("it was\n%s\nand is\n%s", made, got)
			}
		}
	}
	if got := b.ask(t, "SELECT COUNT(*) FROM plumbtest.t WHERE who = 7"); got != "1" {
		t.Errorf("of a later write there is %s", got)
	}
	v.typed(0, "undo", "--yes")
	says(t, v.typed(0, "rollback", id, "--table", "shop.many", "--as", "many `2", "--yes"), "rows 50000")
	must(t, b.server.Exec("UPDATE shop.`many ``2` SET t = 'x' WHERE id = 7"))
	says(t, v.typed(3, "undo", "--yes"), "changed since")
	must(t, b.server.Exec("UPDATE shop.`many ``2` SET t = REPEAT(7, 20) WHERE id = 7"))
	v.typed(0, "undo", "--yes")
	must(t, b.server.Exec("ALTER TABLE shop.orders ADD COLUMN x INT"))
	v.typed(3, "undo", "--all", "--yes")
	must(t, b.server.Exec("ALTER TABLE shop.orders DROP COLUMN x"))
	v.typed(0, "undo", "--all", "--yes")
	b.nothing(t, v)
}

// nothing looks whether anything of Plumb's is left in the server or beside it.
func (b *bench) nothing(t *testing.T, v verbs) {
	t.Helper()
	if got := b.ask(t, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME LIKE 'plumb\\_%' OR TABLE_NAME IN ('orders', 'many')"); got != "0" {
		t.Errorf("%s tables are left", got)
	}
	for _, pattern := range []string{v.state + "-copies/*", v.state + "/tables/plumb_*"} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	}
}

// second gives the second cell of an answer.
func (b *bench) second(t *testing.T, query string) string {
	t.Helper()
	db, err := b.server.Open()
	must(t, err)
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), query)
	must(t, err)
	defer rows.Close()
	names, err := rows.Columns()
	must(t, err)
	cells := make([]any, len(names))
	text := make([]string, len(names))
	for i := range cells {
		cells[i] = &text[i]
	}
	if !rows.Next() {
		t.Fatalf("%s gave nothing", query)
	}
	must(t, rows.Scan(cells...))
	return text[1]
}
