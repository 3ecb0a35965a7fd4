package fill

import (
	"time"

	"plumb/internal/load"
)

// Table is a table to make and to fill. Its content is a function of the
// number of a unit alone, so that any range can be made again at any time.
type Table struct {
	Name    string
	Create  string   // makes the table, with its primary key; the storage engine and its options too
	Columns []string // the columns that Row gives, in the order of its fields
	Units   int64    // units are numbered from 0 in the order of the primary key
	// Row appends the lines of a unit: none, one or several rows of
	// tab-separated fields, each ended by a newline, with the escapes that
	// load.Admin.Fill states. Fields are written as the server prints them
	// back: decimals with all their places, times as 2006-01-02 15:04:05. It is called by
	// several goroutines at once and allocates nothing.
	Row func(dst []byte, unit int64) []byte
	// Sums names columns of whole numbers whose sums are checked after the
	// load, beside the number of rows. NULL counts as 0.
	Sums []string
	// After has the statements that follow when the rows are in, such as
	// CREATE INDEX, in order. Other tables are still being filled then.
	After []string
}

// Plan is all that a load makes.
type Plan struct {
	Workload string // "oltp", "tpcc": one plan of each can be in a database
	// Settings are what the rows depend on, with names as people give them:
	// seed, scale, mode, and a version of the generator. A database that holds
	// tables of other settings is refused.
	Settings []load.Setting
	Tables   []Table
	// Links are statements that need several tables, such as foreign keys.
	// They run one after the other when all tables are full; on MySQL without
	// checking the rows (foreign_key_checks=0).
	Links []string
}

// Level says how much is verified after a load.
type Level int

// Levels of verification.
const (
	Counts  Level = iota // the number of rows and the sums of Table.Sums, one scan each
	Content              // also a checksum over every field of every row
	Nothing              // trust the server
)

// Options say how a plan is carried out.
type Options struct {
	Workers  int   // sessions that fill at the same time; 0: 4
	Range    int64 // bytes of text in one transaction; 0: 16 MiB
	Verify   Level
	NoLog    bool           // MySQL: sql_log_bin=0; replicas and backups by log then miss the tables
	Progress func(Progress) // called about twice a second, and at the end
}

// Progress is how far a load is.
type Progress struct {
	Doing   string  // "rows", "indexes", "foreign keys", "statistics", "verifying"
	Table   string  // the last one worked on
	Rows    int64   // in so far, with those of an earlier attempt
	Bytes   int64   // of text, likewise
	Of      int64   // bytes of text in all, estimated
	Rate    float64 // rows a second, of this attempt
	Elapsed time.Duration
	Left    time.Duration // for the rows, at this rate; 0 when unknown
}

// Report is what a load did.
type Report struct {
	Resumed  bool          // took up an earlier one
	Rows     int64         // of all tables
	Bytes    int64         // of text that was sent now
	Filled   time.Duration // until the rows were in
	Elapsed  time.Duration
	Tables   []TableReport
	Verified Level
}

// TableReport is one table of a report.
type TableReport struct {
	Name     string
	Rows     int64
	Checksum string // of the content, when that was verified
}

// State is what the notes in a database say.
type State struct {
	Settings []load.Setting // nil when there is no such load
	Tables   []string       // that were made
	Complete bool
}
