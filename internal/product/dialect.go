package product

import (
	"crypto/md5" //nolint:gosec // a checksum that PostgreSQL has too
	"encoding/binary"
	"hash/crc32"
	"strings"
)

// Dialect is what the SQL of a server has of its own, as far as loads need it.
type Dialect struct {
	Backslash bool // it escapes in a string

	// tables
	TableOptions    string // end a CREATE TABLE, so that what fails is taken back
	StorageEngines  bool   // a table can have another than that
	Fillfactor      string // ends a CREATE TABLE, so that %d per cent of each page are filled at first; "" where none does
	Clustered       bool   // rows lie in their primary key, so it comes with the table; elsewhere it is built faster from rows that are there
	IndexedLinks    bool   // a foreign key demands an index
	Transactional   bool   // what is done to tables is, too
	Serial          string // type of a column that the server numbers
	SetSerial       string // goes on after %[2]d in the column id of table %[1]s; "" where the server does by itself
	ZeroIsNext      bool   // a row's 0 in such a column stands for the next number
	TinyInt, Moment string // types
	Cascade         string // ends the DROP TABLE of one that others refer to

	// statements
	Checkpoint         string   // writes what is dirty, so that a stop is short; "" where none does
	Analyze            string   // goes before a table's name; vacuums it too, where there is that
	Text               string   // gives the text of a number, %s
	DeleteSome         string   // deletes 10 rows of table %[1]s where %[2]s
	Snapshot           []string // begin a transaction that only reads, and sees one moment
	Schema             string   // where unqualified tables are
	Session            string   // asks for the number of the session
	Kill               string   // ends session %s
	SkipLinks          string   // lets a session write what breaks foreign keys; "" where none does
	LoadSession        []string // make a session ready for loading
	NoLog              string   // keeps what it does out of the log of changes; "" where none does
	AwaitNotes         string   // asks for what is under way in table %[1]s for workload %[2]s; "" where sharing a lock does that
	Lock, Share, Admit func(space, name string) string

	// Hash of a row that the server can compute as well: HashField makes the
	// text of column %s, HashRows sums the hashes of rows of fields %s.
	Hash                func(row []byte) uint64
	HashField, HashRows string
}

// DialectOf gives the dialect of a kind of servers; an empty one when no load is for them.
func DialectOf(kind string) *Dialect {
	if d := Of(kind).Dialect; d != nil {
		return d
	}
	return &Dialect{}
}

// Quote makes a string of SQL.
func (d *Dialect) Quote(text string) string {
	text = strings.ReplaceAll(text, "'", "''")
	if d.Backslash {
		text = strings.ReplaceAll(text, `\`, `\\`)
	}
	return "'" + text + "'"
}

var mysqlDialect = Dialect{
	Backslash:      true,
	TableOptions:   " ENGINE=InnoDB",
	StorageEngines: true,
	Clustered:      true,
	IndexedLinks:   true,
	Serial:         "INTEGER NOT NULL AUTO_INCREMENT",
	ZeroIsNext:     true,
	TinyInt:        "tinyint",
	Moment:         "datetime",
	Analyze:        "ANALYZE TABLE ",
	Text:           "%s",
	DeleteSome:     "DELETE FROM %[1]s WHERE %[2]s LIMIT 10",
	Snapshot:       []string{"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"},
	Schema:         "DATABASE()",
	Session:        "SELECT CONNECTION_ID()",
	Kill:           "KILL %s",
	SkipLinks:      "SET FOREIGN_KEY_CHECKS = 0",
	// With both checks off, MariaDB loads the first rows into an empty table in
	// a way that locks the others out and, measured, costs more; so keys stay checked.
	LoadSession: []string{"SET SESSION foreign_key_checks = 0", "SET SESSION unique_checks = 1"},
	NoLog:       "SET SESSION sql_log_bin = 0",
	// There is no lock that sessions share. Reading with locks waits for a
	// COMMIT of a killed load that is still to be done.
	AwaitNotes: "SELECT COUNT(*) FROM %[1]s WHERE workload = %[2]s LOCK IN SHARE MODE",
	Lock: func(space, name string) string { // a name has 64 characters at most; MySQL 9.7 has MD5 in a component only
		return "SELECT GET_LOCK(CONCAT('" + space + ".', LEFT(SHA2(CONCAT(DATABASE(), '.', '" + name + "'), 256), 32)), 0)"
	},
	Hash:      func(row []byte) uint64 { return uint64(crc32.ChecksumIEEE(row)) },
	HashField: "IFNULL(%s, x'5C4E')", // \N, however the server reads backslashes
	HashRows:  "COALESCE(SUM(CRC32(CONCAT_WS(x'09', %s))), 0)",
}

var postgresDialect = Dialect{
	Fillfactor:    " WITH (fillfactor = %d)",
	Checkpoint:    "CHECKPOINT",
	Transactional: true,
	Serial:        "SERIAL",
	SetSerial:     "SELECT setval(pg_get_serial_sequence('%[1]s', 'id'), %[2]d)",
	TinyInt:       "smallint",
	Moment:        "timestamp",
	Cascade:       " CASCADE",
	Analyze:       "VACUUM ANALYZE ",
	Text:          "CAST(%s AS TEXT)",
	DeleteSome:    "DELETE FROM %[1]s WHERE ctid IN (SELECT ctid FROM %[1]s WHERE %[2]s LIMIT 10)",
	Snapshot:      []string{"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"},
	Schema:        "current_schema()",
	Session:       "SELECT pg_backend_pid()",
	Kill:          "SELECT pg_terminate_backend(%s)",
	LoadSession:   []string{"SET datestyle = 'ISO, YMD'"},
	// Every session of a load shares the second lock until the server has done
	// its last statement, so a COMMIT of a killed load is waited for.
	Lock: func(space, name string) string {
		return "SELECT CASE WHEN pg_try_advisory_lock(hashtext('" + space + "." + name + "')) AND pg_try_advisory_lock(" + sessions(space, name) + ") THEN 1 ELSE 0 END"
	},
	Share: func(space, name string) string {
		return "SELECT pg_advisory_lock_shared(" + sessions(space, name) + ")"
	},
	Admit: func(space, name string) string { return "SELECT pg_advisory_unlock(" + sessions(space, name) + ")" },
	// There is no CRC before PostgreSQL 18: the first 32 bits of MD5.
	Hash: func(row []byte) uint64 {
		sum := md5.Sum(row)
		return uint64(binary.BigEndian.Uint32(sum[:]))
	},
	HashField: `COALESCE(%s::text, E'\\N')`,
	HashRows:  `COALESCE(SUM(('x' || substr(md5(concat_ws(E'\t', %s)), 1, 8))::bit(32)::bigint), 0)`,
}

// sessions is PostgreSQL's number of the lock that all sessions of a load share.
func sessions(space, name string) string { return "hashtext('" + space + "." + name + ".sessions')" }
