package points

import (
	"path/filepath"
	"strings"
	"testing"

	"plumb/test/sandbox"
)

// hardPostgres is a table of all that is hard to carry, under a name that is hard to write.
var hardPostgres = []string{
	`CREATE SCHEMA "sh-op '.x"`, `CREATE TYPE "sh-op '.x".mood AS ENUM ('so so', 'ü')`, `CREATE TABLE "sh-op '.x".parents (id int PRIMARY KEY)`, `INSERT INTO "sh-op '.x".parents VALUES (1), (2)`,
	`CREATE FUNCTION "sh-op '.x".f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`,
	`CREATE TABLE "sh-op '.x"."ör""d'er s--x" (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, plumb_row text, gone int, "c,1" varchar(40) COLLATE "C" DEFAULT 'it''s', f float8, f4 float4, n numeric, at timestamptz, iv interval, b bytea, j jsonb, a text[], m "sh-op '.x".mood, mo money, ip inet,
		r int4range, bits bit(5), g int GENERATED ALWAYS AS (length("c,1")) STORED, s serial, ch char(7), parent int CONSTRAINT "our key" REFERENCES "sh-op '.x".parents, CHECK (f4 <> 7), EXCLUDE USING gist (r WITH &&))`,
	`ALTER TABLE "sh-op '.x"."ör""d'er s--x" DROP COLUMN gone`, `CREATE INDEX "i x" ON "sh-op '.x"."ör""d'er s--x" (lower("c,1") DESC) WHERE f > 0`, `COMMENT ON COLUMN "sh-op '.x"."ör""d'er s--x".f IS E'line\n-- two\n\\restrict x'`,
	`INSERT INTO "sh-op '.x"."ör""d'er s--x" (plumb_row, "c,1", f, f4, n, at, iv, b, j, a, m, mo, ip, r, bits, ch, parent) VALUES (E'a\nb\\c''"', '', 1/3::float8, 16777217.1, 1e-30, '2024-03-31 02:30:00.123456+02', '1 mon -3 days', '\x00ff0a5c27', '{"a": [1, null]}', '{"x,y",NULL,"\""}', 'ü', 12.34, '::1', '[1,5)', B'10101', 'ab', 1),
		(NULL, NULL, 'NaN', '-Infinity', 'NaN', 'infinity', NULL, '', 'null', '{}', NULL, NULL, NULL, 'empty', NULL, NULL, NULL)`,
	`CREATE TRIGGER "t r" BEFORE INSERT ON "sh-op '.x"."ör""d'er s--x" FOR EACH ROW EXECUTE FUNCTION "sh-op '.x".f()`,
	`GRANT SELECT ON "sh-op '.x"."ör""d'er s--x" TO pg_monitor`,
}

const hardPostgresName = "postgres.`sh-op '.x`.\"ör\"\"d'er s--x\""

