package point

import (
	"strings"

	engine "plumb/internal/engine/mysql"
	"plumb/internal/product"
)

// snapshot stands in a list of statements for the storage's own.
const snapshot = "-- snapshot"

// What is typed to a server besides its locks.
const (
	running = "SELECT ID, COMMAND, TIME, STATE, LEFT(INFO, 2000) FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND COMMAND IN ('Query', 'Execute') AND TIME >= 1 ORDER BY TIME DESC LIMIT 20"
	runs    = "SELECT ID, COMMAND, TIME, STATE, LEFT(INFO, 2000) FROM performance_schema.processlist WHERE ID <> CONNECTION_ID() AND COMMAND IN ('Query', 'Execute') AND TIME >= 1 ORDER BY TIME DESC LIMIT 20"
	// Who holds a lock on the whole server between two statements runs nothing.
	holders = "SELECT PROCESSLIST_ID, PROCESSLIST_COMMAND, PROCESSLIST_TIME, 'idle', CONCAT('holds a lock on everything, as by LOCK TABLES or for a backup: ', OBJECT_TYPE, ' ', LOCK_TYPE) " +
		"FROM performance_schema.metadata_locks JOIN performance_schema.threads ON THREAD_ID = OWNER_THREAD_ID " +
		"WHERE OBJECT_TYPE IN ('GLOBAL', 'COMMIT', 'BACKUP LOCK') AND LOCK_STATUS = 'GRANTED' AND PROCESSLIST_COMMAND = 'Sleep'"
	prepared = "XA RECOVER"
	// Who waits for a row of another runs a statement, which a lock on all tables waits for.
	rowWaits = "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'"
	// Who wants a table that a statement is using when it is flushed waits for that statement, even if the flush was given up.
	// Those that run for a second are waited for in any case; what has run for 100 ms may become one.
	unended = "SELECT COUNT(*) FROM performance_schema.threads JOIN performance_schema.events_statements_current USING (THREAD_ID) " +
		"WHERE PROCESSLIST_ID <> CONNECTION_ID() AND PROCESSLIST_COMMAND IN ('Query', 'Execute') AND END_EVENT_ID IS NULL AND TIMER_WAIT >= 100000000000"

	sourceStatus = "SHOW MASTER STATUS"
	logStatus    = "SHOW BINARY LOG STATUS"
	gtidsMariaDB = "SELECT @@GLOBAL.gtid_binlog_pos, @@GLOBAL.gtid_slave_pos"
	gtidsMySQL   = "SELECT @@GLOBAL.gtid_executed"

	thisServer = "SELECT 'this server' FROM DUAL WHERE "
	readLock   = "FLUSH TABLES WITH READ LOCK"
	ddlLock    = "LOCK INSTANCE FOR BACKUP"
	// Without it transactions may be prepared that nothing in the point decides.
	flushLogs = "FLUSH NO_WRITE_TO_BINLOG ENGINE LOGS"

	// MariaDB's stages (sql/mdl.h and sql/backup.cc of 10.4 to 11.8). The first keeps other backups out,
	// and nobody else. The second closes tables that nobody uses, and holds new writes to tables
	// without transactions. The third waits for those that run, writes such tables out, and holds DDL.
	// The last holds commits, and waits for those that are being made durable: it alone is felt by everybody.
	stageStart  = "BACKUP STAGE START"
	stageFlush  = "BACKUP STAGE FLUSH"
	stageDDL    = "BACKUP STAGE BLOCK_DDL"
	stageCommit = "BACKUP STAGE BLOCK_COMMIT"

	// A node of Galera that falls behind makes the whole cluster wait for it, unless it has said
	// that it will. Said under the lock it would wait for itself (galera#131).
	desync = "SET GLOBAL wsrep_desync = ON"
	resync = "SET GLOBAL wsrep_desync = OFF"
)

// staged tells whether the server has MariaDB's backup stages. Before 10.4.1 there
// are none.
func (j *judged) staged() bool { return isMariaDB(j.sv) && since(j.sv, "10.4.1") }

// limits tells whether the server itself ends a statement after a time shorter than a second.
func (j *judged) limits() bool { return isMariaDB(j.sv) && since(j.sv, "10.1.2") }

