package sampler

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"plumb/internal/engine/mysql"
	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
)

// Sessions of the server's own and of replicas, and those that do nothing.
const quiet = "('Sleep', 'Daemon', 'Binlog Dump', 'Binlog Dump GTID', 'Slave_IO', 'Slave_SQL', 'Slave_worker', 'Connect')"

// What applies the changes of a source is no client. MariaDB's has commands of its own, in quiet; MySQL's has had the command Query since
// 8.0, also while there is nothing to apply, and its threads other names since 8.0.26.
const (
	appliers   = " IN ('thread/sql/slave_io', 'thread/sql/slave_sql', 'thread/sql/slave_worker', 'thread/sql/replica_io', 'thread/sql/replica_sql', 'thread/sql/replica_worker')"
	systemUser = "'system user'" // whose they are in the process list
)

// transactionsQuery counts transactions, whatever their number.
const transactionsQuery = "SELECT COUNT(*), COALESCE(SUM(trx_state = 'LOCK WAIT'), 0), " +
	"COALESCE(MAX(" + mysql.TransactionAge + "), 0) FROM information_schema.INNODB_TRX " +
	"WHERE trx_mysql_thread_id NOT IN (0, CONNECTION_ID())"

// inLockWait is the column that tells of a thread whether InnoDB lets it wait:
// a list that the server makes once, not a join, which would compare each of
// thousands of sessions with each of thousands of transactions.
const inLockWait = " IN (SELECT trx_mysql_thread_id FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT')"

// mostGroups bounds the kinds of sessions that are told apart at one moment.
const mostGroups = 1000

// ofPlumb is the column that tells of a session whether it is another plumb that watches or checks: all look at the
// beginning of a second, and each would see the others at work. A name can be given by anybody, so only those count
// that log in as we do, from where we do: no others are in that table, which every account may read.
const ofPlumb = " IN (SELECT PROCESSLIST_ID FROM performance_schema.session_account_connect_attrs WHERE ATTR_NAME = 'program_name' AND ATTR_VALUE = '" + mysql.ProgramName + "')"

// activeQuery counts the active sessions by what they do.
func activeQuery(t traits) string {
	if !t.schema {
		return fmt.Sprintf("SELECT STATE, NULL, NULL, ID%s AS locked, COUNT(*) FROM information_schema.PROCESSLIST "+
			"WHERE ID <> CONNECTION_ID() AND COMMAND NOT IN %s AND USER <> %s GROUP BY 1, 4 LIMIT %d", inLockWait, quiet, systemUser, mostGroups)
	}
	event, from := "NULL, NULL", "performance_schema.threads t"
	if t.waits {
		event, from = waitsColumns, from+waitsJoin
	}
	return fmt.Sprintf("SELECT t.PROCESSLIST_STATE, %s, t.PROCESSLIST_ID%s AS locked, COUNT(*) FROM %s "+
		"WHERE t.TYPE = 'FOREGROUND' AND t.PROCESSLIST_ID <> CONNECTION_ID() AND t.PROCESSLIST_COMMAND NOT IN %s AND NOT t.NAME%s AND NOT t.PROCESSLIST_ID%s GROUP BY 1, 2, 3, 4 LIMIT %d",
		event, inLockWait, from, quiet, appliers, ofPlumb, mostGroups)
}

// waitsJoin adds the event a thread waits for. A wait for a table's handler is
// not one: it lasts as long as the handler works, and what it waits for is an
// event of its own. Of several, one in the other, the first by name is told: I/O
// before a lock, and both before the condition or mutex by which they are waited
// for. The grouping also has the server make one list of the events, with an
// index. MariaDB's own table has none, and each of thousands of sessions would be
// compared with each event: with 5,000 that took 4 s, and takes 0.03 s.
const (
	waitsJoin = " LEFT JOIN (SELECT THREAD_ID, MIN(CONCAT(EVENT_NAME, ' ', OPERATION)) AS event FROM performance_schema.events_waits_current " +
		"WHERE END_EVENT_ID IS NULL AND EVENT_NAME NOT LIKE 'wait/io/table/%' AND EVENT_NAME NOT LIKE 'wait/io/socket/%' AND EVENT_NAME <> 'idle' " +
		"GROUP BY THREAD_ID) w ON w.THREAD_ID = t.THREAD_ID"
	waitsColumns = "SUBSTRING_INDEX(w.event, ' ', 1), SUBSTRING_INDEX(w.event, ' ', -1)"
)

// sessions reads what the sessions do.
func (v *Server) sessions(ctx context.Context, h host.Reader, b *series.Batch) error {
	t, err := v.learn(ctx, h)
	if err != nil {
		return err
	}
	if v.lost.Load() {
		t.schema, t.waits, t.current = false, false, false // the process list has all sessions
	}
	groups, err := v.Ask(ctx, h, activeQuery(t))
	if err != nil {
		return err
	}
	counts, active, barred := tally(groups, t.waits)
	queue := v.queued(ctx, h, t, b)
	counts[series.ClassOther], active = counts[series.ClassOther]+queue, active+queue
	trx, err := v.Ask(ctx, h, transactionsQuery)
	if err != nil {
		return err
	}
	open, locked, oldest, ok := numbers(trx)
	if !ok {
		return errors.New("how many transactions are open is not told in one row of numbers")
	}
	b.Set(v.Ref, "sessions_active", active)
	for _, c := range series.Classes {
		if c == series.ClassLatch && !t.latches && counts[c] == 0 {
			continue // whoever waits for one looks as if it runs
		}
		b.Set(v.Ref, "sessions_"+string(c), counts[c])
	}
	sample.Oldest(b, v.Ref, oldest)
	b.Set(v.Ref, "blocked_sessions", barred+locked)
	if active == 0 && open == 0 {
		return nil
	}
	return v.listed(ctx, h, t, v.blocked(ctx, h, t, locked > 0, barred > 0, b), b)
}

// numbers gives the three numbers of an answer of one row.
func numbers(rows host.Rows) (a, b, c float64, ok bool) {
	var n [3]float64
	ok = len(rows.Values) == 1
	for i := 0; ok && i < len(n); i++ {
		var err error
		n[i], err = strconv.ParseFloat(host.Text(rows.Values[0], i), 64)
		ok = err == nil
	}
	return n[0], n[1], n[2], ok
}

// tally adds up the groups. barred are those that wait for a lock that is not
// InnoDB's.
func tally(groups host.Rows, timed bool) (counts map[series.Class]float64, active, barred float64) {
	counts = map[series.Class]float64{}
	for _, row := range groups.Values {
		n, err := strconv.ParseFloat(host.Text(row, 4), 64)
		if err != nil {
			continue
		}
		l := look{host.Text(row, 0), host.Text(row, 1), host.Text(row, 2), host.Text(row, 3) == "1", timed}
		class := l.class()
		counts[class] += n
		active += n
		if class == series.ClassLock && !l.locked {
			barred += n
		}
	}
	return counts, active, barred
}

// listed reads the sessions that are shown.
func (v *Server) listed(ctx context.Context, h host.Reader, t traits, by map[int64][]int64, b *series.Batch) error {
	rows, err := v.Ask(ctx, h, listQuery(t, roots(by)))
	if err != nil {
		return err
	}
	for _, row := range rows.Values {
		s, ok := v.session(row, t.waits)
		if !ok {
			continue
		}
		s.BlockedBy = by[s.ID]
		b.Sessions = append(b.Sessions, s)
	}
	return nil
}
