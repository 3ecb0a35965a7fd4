package statement

import (
	"strings"
	"testing"
)

func readingStatements() []string {
	return []string{
		"SELECT 1", "select 1;", " \n SELECT 1 -- note\n", "SHOW GLOBAL VARIABLES", "SHOW CREATE TABLE `a`", "show slave status",
		"WITH a AS (SELECT 1) SELECT * FROM a", "TABLE pg_settings", "VALUES (1)", "EXPLAIN SELECT 1", "EXPLAIN (FORMAT JSON) SELECT 1",
		"SELECT 'insert into x; drop table y'", "SELECT `update` FROM t", `SELECT "delete" FROM t`, "SELECT /* why */ 1",
		"SELECT replace(a, 'b', 'c') FROM t", "(SELECT 1) UNION (SELECT 2)", "SELECT count(*) FILTER (WHERE a) FROM b",
		"SELECT * FROM pg_stat_activity WHERE pid <> pg_backend_pid()", "SELECT @@global.sync_binlog", "SELECT a FROM b WHERE c = $1",
		"SELECT pg_current_wal_lsn(), pg_is_in_recovery()", "SELECT 'it''s'", "SHOW BINARY LOGS", "SELECT @@innodb_page_size, @@version",
		"SELECT txid_current_if_assigned()", "SELECT created, updated, last_update FROM t", "SELECT * FROM performance_schema.global_status FOR SYSTEM_TIME ALL",
	}
}

func actingStatements() []string {
	return []string{
		"", ";", " ", "-- x", "INSERT INTO t VALUES (1)", "SELECT 1; DROP TABLE t", "SELECT 1;;", "SELECT * INTO OUTFILE '/tmp/x' FROM t",
		"SELECT 1 INTO @a", "SELECT 1 INTO DUMPFILE 'x'", "SELECT * FROM t FOR UPDATE", "SELECT * FROM t FOR NO KEY UPDATE",
		"SELECT * FROM t FOR SHARE", "SELECT * FROM t LOCK IN SHARE MODE", "WITH a AS (DELETE FROM t RETURNING *) SELECT * FROM a",
		"EXPLAIN ANALYZE SELECT 1", "explain (analyze, buffers) select 1", "ANALYZE SELECT 1", "SELECT pg_terminate_backend(1)",
		"SELECT pg_catalog.pg_reload_conf()", "SELECT pg_sleep(10)", "SELECT SLEEP (10)", "SELECT get_lock('a', 1)",
		"SELECT 1 /*! INTO OUTFILE '/tmp/x' */", "SELECT 1 /*M!100100 INTO OUTFILE '/tmp/x' */", "SELECT 'a\\' ; DROP TABLE t; -- '",
		"SELECT $$a$$", "SELECT $a$ ; $a$", "SELECT @a := 1", "SELECT nextval('s')", "SELECT NEXT VALUE FOR s", "SELECT \"pg_sleep\"(1)",
		"SELECT 1 --x\n; DROP TABLE t", "SELECT 1 # x\n; DROP TABLE t", "SELECT /* /* */ 1 */", "SELECT 'open", "SELECT \"open", "SELECT `open",
		"CALL p()", "DO 1", "SET GLOBAL x = 1", "KILL 1", "FLUSH TABLES", "COPY t TO '/tmp/x'", "BEGIN", "TABLE t INTO OUTFILE 'x'",
		"SELECT * FROM t PROCEDURE ANALYSE()", "SELECT lo_import('/etc/passwd')", "SELECT dblink('x','y')", "SELECT `sleep`(1)",
		"SELECT load_file('/etc/passwd')", "SELECT E'a\\'; drop table t; --'",
	}
}

func TestReads(t *testing.T) {
	for _, query := range readingStatements() {
		if !Reads(query) {
			t.Errorf("refused: %s", query)
		}
	}
	for _, query := range actingStatements() {
		if Reads(query) {
			t.Errorf("allowed: %s", query)
		}
	}
}

func FuzzReads(f *testing.F) {
	for _, query := range append(readingStatements(), actingStatements()...) {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		if !Reads(query) {
			return
		}
		// What was allowed must not become an acting statement's carrier.
		for _, tail := range []string{"; DROP TABLE t", " INTO OUTFILE '/tmp/x'", " FOR UPDATE"} {
			open := strings.Contains(query, "--") || strings.HasSuffix(strings.TrimSpace(query), ";")
			if Reads(query+tail) && !open {
				t.Errorf("allowed: %q", query+tail)
			}
		}
	})
}
