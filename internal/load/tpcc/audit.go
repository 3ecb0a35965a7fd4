package tpcc

import (
	"math"
	"time"

	"plumb/internal/load"
	"plumb/internal/stats"
)

// Band is something that the specification bounds (TPC-C 9.2.2.5), and what a
// run did.
type Band struct {
	Name      string
	Low, High float64        // the bounds, in Unit
	Measured  stats.Estimate // likewise
	N         int64          // operations, lines or districts that it rests on
	Unit      string         // "%"; "" for a mean
	Verdict   string         // Pass, Fail, Unknown
}

// Verdicts on a band. Unknown: the interval reaches both inside and outside.
const (
	Pass    = "pass"
	Fail    = "fail"
	Unknown = "too few to tell"
)

// Audit compares a run with what the specification bounds. There are no bands
// for what the configuration does not do: in compat mode none at all, with
// one warehouse none of what is remote.
func Audit(c Config, res *load.Result) []Band {
	if c.Compat {
		return nil
	}
	orders, payments, asked, deliveries := op(res, opNewOrder), op(res, opPayment), op(res, opOrderStatus), op(res, opDelivery)
	all := orders.Done + orders.RolledBack
	lines := noted(res, noteLines)
	bands := []Band{
		share("new orders rolled back", 0.9, 1.1, orders.RolledBack, all),
		meanLines(lines, all),
	}
	if c.Warehouses > 1 {
		bands = append(bands, share("remote lines", 0.95, 1.05, noted(res, noteRemoteLines), lines),
			share("remote payments", 14, 16, noted(res, noteRemotePayments), payments.Done))
	}
	return append(bands,
		share("payments by name", 57, 63, noted(res, notePaymentsByName), payments.Done),
		share("order status by name", 57, 63, noted(res, noteStatusByName), asked.Done),
		share("districts without a delivery", 0, 1, noted(res, noteSkipped), districts*(deliveries.Done+deliveries.Skipped)))
}

func op(res *load.Result, kind int) load.OpResult {
	if kind < len(res.Ops) {
		return res.Ops[kind]
	}
	return load.OpResult{}
}

func noted(res *load.Result, note int) int64 {
	if note < len(res.Notes) {
		return res.Notes[note].N
	}
	return 0
}

// z is how many standard errors the 95 % interval reaches.
const z = 1.96

// share is a band of a percentage, with Wilson's interval, which also holds
// for shares near 0.
func share(name string, low, high float64, k, n int64) Band {
	b := Band{Name: name, Low: low, High: high, N: n, Unit: "%"}
	b.Measured.High = 100 // of none, anything
	if n > 0 {
		b.Measured = stats.Share(float64(k), float64(n)).Times(100)
	}
	b.judge()
	return b
}

// meanLines is the band of lines an order: 5 to 15, each as likely.
func meanLines(lines, orders int64) Band {
	b := Band{Name: "lines of a new order", Low: 9.5, High: 10.5, N: orders}
	b.Measured.Low, b.Measured.High = leastLines, mostLines
	if orders > 0 {
		mean := float64(lines) / float64(orders)
		half := z * 3.1623 / math.Sqrt(float64(orders)) // the deviation of a uniform 5 to 15
		b.Measured = stats.Estimate{Value: mean, Low: mean - half, High: mean + half, N: int(orders)}
	}
	b.judge()
	return b
}

func (b *Band) judge() {
	switch {
	case b.Measured.Low >= b.Low && b.Measured.High <= b.High:
		b.Verdict = Pass
	case b.Measured.High < b.Low || b.Measured.Low > b.High:
		b.Verdict = Fail
	default:
		b.Verdict = Unknown
	}
}

// NewOrdersPerMinute is the result: new orders that were committed, by the
// time measured. Those rolled back on purpose are not among them.
func NewOrdersPerMinute(res *load.Result) stats.Estimate {
	var took time.Duration
	for _, s := range res.Series {
		if !s.Warmup {
			took += s.Length
		}
	}
	return load.RateOf(res.Series, took, func(s load.Second) int64 { return s.DoneOf(opNewOrder) }).Times(60)
}

// mostPerWarehouse is how many new orders a minute a warehouse can give with
// people at its ten terminals who key and think (TPC-C 4.2.1).
const mostPerWarehouse = 12.86

// Efficiency is the result as a part of what people at terminals can give at
// most; false without keying, where that says nothing.
func Efficiency(c Config, res *load.Result) (float64, bool) {
	if !c.Keying || c.Warehouses < 1 {
		return 0, false
	}
	return NewOrdersPerMinute(res).Value / (mostPerWarehouse * float64(c.Warehouses)), true
}