// script is all that is typed to the server in locked mode.
func (j *judged) script() []string {
	out := []string{j.itself()}
	out = append(out, j.session()...)
	out = append(out, j.looks()...)
	var locks, release []string
	switch {
	case j.staged():
		// Typed one by one, because a limit is for each.
		locks, release = []string{stageStart, stageFlush, stageDDL, stageCommit}, []string{"BACKUP STAGE END"}
	case !isMariaDB(j.sv) && since(j.sv, "8.0"):
		out = append(out, rowWaits)
		if j.sees() {
			out = append(out, unended)
		}
		locks, release = []string{ddlLock, readLock}, []string{"UNLOCK TABLES", "UNLOCK INSTANCE"}
	default:
		out = append(out, rowWaits)
		locks, release = []string{readLock}, []string{"UNLOCK TABLES"}
	}
	flush := !j.durable()
	if flush { // before the lock too: what was written by then need not be while everybody waits
		out = append(out, flushLogs)
	}
	for _, s := range locks {
		if j.limits() {
			s = limited(s, longest(s))
		}
		out = append(out, s)
	}
	if flush {
		out = append(out, flushLogs)
	}
	out = append(out, j.positions()...)
	out = append(out, snapshot)
	out = append(out, j.positions()...)
	return append(append(out, release...), j.will()...)
}

// durable tells that the point says of every transaction whether it was committed, without a
// flush of the logs while everybody waits: each was written to the redo log when it was prepared,
// and the binary log, which decides about the prepared ones, is in the point too. That InnoDB's own
// mark of the commit may not be written yet then does not matter: recovery after a power cut
// has no more.
func (j *judged) durable() bool {
	if j.unsafe != "" || j.unseen != "" || len(j.set.Strays) > 0 || j.v["innodb_flush_log_at_trx_commit"] != "1" {
		return false
	}
	for name := range j.v {
		if strings.HasPrefix(name, "rocksdb_") {
			return false
		}
	}
	return !on(j.v["log_bin"]) || j.v["sync_binlog"] == "1"
}

// will gives back what does not go with the session. What somebody else has set stays.
func (j *judged) will() []string {
	if j.galera && !on(j.v["wsrep_desync"]) {
		return []string{resync}
	}
	return nil
}

// itself asks whether the session leads to the server whose files are
// snapshotted: a lock behind a proxy would hold another.
func (j *judged) itself() string {
	var same []string
	for _, name := range []string{"hostname", "datadir", "pid_file", "port", "server_uuid"} {
		if value, ok := j.v[name]; ok {
			same = append(same, "@@GLOBAL."+name+" = "+engine.Literal(value))
		}
	}
	return thisServer + strings.Join(same, " AND ")
}

// session sets what would end the lock, or would wait for the lock itself.
func (j *judged) session() []string {
	// Who waits for a lock on everything holds up all who come after.
	out := []string{"SET SESSION lock_wait_timeout = 1"}
	if _, has := j.v["wsrep_sync_wait"]; has && j.galera {
		out = append(out, "SET SESSION wsrep_sync_wait = 0")
	}
	if j.v["group_replication_group_name"] != "" {
		out = append(out, "SET SESSION group_replication_consistency = 'EVENTUAL'")
	}
	if j.will() != nil {
		out = append(out, desync)
	}
	return out
}

func (j *judged) looks() []string {
	if !j.sees() {
		return []string{running, prepared}
	}
	return []string{runs, holders, prepared}
}

// sees tells whether the server says in its performance schema who does what.
func (j *judged) sees() bool { return !isMariaDB(j.sv) && since(j.sv, "8.0.22") && !j.schemaOff }

// positions reads where the server stands.
func (j *judged) positions() []string {
	return positions(j.sv.Flavor, j.sv.Version, on(j.v["log_bin"]))
}

func positions(flavor, version string, logs bool) (out []string) {
	sv := judged{}.sv
	sv.Flavor, sv.Version = flavor, version
	if logs {
		out = append(out, sourceStatus)
		if !isMariaDB(sv) && since(sv, "8.2") {
			out[0] = logStatus // 8.4 has the other no more
		}
	}
	if flavor == product.MariaDB {
		return append(out, gtidsMariaDB)
	}
	return append(out, gtidsMySQL)
}
