package mysql

import (
	"fmt"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/stack"
)

// maxBinlogs bounds the binary logs whose size is asked one by one.
const maxBinlogs = 2000

// data sets how much there is of what kind.
func (l *look) data() {
	l.tablespaces()
	l.tables()
	l.binlogs()
	l.memory()
	l.accounts()
}

// tablespaces sums the InnoDB files in one query: the dictionary's own tables
// are quick where information_schema.TABLES may open every table.
func (l *look) tablespaces() {
	table := "INNODB_TABLESPACES"
	if l.isMariaDB() || !AtLeast(l.in.version, "8.0") {
		table = "INNODB_SYS_TABLESPACES"
	}
	q := "SELECT COUNT(*), SUM(FILE_SIZE), SUM(ALLOCATED_SIZE), SUM(" + pageCompressed(l.isMariaDB()) + "), SUM(" + rowCompressed(l.isMariaDB()) +
		") FROM information_schema." + table + " WHERE NAME NOT LIKE 'innodb\\_%'"
	rows, ok := l.query(q, "innodb_data_size", "innodb_allocated_size", "innodb_tablespaces", "page_compressed_tables", "row_compressed_tables")
	if !ok || len(rows.Values) == 0 {
		return
	}
	for i, fact := range []string{"innodb_tablespaces", "innodb_data_size", "innodb_allocated_size", "page_compressed_tables", "row_compressed_tables"} {
		if i >= len(rows.Values[0]) || rows.Values[0][i] == nil {
			if i > 0 && host.Text(rows.Values[0], 0) == "0" {
				l.t.Set(fact, stack.Int(0), "information_schema."+table)
			}
			continue
		}
		if n, ok := whole(*rows.Values[0][i]); ok {
			l.t.Set(fact, stack.Int(n), "information_schema."+table)
		}
	}
}

// compressionColumn counts page compression where the dictionary answers it
// without opening tables: MySQL 8.0 and later.
func (l *look) compressionColumn() string {
	if l.isMariaDB() || !AtLeast(l.in.version, "8.0") {
		return ""
	}
	return ", SUM(CREATE_OPTIONS LIKE '%COMPRESSION=%' AND CREATE_OPTIONS NOT LIKE '%COMPRESSION=\"NONE\"%')"
}

// pageCompressed is true of a tablespace with page compression. MariaDB keeps
// it in the flags: bits 5 to 7 of the full_crc32 format (bit 4 marks it), bit
// 16 of the older. MySQL keeps it in the table's options: see engines.
func pageCompressed(mariadb bool) string {
	if mariadb {
		return "CASE WHEN FLAG & 16 THEN (FLAG >> 5) & 7 > 0 ELSE (FLAG >> 16) & 1 END"
	}
	return "NULL"
}

// rowCompressed is true of a tablespace with ROW_FORMAT=COMPRESSED: the page
// size in the flags' bits 1 to 4.
func rowCompressed(mariadb bool) string {
	if mariadb {
		return "CASE WHEN FLAG & 16 THEN 0 ELSE (FLAG >> 1) & 15 > 0 END"
	}
	return "(FLAG >> 1) & 15 > 0"
}

// OwnSchemas are those of the server and its tools, as a list of SQL.
const OwnSchemas = "('mysql', 'sys', 'performance_schema', 'information_schema', 'mysql_innodb_cluster_metadata', 'percona')"

// maxTables bounds the tables whose engines are counted.
const maxTables = 20000

// tables looks at the users' tables, if the user may see them all:
// information_schema hides tables without a privilege on them.
func (l *look) tables() {
	facts := append(engineFacts(), incrementFacts()...)
	rows, ok := l.query("SHOW GRANTS", facts...)
	if !ok {
		return
	}
	if !SeesTables(rows) {
		l.gap("this user does not see other users' tables", grantsHint, facts...)
		return
	}
	l.engines()
	l.increments()
}

func engineFacts() []string { return []string{"user_tables", "myisam_tables", "other_engines"} }

