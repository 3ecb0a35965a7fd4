package sampler

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/series"
)

// blockersQuery tells who waits for whom, as connection ids.
func blockersQuery(t traits) string {
	if t.lockTable() {
		return "SELECT DISTINCT r.PROCESSLIST_ID, b.PROCESSLIST_ID FROM (SELECT REQUESTING_THREAD_ID, BLOCKING_THREAD_ID " +
			"FROM performance_schema.data_lock_waits LIMIT 512) w JOIN performance_schema.threads r ON r.THREAD_ID = w.REQUESTING_THREAD_ID " +
			"JOIN performance_schema.threads b ON b.THREAD_ID = w.BLOCKING_THREAD_ID"
	}
	return "SELECT DISTINCT r.trx_mysql_thread_id, b.trx_mysql_thread_id FROM (SELECT requesting_trx_id, blocking_trx_id " +
		"FROM information_schema.INNODB_LOCK_WAITS LIMIT 512) w JOIN information_schema.INNODB_TRX r ON r.trx_id = w.requesting_trx_id " +
		"JOIN information_schema.INNODB_TRX b ON b.trx_id = w.blocking_trx_id"
}

// weakLocks are the metadata locks that any number of sessions can have at a time: those of statements that read or change rows.
const weakLocks = "('INTENTION_EXCLUSIVE', 'SHARED_HIGH_PRIO', 'SHARED_READ', 'SHARED_WRITE', 'SHARED_WRITE_LOW_PRIO', 'SHARED_UPGRADABLE', " +
	"'BACKUP_DML', 'BACKUP_TRANS_DML', 'BACKUP_SYS_DML', 'BACKUP_DDL', 'BACKUP_ALTER_COPY', 'BACKUP_COMMIT')"

// metadataQuery tells who waits for whom for a table, a schema or all of the server. A statement waits for whoever has one of the other
// locks, or waits for it: an ALTER TABLE that waits has all behind it wait. That one waits for whoever has any.
var metadataQuery = fmt.Sprintf("SELECT DISTINCT r.PROCESSLIST_ID, b.PROCESSLIST_ID FROM (SELECT OBJECT_TYPE, OBJECT_SCHEMA, OBJECT_NAME, LOCK_TYPE, OWNER_THREAD_ID "+
	"FROM performance_schema.metadata_locks WHERE LOCK_STATUS = 'PENDING' LIMIT 128) w JOIN performance_schema.metadata_locks g "+
	"ON g.OBJECT_TYPE = w.OBJECT_TYPE AND g.OBJECT_SCHEMA <=> w.OBJECT_SCHEMA AND g.OBJECT_NAME <=> w.OBJECT_NAME AND g.OWNER_THREAD_ID <> w.OWNER_THREAD_ID "+
	"AND IF(w.LOCK_TYPE IN %s, g.LOCK_TYPE NOT IN %s, g.LOCK_STATUS = 'GRANTED') "+
	"JOIN performance_schema.threads r ON r.THREAD_ID = w.OWNER_THREAD_ID JOIN performance_schema.threads b ON b.THREAD_ID = g.OWNER_THREAD_ID LIMIT 512", weakLocks, weakLocks)

const metadataHint = "set performance_schema_instrument = 'wait/lock/metadata/sql/mdl=ON' in the option file and restart the server"

// blocked tells who waits for whom: rows of those that InnoDB lets wait, tables and the like of those that are barred.
func (v *Server) blocked(ctx context.Context, h host.Reader, t traits, rows, barred bool, b *series.Batch) map[int64][]int64 {
	by := map[int64][]int64{}
	ask := func(query string) (known bool) {
		answer, err := v.Ask(ctx, h, query)
		if err != nil {
			b.Gap(v.Ref, "who blocks whom: "+err.Error(), grantsHint, "blocked_by")
			return true // that is said
		}
		blockers(answer, by)
		return len(answer.Values) > 0
	}
	if rows {
		ask(blockersQuery(t))
	}
	if barred && !(t.schema && ask(metadataQuery)) {
		b.Gap(v.Ref, "the server does not say who holds the tables that sessions wait for: the instrument of metadata locks is off", metadataHint, "blocked_by")
	}
	return by
}

// blockers adds who waits for whom.
func blockers(rows host.Rows, by map[int64][]int64) {
	for _, row := range rows.Values {
		who, err := strconv.ParseInt(host.Text(row, 0), 10, 64)
		whom, err2 := strconv.ParseInt(host.Text(row, 1), 10, 64)
		if err == nil && err2 == nil && len(by[who]) < series.MostSessions {
			by[who] = append(by[who], whom)
		}
	}
}

// roots gives those that others wait for, as a list of SQL that is never empty.
func roots(by map[int64][]int64) string {
	seen, list := map[int64]bool{}, []string{"0"}
	for _, all := range by {
		for _, id := range all {
			if !seen[id] && len(list) < series.MostSessions {
				seen[id] = true
				list = append(list, strconv.FormatInt(id, 10))
			}
		}
	}
	return "(" + strings.Join(list, ", ") + ")"
}
