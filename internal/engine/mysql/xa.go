package mysql

import (
	"errors"
	"strings"

	"github.com/go-sql-driver/mysql"

	"plumb/internal/host"
	"plumb/internal/stack"
)

const (
	xaQuery = "XA RECOVER"
	// A prepared transaction whose session is gone belongs to no thread.
	xaAgeQuery = "SELECT MAX(" + TransactionAge + ") FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id = 0"
)

// TransactionAge is the age of a transaction of information_schema.INNODB_TRX in seconds. It says when one began in the zone of
// the server's process (field_store_time_t of storage/innobase/handler/i_s.cc calls localtime_r), whatever time_zone is: with
// another zone there, NOW() is hours off. Where clocks are set back or forward meanwhile, the difference of local times is, too.
const TransactionAge = "TIMESTAMPDIFF(SECOND, CONVERT_TZ(trx_started, 'SYSTEM', '+00:00'), UTC_TIMESTAMP())"

// preparedXA counts the XA transactions that are prepared, and tells for how
// long the oldest of those has been there that no session has.
func (l *look) preparedXA() {
	rows, ok := l.query(xaQuery, "xa_prepared", "xa_prepared_oldest")
	if !ok {
		return
	}
	l.t.Set("xa_prepared", stack.Int(int64(len(rows.Values))), xaQuery)
	if len(rows.Values) == 0 {
		l.t.SetAbsent("xa_prepared_oldest", xaQuery)
		return
	}
	if rows, ok = l.query(xaAgeQuery, "xa_prepared_oldest"); !ok || len(rows.Values) == 0 {
		return
	}
	if n, ok := whole(host.Text(rows.Values[0], 0)); ok {
		l.t.Set("xa_prepared_oldest", stack.Int(max(n, 0)), "information_schema.INNODB_TRX")
	} else {
		l.t.SetAbsent("xa_prepared_oldest", "information_schema.INNODB_TRX")
	}
}

// xaDenied tells whether MySQL 8.0 or later refused XA RECOVER: to a user
// without XA_RECOVER_ADMIN it says no more than XAER_RMERR.
func xaDenied(query string, err error) bool {
	e, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && e.Number == 1401 && strings.EqualFold(query, xaQuery)
}