// engines counts the users' tables by engine.
func (l *look) engines() {
	facts := engineFacts()
	if n, ok := l.t.Int("innodb_tablespaces"); ok && n > maxTables {
		l.gap(fmt.Sprintf("too many tables to list: %d", n), "", facts...)
		return
	}
	q := "SELECT ENGINE, COUNT(*)" + l.compressionColumn() + " FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA NOT IN " +
		OwnSchemas + " GROUP BY ENGINE"
	rows, ok := l.query(q, facts...)
	if !ok {
		return
	}
	total, unsafe, compressed, others := int64(0), int64(0), int64(0), []string{}
	for _, row := range rows.Values {
		if len(row) < 2 || row[0] == nil {
			continue // a table that cannot be opened has no engine
		}
		if len(row) > 2 {
			c, _ := whole(host.Text(row, 2))
			compressed += c
			l.t.Set("page_compressed_tables", stack.Int(compressed), "information_schema.TABLES")
		}
		n, _ := whole(host.Text(row, 1))
		total += n
		switch engine := host.Text(row, 0); engine {
		case "InnoDB", "ROCKSDB":
		case "MyISAM":
			unsafe += n
			others = append(others, fmt.Sprintf("%s %d", engine, n))
		default:
			others = append(others, fmt.Sprintf("%s %d", engine, n))
		}
	}
	l.t.Set("user_tables", stack.Int(total), "information_schema.TABLES")
	l.t.Set("myisam_tables", stack.Int(unsafe), "information_schema.TABLES")
	l.t.Set("other_engines", stack.List(others), "information_schema.TABLES")
}

// SeesTables reports whether grants hold a global privilege that makes all
// tables visible.
func SeesTables(grants host.Rows) bool {
	for _, row := range grants.Values {
		if len(row) == 0 {
			continue
		}
		g := host.Text(row, 0)
		privileges, rest, ok := strings.Cut(strings.TrimPrefix(g, "GRANT "), " ON *.* TO ")
		if !ok || rest == "" {
			continue
		}
		for p := range strings.SplitSeq(privileges, ",") {
			switch strings.TrimSpace(p) {
			case "ALL PRIVILEGES", "SELECT", "SHOW VIEW", "TRIGGER", "INDEX", "REFERENCES":
				return true
			}
		}
	}
	return false
}

// binlogs adds up the binary logs on disk. SHOW BINARY LOGS holds a lock that
// rotation needs, so the files are asked instead.
func (l *look) binlogs() {
	facts := []string{"binlog_size", "binlog_files", "binlog_oldest"}
	base := l.variables["log_bin_basename"]
	if on, _ := Truth(l.variables["log_bin"]); !on || base == "" {
		l.t.Absent("@@log_bin", facts...)
		return
	}
	if l.in.process == nil {
		l.gap("the server is remote", "", facts...)
		return
	}
	found, err := l.h.Glob(l.ctx, host.Verbatim(l.in.root+base)+".[0-9]*")
	if err != nil || len(found) == 0 {
		l.gap(fmt.Sprintf("list %s.*: none visible", base), "run as root", facts...)
		return
	}
	l.t.Set("binlog_files", stack.Int(int64(len(found))), base+".*")
	if len(found) > maxBinlogs {
		l.gap(fmt.Sprintf("too many binary logs to measure: %d", len(found)), "", "binlog_size", "binlog_oldest")
		return
	}
	var size int64
	var oldest time.Time
	for _, name := range found {
		st, err := l.h.Stat(l.ctx, name)
		if err != nil {
			l.gap(fmt.Sprintf("stat %s: %v", name, hint.Cause(err)), "run as root", "binlog_size", "binlog_oldest")
			return
		}
		size += st.Size
		if oldest.IsZero() || st.Modified.Before(oldest) {
			oldest = st.Modified
		}
	}
	l.t.Set("binlog_size", stack.Int(size), base+".*")
	l.t.Set("binlog_oldest", stack.Int(max(0, int64(l.h.About().Taken.Sub(oldest).Seconds()))), base+".*")
}

// memory asks the performance schema, where it is on, what the server has
// allocated.
func (l *look) memory() {
	if on, _ := Truth(l.variables["performance_schema"]); !on {
		l.t.Absent("@@performance_schema", "performance_schema_memory", "instrumented_memory")
		return
	}
	const q = "SELECT SUM(CURRENT_NUMBER_OF_BYTES_USED), SUM(IF(EVENT_NAME LIKE 'memory/performance_schema/%', CURRENT_NUMBER_OF_BYTES_USED, 0)) " +
		"FROM performance_schema.memory_summary_global_by_event_name"
	rows, ok := l.query(q, "performance_schema_memory", "instrumented_memory")
	if !ok || len(rows.Values) == 0 || len(rows.Values[0]) < 2 {
		return
	}
	for i, fact := range []string{"instrumented_memory", "performance_schema_memory"} {
		if n, ok := whole(host.Text(rows.Values[0], i)); ok && n > 0 {
			l.t.Set(fact, stack.Int(n), "performance_schema.memory_summary_global_by_event_name")
		}
	}
}

// accounts counts accounts with a plugin that MySQL 9.0 no longer has.
func (l *look) accounts() {
	if l.isMariaDB() || !AtLeast(l.in.version, "8.0") {
		l.t.SetAbsent("native_password_accounts", "@@version")
		return
	}
	l.number("SELECT COUNT(*) FROM mysql.user WHERE plugin = 'mysql_native_password'", "native_password_accounts", "mysql.user")
}
