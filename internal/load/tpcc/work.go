package tpcc

import (
	"context"
	"fmt"

	"plumb/internal/draw"
	"plumb/internal/load"
	"plumb/internal/product"
)

// work is one session's half of the workload.
type work struct {
	load.Statements
	c      Config
	draw   *drawer
	ready  prepared
	sql    *product.Dialect
	forget string // deletes some of a district's history

	// Of the operation under way; kept so that nothing is allocated.
	p         parameters
	args      []load.Arg
	texts     []byte // of arguments
	query     []byte // compat mode's statement
	found     []int64
	delivered int   // districts
	payerIs   int64 // the customer who was found
}

// ending is how a transaction ends.
type ending int

const (
	wrote    ending = iota // commit; a ledger notes it
	onlyRead               // commit
	rollBack               // on purpose
)

// Open implements load.Workload.
func (w *orderEntry) Open(ctx context.Context, _ int) (load.Work, error) {
	s, err := w.c.Server.Open(ctx)
	if err != nil {
		return nil, err
	}
	out := newWork(s, w)
	if err := out.prepare(); err != nil {
		_ = s.Close() // err says more
		return nil, err
	}
	return out, nil
}

func newWork(s load.Session, w *orderEntry) *work {
	sql := product.DialectOf(w.c.Server.Engine())
	return &work{Statements: load.Statements{Session: s}, c: w.c, draw: w.draw, sql: sql, forget: fmt.Sprintf(sql.DeleteSome, "history#", "h_w_id = ? AND h_d_id = ?"),
		args: make([]load.Arg, 0, 9*mostLines), texts: make([]byte, 0, 2048), query: make([]byte, 0, 2048), found: make([]int64, 0, 64)}
}

// Close implements load.Work.
func (w *work) Close() error { return w.Session.Close() }

// Do implements load.Work.
func (w *work) Do(n int64, t *load.Tally) error {
	w.draw.draw(&w.p, n)
	w.Reset(t)
	t.Op = w.p.kind
	w.texts, w.delivered = w.texts[:0], 0
	end := w.event(n)
	if w.Err != nil {
		return w.Undo()
	}
	if end == wrote && w.c.Ledger != nil {
		w.c.Ledger.Acknowledge(n)
	}
	t.RolledBack = end == rollBack
	t.Skipped = w.p.kind == opDelivery && w.delivered == 0
	w.note(t)
	return nil
}

// event does the transaction.
func (w *work) event(n int64) (end ending) {
	w.Begin()
	if w.c.Compat {
		end = w.compatBody()
	} else {
		end = w.body()
	}
	if end == rollBack {
		w.Rollback()
		return end
	}
	if end == wrote && w.c.Ledger != nil {
		w.args = append(w.args[:0], load.Arg{}, load.Arg{})
		w.c.Ledger.Fill(w.args, n)
		w.execute(w.ready.ledger)
	}
	w.Commit()
	return end
}

func (w *work) body() ending {
	switch w.p.kind {
	case opNewOrder:
		return w.newOrder()
	case opPayment:
		w.payment()
		return wrote
	case opOrderStatus:
		w.orderStatus()
		return onlyRead
	case opDelivery:
		return w.delivery()
	}
	w.stockLevel()
	return onlyRead
}

// note counts what the audit wants to know.
func (w *work) note(t *load.Tally) {
	p := &w.p
	switch p.kind {
	case opNewOrder:
		t.Notes[noteLines] = int64(p.count)
		t.Notes[noteRemoteLines] = p.remote()
	case opPayment:
		t.Notes[noteRemotePayments] = oneIf(p.customerWarehouse != p.warehouse)
		t.Notes[notePaymentsByName] = oneIf(p.byName())
	case opOrderStatus:
		t.Notes[noteStatusByName] = oneIf(p.byName())
	case opDelivery:
		t.Notes[noteSkipped] = int64(districts - w.delivered)
	}
}

func oneIf(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// run executes a prepared statement with numbers as parameters.
func (w *work) run(which statement, numbers ...int64) { w.runWith(which, nil, numbers...) }

// runWith is run with other arguments before the numbers.
func (w *work) runWith(which statement, first []load.Arg, numbers ...int64) {
	w.args = append(w.args[:0], first...)
	w.add(numbers...)
	w.execute(w.ready.fixed[which])
}

// one is run for what must give a row, on which it stands then.
func (w *work) one(what string, which statement, numbers ...int64) {
	w.run(which, numbers...)
	w.must(what, numbers...)
}

// must moves to a row that has to be there.
func (w *work) must(what string, numbers ...int64) {
	if !w.Next() {
		w.Fail(w.missing(what, append([]int64(nil), numbers...)...)) // a copy: numbers need no memory of their own otherwise
	}
}

func (w *work) add(numbers ...int64) {
	for _, n := range numbers {
		w.args = append(w.args, load.Int(n))
	}
}

// execute runs a statement with the arguments there are.
func (w *work) execute(number int) { w.Run(number, w.args) }

// keep copies a text for an argument, which must live until the operation is
// over.
func (w *work) keep(b []byte) []byte {
	from := len(w.texts)
	w.texts = append(w.texts, b...)
	return w.texts[from:]
}

// money makes an argument of an amount in cents.
func (w *work) money(n int64) load.Arg {
	from := len(w.texts)
	w.texts = cents(w.texts, n)
	return load.Str(w.texts[from : len(w.texts)-1]) // without the tab
}

// name makes an argument of the last name.
func (w *work) name() load.Arg {
	from := len(w.texts)
	w.texts = draw.LastName(w.texts, w.p.lastName)
	return load.Str(w.texts[from:])
}

// missing is an answer without a row that must be there.
func (w *work) missing(what string, numbers ...int64) error {
	return &load.Failure{Class: load.Fatal, Doing: opNames[w.p.kind],
		Message: fmt.Sprintf("there is no %s %d: the tables are incomplete", what, numbers)}
}
