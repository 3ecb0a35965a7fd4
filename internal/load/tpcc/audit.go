package tpcc

import (
	"plumb/internal/load"
	"plumb/internal/stats"
)

// Band is something that the specification bounds (TPC-C 9.2.2.5), and what a
// run did.
type Band struct {
	Name      string
	Low, High float64 // the bounds, in Unit
	Measured  stats.Estimate
	N         int64  // operations or lines that it rests on
	Unit      string // "%"; "" for a mean
	Verdict   string // Pass, Fail, Unknown
}

// Verdicts on a band. Unknown: the interval reaches both inside and outside.
const (
	Pass    = "pass"
	Fail    = "fail"
	Unknown = "too few to tell"
)

// Audit compares a run with what the specification bounds. In compat mode
// nothing is bounded and there are no bands.
func Audit(res *load.Result) []Band { return nil }

// NewOrdersPerMinute is the result: new orders that were committed, by the
// time measured. Those rolled back on purpose are not among them.
func NewOrdersPerMinute(res *load.Result) stats.Estimate { return stats.Estimate{} }

// MostPerWarehouse is how many new orders a minute a warehouse can give with
// people at its ten terminals who key and think.
const MostPerWarehouse = 12.86

// Efficiency is the result as a part of what the terminals could give at most.
// It means something only with Config.Keying.
func Efficiency(res *load.Result, warehouses int64) float64 { return 0 }
