package statement

import "testing"

func TestPlannable(t *testing.T) {
	for text, want := range map[string]struct{ read, change bool }{
		"SELECT a FROM t WHERE b = 'x' ORDER BY c LIMIT 3":                     {true, true},
		"select count(*) from t where id = $1;":                                {true, true},
		"WITH a AS (SELECT 1) SELECT * FROM a":                                 {true, true},
		"UPDATE t SET n = n + 1 WHERE id = 5":                                  {false, true},
		"INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET a=2":       {false, true},
		"DELETE FROM t WHERE id IN (1, 2)":                                     {false, true},
		"MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN UPDATE SET b = 1": {false, true},
		"SELECT * FROM t FOR UPDATE":                                           {false, true},
		"WITH gone AS (DELETE FROM t RETURNING *) SELECT * FROM gone":          {false, true},
		"SELECT sleep(9)": {},
		"SELECT * FROM t WHERE a = get_lock('x', 9)": {},
		"UPDATE t SET a = pg_terminate_backend(1)":   {},
		"SELECT 1; DROP TABLE t":                     {},
		"ANALYZE SELECT 1":                           {},
		"ANALYZE FORMAT=JSON SELECT 1":               {},
		"(ANALYZE) SELECT 1":                         {},
		"FOR CONNECTION 7":                           {},
		"INTO @x SELECT 1":                           {},
		"CALL p()":                                   {},
		"DO evil()":                                  {},
		"SHOW TABLES":                                {},
		"SET GLOBAL x = 1":                           {},
		"TRUNCATE t":                                 {},
		"EXPLAIN SELECT 1":                           {},
		"SELECT 1 INTO OUTFILE '/tmp/x'":             {},
		"SELECT 1 INTO @x":                           {},
		"SELECT /*! sleep(1) */ 1":                   {},
		"SELECT 'a\\' , sleep(9)":                    {},
		"SELECT a := 1":                              {},
		"":                                           {},
		"SELECT 'cut off in the mid":                 {},
	} {
		if read, change := PlannableSelect(text), Plannable(text); read != want.read || change != want.change {
			t.Errorf("%q: %v and with changes %v, want %v", text, read, change, want)
		}
	}
}

func FuzzPlannable(f *testing.F) {
	for _, q := range append(readingStatements(), actingStatements()...) {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if PlannableSelect(text) && !Plannable(text) {
			t.Errorf("%q may be planned only where less may", text)
		}
	})
}
