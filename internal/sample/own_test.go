package sample

import (
	"context"
	"testing"

	"plumb/internal/host"
)

// silent is a server that answers everything with nothing.
type silent struct{ host.Reader }

func (silent) Query(context.Context, host.Target, string) (host.Rows, error) { return host.Rows{}, nil }

// TestOwnStatementsAreKnown has the texts as MariaDB 10.11 and PostgreSQL 15
// show them.
func TestOwnStatementsAreKnown(t *testing.T) {
	o := NewOwn(silent{}, nil)
	long := "SELECT SCHEMA_NAME, DIGEST, COUNT_STAR, SUM_TIMER_WAIT, SUM_ROWS_EXAMINED, SUM_ROWS_SENT + SUM_ROWS_AFFECTED, UNIX_TIMESTAMP(FIRST_SEEN), IF(LAST_SEEN > NOW() - INTERVAL 20 SECOND, LEFT(DIGEST_TEXT, 300), NULL) FROM performance_schema.events_statements_summary_by_digest ORDER BY DIGEST IS NULL DESC, SUM_TIMER_WAIT DESC LIMIT 1999"
	for _, q := range []string{"SHOW GLOBAL STATUS WHERE Variable_name IN ('uptime', 'com_select')", long,
		"SELECT extract(epoch FROM now()) AS uptime, pg_current_wal_lsn() - '0/0'::pg_lsn FROM pg_stat_database WHERE a = false AND b <> 'x'"} {
		if _, err := o.Query(t.Context(), host.Target{}, q); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]bool{
		"SHOW GLOBAL STATUS WHERE `Variable_name` IN (...) ": true,
		"SHOW GLOBAL STATUS": false,
		"SHOW GLOBAL STATUS WHERE `Variable_name` LIKE ? ": false,
		"SELECT `SCHEMA_NAME` , `DIGEST` , `COUNT_STAR` , `SUM_TIMER_WAIT` , `SUM_ROWS_EXAMINED` , `SUM_ROWS_SENT` + `SUM_ROWS_AFFECTED` , `UNIX_TIMESTAMP` ( `FIRST_SEEN` ) , IF ( `LAST_SEEN` > NOW ( ) - INTERVAL ? SECOND , LEFT ( `DIGEST_TEXT` , ... ) , ? ) FROM `performance_schema` . `events_statements_sum": true,
		"SELECT `SCHEMA_NAME` , `DIGEST` ...": false, // too little to know it by
		"SELECT extract($1 FROM now()) AS uptime, pg_current_wal_lsn() - $2::pg_lsn FROM pg_stat_database WHERE a = $3 AND b <> $4":    true, // as 14 and later show it
		"SELECT extract(epoch FROM now()) AS uptime, pg_current_wal_lsn() - $1::pg_lsn FROM pg_stat_database WHERE a = $2 AND b <> $3": true, // as 13 shows it
		"SELECT extract($1 FROM then()) AS uptime, pg_current_wal_lsn() - $2::pg_lsn FROM pg_stat_database WHERE a = $3 AND b <> $4":   false,
		"UPDATE t SET n = ? WHERE id = ?": false,
		"":                                false, "?": false,
	} {
		if got := o.Has(text); got != want {
			t.Errorf("%.60q is own: %v, want %v", text, got, want)
		}
	}
}

// opener is a dialer that prepares its sessions.
type opener struct{ host.Dialer }

func (opener) Opens() []string {
	return []string{"SET SESSION tx_read_only = 1, lock_wait_timeout = 1"}
}

// What a dialer runs in each session is ours too, and known before any is open.
func TestWhatSessionsAreOpenedWithIsOwn(t *testing.T) {
	o := NewOwn(silent{}, map[string]host.Dialer{"mysql": opener{}, "mongo": nil})
	for text, want := range map[string]bool{
		"SET SESSION `tx_read_only` = ? , `lock_wait_timeout` = ?": true,
		"SET SESSION TRANSACTION READ ONLY":                        false,
		"SET SESSION `lock_wait_timeout` = ?":                      false,
	} {
		if got := o.Has(text); got != want {
			t.Errorf("%q is own: %v, want %v", text, got, want)
		}
	}
	if asked := o.Asked(); len(asked) != 1 {
		t.Errorf("another process would learn %q", asked)
	}
}

func TestSameWords(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"SELECT SUM ( `paid` ) FROM `orders` WHERE SQL_TSI_DAY = ? AND ID IN (...) ", "select sum(paid) from orders where day = '2026-03-01' and id in (1, 2, 3)", true},
		{"SELECT `a` FROM `t` WHERE `b` = ?", "SELECT a FROM t WHERE c = 5", false},
		{"SELECT `a` FROM `t`", "SELECT a FROM t WHERE c = 5", false},
		{"SELECT DISTINCTROW `a` FROM `t`", "SELECT DISTINCT a FROM t", true},
		{"", "", false}, {"?", "5", false},
	} {
		if got := SameWords(c.a, c.b); got != c.same {
			t.Errorf("%q and %q: %v", c.a, c.b, got)
		}
	}
}

func FuzzOwn(f *testing.F) {
	f.Add("SELECT 'a''b' FROM t", "SELECT ? ...")
	f.Fuzz(func(t *testing.T, asked, text string) {
		o := NewOwn(silent{}, nil)
		_, _ = o.Query(context.Background(), host.Target{}, asked)
		o.Has(text)
		if words(asked) != "" && !o.Has(asked) {
			t.Errorf("%q was asked and is not known", asked)
		}
	})
}
