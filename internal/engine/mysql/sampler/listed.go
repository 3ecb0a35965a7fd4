package sampler

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"plumb/internal/engine/mysql"
	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
)

// oldestTransactions are those that the sessions are joined with.
const oldestTransactions = "(SELECT trx_mysql_thread_id, trx_state, " + mysql.TransactionAge + " AS age FROM information_schema.INNODB_TRX " +
	"WHERE trx_mysql_thread_id <> 0 ORDER BY trx_started LIMIT 128) x"

// listQuery asks for the sessions that are shown: those that others wait for, whatever they do (LOCK TABLES is no transaction), those
// that do something or are in a transaction, the longest first.
func listQuery(t traits, first string) string {
	if !t.schema {
		spent := "p.TIME * 1000"
		if t.mariadb() {
			spent = "p.TIME_MS"
		}
		return fmt.Sprintf("SELECT p.ID, p.USER, p.HOST, p.DB, p.COMMAND, p.STATE, %s, x.age, p.ID%s, NULL, NULL, NULL, NULL "+
			"FROM information_schema.PROCESSLIST p LEFT JOIN %s ON x.trx_mysql_thread_id = p.ID "+
			"WHERE p.ID <> CONNECTION_ID() AND (p.COMMAND NOT IN %s AND p.USER <> %s OR x.age IS NOT NULL) "+
			"ORDER BY p.ID IN %s DESC, COALESCE(x.age, p.TIME) DESC, p.ID LIMIT %d", spent, inLockWait, oldestTransactions, quiet, systemUser, first, series.MostSessions)
	}
	columns, joined := "NULL, NULL", ""
	if t.waits {
		columns, joined = waitsColumns, waitsJoin
	}
	if t.current {
		columns += ", s.DIGEST, s.DIGEST_TEXT"
		joined += " LEFT JOIN performance_schema.events_statements_current s ON s.THREAD_ID = t.THREAD_ID AND s.NESTING_EVENT_ID IS NULL AND s.END_EVENT_ID IS NULL"
	} else {
		columns += ", NULL, NULL"
	}
	const order = "ORDER BY PROCESSLIST_ID IN %s DESC, COALESCE(age, PROCESSLIST_TIME) DESC, PROCESSLIST_ID LIMIT %d"
	of := fmt.Sprintf("SELECT THREAD_ID, PROCESSLIST_ID, PROCESSLIST_USER, PROCESSLIST_HOST, PROCESSLIST_DB, PROCESSLIST_COMMAND, PROCESSLIST_STATE, PROCESSLIST_TIME, age "+
		"FROM performance_schema.threads p LEFT JOIN %s ON x.trx_mysql_thread_id = p.PROCESSLIST_ID "+
		"WHERE p.TYPE = 'FOREGROUND' AND p.PROCESSLIST_ID <> CONNECTION_ID() AND NOT p.PROCESSLIST_ID%s AND (p.PROCESSLIST_COMMAND NOT IN %s AND NOT p.NAME%s OR x.age IS NOT NULL OR p.PROCESSLIST_ID IN %s) "+order,
		oldestTransactions, ofPlumb, quiet, appliers, first, first, series.MostSessions) // what they do is looked up of these alone
	return fmt.Sprintf("SELECT t.PROCESSLIST_ID, t.PROCESSLIST_USER, t.PROCESSLIST_HOST, t.PROCESSLIST_DB, t.PROCESSLIST_COMMAND, t.PROCESSLIST_STATE, "+
		"t.PROCESSLIST_TIME * 1000, t.age, t.PROCESSLIST_ID%s, %s FROM (%s) t%s "+order, inLockWait, columns, of, joined, first, series.MostSessions)
}

// session reads a row of listQuery.
func (v *Server) session(row []*string, timed bool) (series.Session, bool) {
	at := func(i int) string { return host.Text(row, i) }
	id, err := strconv.ParseInt(at(0), 10, 64)
	if err != nil {
		return series.Session{}, false
	}
	s := series.Session{Of: v.Ref, ID: id, User: at(1), Client: sample.WithoutPort(at(2)), Database: at(3), Active: !strings.Contains(quiet, "'"+at(4)+"'")}
	if ms, err := strconv.ParseFloat(at(6), 64); err == nil && ms >= 0 && ms < 1e13 {
		s.For = time.Duration(ms * float64(time.Millisecond))
	}
	if age, err := strconv.ParseInt(at(7), 10, 64); err == nil && age >= 0 && age < 1e9 {
		s.InTx = max(time.Duration(age)*time.Second, time.Millisecond) // begun in this second: not none
	}
	if !s.Active {
		return s, true
	}
	l := look{at(5), at(9), at(10), at(8) == "1", timed}
	s.Class, s.Wait = l.class(), at(9)
	if s.Wait == "" {
		s.Wait = at(5)
	}
	s.Statement, s.Text = at(11), bounded(at(12))
	return s, true
}

// longestText bounds the text of a statement.
const longestText = 4096

func bounded(text string) string {
	if len(text) > longestText {
		return strings.ToValidUTF8(text[:longestText], "") + "…"
	}
	return text
}
