package private

import (
	"context"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/load"
)

// Counters implements lab.Engine, in bytes and counts since the server began:
//
//	server read            pages of InnoDB
//	server redo written    InnoDB's redo log
//	server binlog written  the binary log, where there is one
//	server written         pages, the doublewrite buffer, redo and binary log
//	server fsyncs          of InnoDB's files, the redo log and the binary log
//
// Not counted are temporary files, other engines, the slow log and the zeros
// that a growing tablespace is filled with. What each counter of the server
// holds was compared with strace on MariaDB 10.11 and 11.4 and MySQL 9.7.
func (mysqlEngine) Counters(ctx context.Context, a load.Admin) (map[string]float64, error) {
	status, err := pairs(ctx, a, "SHOW GLOBAL STATUS")
	if err != nil {
		return nil, err
	}
	variables, err := pairs(ctx, a, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version', 'version_comment', 'log_bin', 'sync_binlog', 'innodb_page_size', 'performance_schema')")
	if err != nil {
		return nil, err
	}
	c := counting{status, variables}
	log := c.binlogOfMariaDB()
	if on, _ := truth(variables["log_bin"]); on && !c.isMariaDB() {
		if log, err = c.binlogOfMySQL(ctx, a); err != nil {
			return nil, err
		}
	}
	return c.sums(log), nil
}

// counting is what a server says of itself.
type counting struct{ status, variables map[string]string }

// journal is what the binary log took; nil for what is not known.
type journal struct{ bytes, syncs *float64 }

func (c counting) isMariaDB() bool {
	return strings.Contains(strings.ToLower(c.variables["version"]+c.variables["version_comment"]), "mariadb")
}

// since tells whether the server is at least of a version. It is not, when its
// version cannot be read.
func (c counting) since(version string) bool {
	have, err := catalog.ParseVersion(strings.TrimPrefix(c.variables["version"], "5.5.5-"))
	least, err2 := catalog.ParseVersion(version)
	return err == nil && err2 == nil && have.Compare(least) >= 0
}

// sums gives what can be summed honestly.
func (c counting) sums(log journal) map[string]float64 {
	all := sums{}
	on, known := truth(c.variables["log_bin"])
	if on {
		all.add("server binlog written", log.bytes)
	} else if known {
		nothing := 0.0
		log = journal{&nothing, &nothing}
	}
	all.add("server read", value(c.status, "innodb_data_read"))
	all.add("server redo written", value(c.status, "innodb_os_log_written"))
	all.add("server written", append(c.pages(), log.bytes)...)
	all.add("server fsyncs", value(c.status, "innodb_data_fsyncs"), log.syncs)
	return all
}

// pages gives the parts of what InnoDB wrote: MariaDB counts redo apart and the
// doublewrite buffer with the pages, MySQL the other way round. How releases
// before these count was not measured, so they are unknown.
func (c counting) pages() []*float64 {
	written := value(c.status, "innodb_data_written")
	switch {
	case c.isMariaDB() && c.since("10.5"):
		return []*float64{written, value(c.status, "innodb_os_log_written")}
	case !c.isMariaDB() && c.since("8.0.20"):
		twice, size := value(c.status, "innodb_dblwr_pages_written"), value(c.variables, "innodb_page_size")
		if twice == nil || size == nil {
			return []*float64{nil}
		}
		bytes := *twice * *size
		return []*float64{written, &bytes}
	}
	return []*float64{nil}
}

// binlogOfMariaDB reads its own counters. A group of commits is synced at once,
// or with sync_binlog = n every n-th group.
func (c counting) binlogOfMariaDB() journal {
	log := journal{bytes: value(c.status, "binlog_bytes_written")}
	groups, every := value(c.status, "binlog_group_commits"), value(c.variables, "sync_binlog")
	if groups != nil && every != nil {
		syncs := 0.0
		if *every > 0 {
			syncs = *groups / *every
		}
		log.syncs = &syncs
	}
	return log
}

// value reads one counter; nil when there is none.
func value(from map[string]string, name string) *float64 {
	n, ok := number(from[name])
	if !ok {
		return nil
	}
	return &n
}

// binlogOfMySQL measures the files, because the server does not count them.
func (c counting) binlogOfMySQL(ctx context.Context, a load.Admin) (log journal, err error) {
	rows, err := a.Query(ctx, "SHOW BINARY LOGS")
	if err != nil {
		return log, err
	}
	size := 0.0
	for _, row := range rows.Values {
		if len(row) < 2 || row[1] == nil {
			return log, nil
		}
		n, ok := number(*row[1])
		if !ok {
			return log, nil
		}
		size += n
	}
	log.bytes = &size
	log.syncs, err = c.binlogSyncs(ctx, a)
	return log, err
}

// binlogSyncs asks the performance schema. What it calls miscellaneous on
// binary logs are their syncs, and a few more calls when a new one is begun.
func (c counting) binlogSyncs(ctx context.Context, a load.Admin) (*float64, error) {
	if every := value(c.variables, "sync_binlog"); every != nil && *every == 0 {
		none := 0.0
		return &none, nil
	}
	if on, _ := truth(c.variables["performance_schema"]); !on {
		return nil, nil
	}
	counts, err := pairs(ctx, a, "SELECT EVENT_NAME, COUNT_MISC FROM performance_schema.file_summary_by_event_name WHERE EVENT_NAME = 'wait/io/file/sql/binlog'")
	return value(counts, "wait/io/file/sql/binlog"), err
}