// TestTableBackOnPostgres drops tables, goes on writing, and brings them back beside the writes.
func TestTableBackOnPostgres(t *testing.T) {
	b := onPool(t, families[1])
	dir := sandbox.Directory(t, "table")
	v := verbs{t, filepath.Join(dir, "state")}
	must(t, b.server.Exec("CREATE SCHEMA shop", "CREATE TABLE shop.orders (id serial, mail text)", "INSERT INTO shop.orders (mail) VALUES ('a'), ('a'), (NULL)", "CREATE VIEW shop.v AS SELECT 1",
		"CREATE TABLE shop.many (id int PRIMARY KEY, t text)", "INSERT INTO shop.many SELECT i, repeat(i::text, 20) FROM generate_series(1, 50000) i", "CREATE UNLOGGED TABLE shop.u (id int)",
		"CREATE TABLE shop.p (id int) PARTITION BY RANGE (id)", "CREATE TABLE shop.p1 PARTITION OF shop.p FOR VALUES FROM (0) TO (10)", "INSERT INTO shop.p VALUES (3)"))
	must(t, b.server.Exec(hardPostgres...))
	id := pointID.FindString(v.typed(0, "snapshot", b.db(t, b.look(t)).String()))
	names := [][2]string{{"postgres.shop.orders", "shop.orders"}, {"postgres.shop.many", "shop.many"}, {hardPostgresName, `"sh-op '.x"."ör""d'er s--x"`}}
	rows := func(name string) string {
		return b.ask(t, "SELECT coalesce(string_agg(md5(x::text), '' ORDER BY md5(x::text)), '-') FROM "+name+" x WHERE x IS NOT NULL OR true")
	}
	was := map[string]string{}
	for _, n := range names {
		was[n[0]] = rows(n[1])
	}
	indexes := `SELECT string_agg(indexdef, '; ' ORDER BY indexdef) FROM pg_indexes WHERE schemaname = 'sh-op ''.x' AND tablename <> 'parents'`
	made := b.ask(t, indexes)

	b.refuseAndRename(t, v, id)
	for _, n := range names {
		must(t, b.server.Exec("DROP TABLE "+n[1]))
	}
	must(t, b.server.Exec("INSERT INTO plumbtest.t (who, n) VALUES (7, 7)"))
	says(t, v.typed(0, "rollback", id, "--table", "postgres.shop.orders", "--dry-run"), "CREATE TABLE shop.plumb_", "RENAME TO", "rows 3", "WAL")
	for _, n := range names {
		out := v.typed(0, "rollback", id, "--table", n[0], "--yes")
		if got := rows(n[1]); got != was[n[0]] {
			t.Errorf("%s: it held %s, and holds %s", n[0], was[n[0]], got)
		}
		if n[0] == hardPostgresName {
			says(t, out, `ADD CONSTRAINT "our key" FOREIGN KEY (parent)`, "a trigger does not come along")
			if got := b.ask(t, indexes); got != made {
				t.Errorf("the indexes were\n%s\nand are\n%s", made, got)
			}
			if got := b.ask(t, `SELECT count(*)::text FROM information_schema.role_table_grants WHERE grantee = 'pg_monitor' AND table_name LIKE 'ör%'`); got != "1" {
				t.Errorf("%s grants", got)
			}
		}
	}
	must(t, b.server.Exec("INSERT INTO shop.orders (mail) VALUES ('b')"))
	if got := b.ask(t, "SELECT max(id)::text FROM shop.orders"); got != "34" { // a server that crashed goes on 32 numbers later
		t.Errorf("the sequence goes on with %s", got)
	}
	v.typed(3, "undo", "--all", "--yes")
	must(t, b.server.Exec("DELETE FROM shop.orders WHERE id > 3"))
	v.typed(0, "undo", "--all", "--yes")
	if got := b.ask(t, "SELECT count(*)::text FROM pg_class WHERE relname LIKE 'plumb\\_%' OR relname IN ('orders', 'many')"); got != "0" {
		t.Errorf("%s tables are left", got)
	}
	if got := b.ask(t, "SELECT count(*)::text FROM plumbtest.t WHERE who = 7"); got != "1" {
		t.Errorf("of a later write there is %s", got)
	}
	for _, pattern := range []string{v.state + "-copies/*", v.state + "/tables/plumb_*"} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			t.Errorf("left: %q", strings.Join(left, " "))
		}
	}
}

// refuseAndRename tries what is refused, and what gets another name.
func (b *bench) refuseAndRename(t *testing.T, v verbs, id string) {
	t.Helper()
	says(t, v.typed(3, "rollback", id, "--table", "postgres.shop.orders", "--yes"), "has a table, view, index or sequence", "--as")
	says(t, v.typed(3, "rollback", id, "--table", "postgres.shop.Orders", "--yes"), "no table postgres.shop.Orders")
	says(t, v.typed(3, "rollback", id, "--table", "postgres.none.orders", "--yes"), "no schema none")
	v.typed(3, "rollback", id, "--table", "none.shop.orders", "--yes")
	says(t, v.typed(3, "rollback", id, "--table", "postgres.shop.v", "--as", "w", "--yes"), "is not a table")
	says(t, v.typed(3, "rollback", id, "--table", "postgres.shop.u", "--as", "w", "--yes"), "is unlogged")
	says(t, v.typed(3, "rollback", id, "--table", "postgres.shop.p", "--as", "w", "--yes"), "is a partitioned table")
	says(t, v.typed(0, "rollback", id, "--table", "postgres.shop.p1", "--as", "p 1", "--yes"), "was a partition", "rows 1,")
	says(t, v.typed(0, "rollback", id, "--table", "postgres.shop.many", "--as", "many \"2", "--yes"), "rows 50000", "is called")
	must(t, b.server.Exec(`UPDATE shop."many ""2" SET t = 'x' WHERE id = 7`))
	says(t, v.typed(3, "undo", "--yes"), "changed since")
	must(t, b.server.Exec(`UPDATE shop."many ""2" SET t = repeat('7', 20) WHERE id = 7`))
	v.typed(0, "undo", "--yes")
}
