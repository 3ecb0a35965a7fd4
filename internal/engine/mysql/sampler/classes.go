package sampler

import (
	"strings"

	"plumb/internal/series"
)

// byState says what a session waits for by the words of its state, where these
// tell it. "Sending data" and the like tell nothing: a session in it runs, reads
// or waits for a latch. Sources: sql/sql_class.h, sql/mdl.cc and sql/lock.cc of
// MariaDB 10.11, sql/mysqld.cc and sql/mdl.cc of MySQL 8.0.
var byState = []waiting{
	{"waiting for semi-sync ack", series.ClassReplica},       // the beginning of one is the other
	{"waiting for semi-sync slave", series.ClassReplica},     //
	{"waiting for certification", series.ClassReplica},       // Galera
	{"wsrep: ", series.ClassReplica},                         // Galera of MySQL
	{"acquiring total order isolation", series.ClassReplica}, // Galera, schema changes
	{"waiting for handler commit", series.ClassLog},          // MySQL since 8.0
	{"waiting for prior transaction to commit", series.ClassLog},
	{"waiting for prior transaction to start commit", series.ClassLog},
	{"commit", series.ClassLog}, // MariaDB, while a transaction is made durable
	{"waiting for global read lock", series.ClassLock},
	{"waiting for backup lock", series.ClassLock},
	{"waiting for commit lock", series.ClassLock},
	{"waiting for table flush", series.ClassLock},
	{"waiting for table level lock", series.ClassLock},
	{"waiting for table metadata lock", series.ClassLock},
	{"waiting for tables", series.ClassLock},
	{"waiting for table", series.ClassLock},
	{"waiting for schema metadata lock", series.ClassLock},
	{"waiting for stored ", series.ClassLock},
	{"waiting for trigger metadata lock", series.ClassLock},
	{"waiting for event metadata lock", series.ClassLock},
	{"waiting for column statistics lock", series.ClassLock},
	{"waiting for foreign key metadata lock", series.ClassLock},
	{"waiting for check constraint metadata lock", series.ClassLock},
	{"waiting for resource groups metadata lock", series.ClassLock},
	{"waiting for spatial reference system lock", series.ClassLock},
	{"waiting for acl cache lock", series.ClassLock},
	{"waiting for locking service lock", series.ClassLock},
	{"user lock", series.ClassLock},
	{"user sleep", series.ClassOther},
	{"waiting for query cache lock", series.ClassLatch},
}

// byEvent says it by the event of the performance schema that is under way.
// Which files these are: Performance Schema Instrument Naming Conventions of the
// MySQL 8.0 manual, storage/innobase/srv/srv0start.cc and sql/mysqld.cc.
var byEvent = []waiting{
	{"wait/io/file/innodb/innodb_log_file", series.ClassLog},
	{"wait/io/file/sql/binlog", series.ClassLog}, // and its cache, index
	{"wait/io/file/innodb/innodb_dblwr_file", series.ClassWrite},
	{"wait/io/file/innodb/innodb_temp_file", series.ClassOther}, // read and written
	{"wait/lock/", series.ClassLock},
	{"wait/synch/cond/innodb/row_lock_wait_cond", series.ClassLock},
	{"wait/synch/cond/sql/MDL_context::COND_wait_status", series.ClassLock},
	{"wait/synch/cond/sql/MYSQL_BIN_LOG::", series.ClassLog},        // a follower in group commit
	{"wait/synch/cond/sql/THD::COND_wakeup_ready", series.ClassLog}, // the same of MariaDB
	{"wait/synch/cond/sql/wait_for_commit::", series.ClassLog},      // MariaDB, for a commit that comes before
	{"wait/synch/cond/sql/COND_binlog", series.ClassReplica},
	{"wait/synch/cond/sql/Item_func_sleep::cond", series.ClassOther}, // it asked to
	{"wait/synch/cond/semisync/", series.ClassReplica},
	{"wait/synch/", series.ClassLatch},
}

// waiting is a class for what begins with a text.
type waiting struct {
	prefix string
	class  series.Class
}

func lookUp(table []waiting, text string) (series.Class, bool) {
	for _, w := range table {
		if strings.HasPrefix(text, w.prefix) {
			return w.class, true
		}
	}
	return "", false
}

// look is what a server says of what a session does.
type look struct {
	state     string // of the process list
	event     string // of the performance schema that is under way; "" for none
	operation string // of that event: read, write, sync
	locked    bool   // InnoDB lets it wait for a row
	timed     bool   // events are there to be seen, so that none means that it runs
}

// class gives the class of an active session. Where no event is under way, and
// events would be seen, it runs: or waits for a latch, if the instruments of
// those are off.
func (l look) class() series.Class {
	if l.locked {
		return series.ClassLock
	}
	state, stated := lookUp(byState, strings.ToLower(l.state))
	if c, ok := lookUp(byEvent, l.event); ok && l.event != "" {
		if c == series.ClassLatch && stated && strings.HasPrefix(l.event, "wait/synch/cond/") {
			return state // a condition is how it waits, and not for what: table locks have that of the thread
		}
		return c
	}
	if strings.HasPrefix(l.event, "wait/io/file/") {
		switch l.operation {
		case "read":
			return series.ClassRead
		case "write", "sync", "chsize":
			return series.ClassWrite
		}
		return series.ClassOther
	}
	if stated {
		return state
	}
	switch {
	case l.event != "":
		return series.ClassOther
	case l.timed:
		return series.ClassCPU
	}
	return series.ClassUnknown
}
