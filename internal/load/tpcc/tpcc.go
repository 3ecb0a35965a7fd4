// Package tpcc is a workload in the likeness of TPC-C: an order-entry company
// with warehouses, for MySQL, MariaDB and PostgreSQL. It is no implementation
// of the TPC-C benchmark: results are new orders a minute and are not
// comparable with published ones.
//
// There are two modes, which make different tables and never mix: one follows
// the specification's population and transactions; the other does what
// Percona's sysbench-tpcc does, with its peculiarities by name, so that its
// numbers can be compared with ours.
package tpcc

import (
	"plumb/internal/load"
	"plumb/internal/load/durability"
)

// Config says which workload.
type Config struct {
	Server      load.Server
	Warehouses  int64  // sysbench-tpcc: scale
	Seed        uint64 // of the rows
	Run         uint64 // the seed of a run: the same seed, the same operations
	Sessions    int    // how many workers will open: what the server is asked to have room for; 0 asks nothing
	Compat      bool   // as sysbench-tpcc does
	Sets        int    // compat: tables, complete copies of the schema; 0: 1
	ForeignKeys bool   // declare them after the load; compat declares them by default
	Purge       bool   // compat: enable_purge
	Keying      bool   // people at terminals: keying and thinking times
	Small       bool   // a hundredth of the rows, for tests of what is not the load's own: no result of TPC-C
	Ledger      *durability.Ledger

	size size // cardinalities; tests make them small
}

// size holds the cardinalities of the specification, clause 1.2.
type size struct {
	items, customers, orders, undelivered int64 // items and stock rows a warehouse; the rest a district
}

// full is the size that every result has.
var full = size{items: 100_000, customers: 3000, orders: 3000, undelivered: 900}

// hundredth has so many items that orders seldom meet.
var hundredth = size{items: 4000, customers: 30, orders: 30, undelivered: 10}

func (c Config) sizes() size {
	switch {
	case c.size != (size{}):
		return c.size
	case c.Small:
		return hundredth
	}
	return full
}

// districts of each warehouse.
const districts = 10
