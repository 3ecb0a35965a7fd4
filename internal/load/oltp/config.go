package oltp

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"plumb/internal/draw"
	"plumb/internal/load/durability"
)

// Config has sysbench's options, each under the name in its comment. Start
// from [Defaults]: a zero means zero.
type Config struct {
	Script       string // "oltp_read_write", …; see Scripts
	Seed         uint64
	Tables       int        // tables
	TableSize    int64      // table-size: rows of each
	RangeSize    int64      // range-size
	PointSelects int        // point-selects
	SimpleRanges int        // simple-ranges
	SumRanges    int        // sum-ranges
	OrderRanges  int        // order-ranges
	Distinct     int        // distinct-ranges
	IndexUpdates int        // index-updates
	NonIndex     int        // non-index-updates
	DeleteInsert int        // delete-inserts
	RangeSelects bool       // range-selects
	SkipTrx      bool       // skip-trx
	RandomPoints int        // random-points
	Ranges       int        // number-of-ranges
	Delta        int64      // delta
	RandType     string     // rand-type
	Shape        draw.Shape // rand-spec-iter, rand-pareto-h, …, and scramble

	AutoInc         bool   // auto-inc
	Secondary       bool   // secondary: a plain index instead of the primary key
	CreateSecondary bool   // create-secondary: the index on k
	Engine          string // mysql-storage-engine
	TableOptions    string // mysql-table-options, create-table-options
	Fillfactor      int    // per cent of each page that are filled at first, where a server has that; 0: all it fills by itself

	Sessions int  // how many workers will open: what the server is asked to have room for; 0 asks nothing
	Text     bool // db-ps-mode=disable: the server was made with sessions of the text protocol

	// Ledger, when set, notes each acknowledged commit of the scripts that
	// write; single statements become transactions then.
	Ledger *durability.Ledger
}

// Defaults are those of sysbench 1.0.20, but rand-type, which is the caller's
// to decide, is uniform.
func Defaults() Config {
	return Config{Script: "oltp_read_write", Tables: 1, TableSize: 10000, RangeSize: 100, PointSelects: 10, SimpleRanges: 1, SumRanges: 1,
		OrderRanges: 1, Distinct: 1, IndexUpdates: 1, NonIndex: 1, DeleteInsert: 1, RangeSelects: true, RandomPoints: 10, Ranges: 10,
		Delta: 5, RandType: "uniform", AutoInc: true, CreateSecondary: true, Engine: "innodb"}
}

// Scripts names the workloads.
func Scripts() []string {
	return []string{"oltp_read_write", "oltp_read_only", "oltp_write_only", "oltp_point_select", "oltp_update_index",
		"oltp_update_non_index", "oltp_insert", "oltp_delete", "select_random_points", "select_random_ranges", bulkInsert}
}

// ShortScripts are sysbench's scripts as people type them.
func ShortScripts() []string {
	var list []string
	for _, s := range Scripts() {
		list = append(list, strings.TrimPrefix(s, "oltp_"))
	}
	return list
}

// ScriptNamed gives the full name of a script: with its oltp_, without .lua or
// a path, and without the minus signs of people who type them.
func ScriptNamed(word string) string {
	word = strings.ReplaceAll(strings.TrimSuffix(path.Base(word), ".lua"), "-", "_")
	for _, s := range Scripts() {
		if s == word || s == "oltp_"+word {
			return s
		}
	}
	return word
}

const bulkInsert = "bulk_insert"

// Most of anything in one event, tables and rows: a mistyped option must not
// fill the memory.
const (
	mostTables     = 10_000
	mostRows       = 1<<31 - 1 // id is an INTEGER
	mostStatements = 10_000
)

func (c Config) check() error {
	if !slices.Contains(Scripts(), c.Script) {
		return fmt.Errorf("unknown script %q: there are %s", c.Script, strings.Join(Scripts(), ", "))
	}
	within := []struct {
		name      string
		value     int64
		low, high int64
	}{
		{"tables", int64(c.Tables), 1, mostTables}, {"table-size", c.TableSize, 1, mostRows}, {"range-size", c.RangeSize, 1, mostRows},
		{"point-selects", int64(c.PointSelects), 0, mostStatements}, {"simple-ranges", int64(c.SimpleRanges), 0, mostStatements},
		{"sum-ranges", int64(c.SumRanges), 0, mostStatements}, {"order-ranges", int64(c.OrderRanges), 0, mostStatements},
		{"distinct-ranges", int64(c.Distinct), 0, mostStatements}, {"index-updates", int64(c.IndexUpdates), 0, mostStatements},
		{"non-index-updates", int64(c.NonIndex), 0, mostStatements}, {"delete-inserts", int64(c.DeleteInsert), 0, mostStatements},
		{"random-points", int64(c.RandomPoints), 1, mostStatements}, {"number-of-ranges", int64(c.Ranges), 1, mostStatements},
		{"delta", c.Delta, 0, mostRows},
	}
	for _, w := range within {
		if w.value < w.low || w.value > w.high {
			return fmt.Errorf("%s is %d: not within %d to %d", w.name, w.value, w.low, w.high)
		}
	}
	if c.Fillfactor != 0 && (c.Fillfactor < 10 || c.Fillfactor > 100) {
		return fmt.Errorf("fillfactor is %d: not within 10 to 100", c.Fillfactor)
	}
	if strings.ContainsAny(c.Engine+c.TableOptions, ";\\") {
		return errors.New("mysql-storage-engine and mysql-table-options are a part of one statement: no ; and no backslash")
	}
	return nil
}
