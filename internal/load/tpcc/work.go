package tpcc

import (
	"context"
	"errors"
	"fmt"

	"plumb/internal/draw"
	"plumb/internal/load"
	"plumb/internal/product"
)

var (
	textBegin    = []byte("BEGIN")
	textCommit   = []byte("COMMIT")
	textRollback = []byte("ROLLBACK")
)

// work is one session's half of the workload.
type work struct {
	s      load.Session
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
	t         *load.Tally
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
	return &work{s: s, c: w.c, draw: w.draw, sql: sql, forget: fmt.Sprintf(sql.DeleteSome, "history#", "h_w_id = ? AND h_d_id = ?"),
		args: make([]load.Arg, 0, 9*mostLines), texts: make([]byte, 0, 2048), query: make([]byte, 0, 2048), found: make([]int64, 0, 64)}
}

// Close implements load.Work.
func (w *work) Close() error { return w.s.Close() }

// Do implements load.Work.
func (w *work) Do(n int64, t *load.Tally) error {
	w.draw.draw(&w.p, n)
	w.t, t.Op = t, w.p.kind
	w.texts, w.delivered = w.texts[:0], 0
	end, err := w.event(n)
	if err != nil {
		return w.undo(err)
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
func (w *work) event(n int64) (end ending, err error) {
	if err := w.send(textBegin); err != nil {
		return end, err
	}
	if w.c.Compat {
		end, err = w.compatBody()
	} else {
		end, err = w.body()
	}
	if err != nil {
		return end, err
	}
	if end == rollBack {
		return end, w.send(textRollback)
	}
	if end == wrote && w.c.Ledger != nil {
		w.args = append(w.args[:0], load.Arg{}, load.Arg{})
		w.c.Ledger.Fill(w.args, n)
		if err := w.execute(w.ready.ledger); err != nil {
			return end, err
		}
	}
	return end, w.send(textCommit)
}

func (w *work) body() (ending, error) {
	switch w.p.kind {
	case opNewOrder:
		return w.newOrder()
	case opPayment:
		return wrote, w.payment()
	case opOrderStatus:
		return onlyRead, w.orderStatus()
	case opDelivery:
		return w.delivery()
	}
	return onlyRead, w.stockLevel()
}

// undo ends the transaction of a failed operation, so that it can be begun
// again.
func (w *work) undo(err error) error {
	if f, ok := errors.AsType[*load.Failure](err); ok && f.Class == load.Lost {
		return err
	}
	if e := w.send(textRollback); e != nil {
		return e // the session is of no more use
	}
	return err
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
func (w *work) run(which statement, numbers ...int64) error {
	w.args = w.args[:0]
	w.add(numbers...)
	return w.execute(w.ready.fixed[which])
}

func (w *work) add(numbers ...int64) {
	for _, n := range numbers {
		w.args = append(w.args, load.Int(n))
	}
}

// execute runs a statement with the arguments there are.
func (w *work) execute(number int) error {
	if err := w.s.Run(number, w.args); err != nil {
		return err
	}
	w.count()
	return nil
}

func (w *work) send(query []byte) error {
	if err := w.s.Text(query); err != nil {
		return err
	}
	w.count()
	return nil
}

func (w *work) count() {
	switch {
	case w.s.HadRows():
		w.t.Reads++
	case w.s.Affected() > 0:
		w.t.Writes++
	default:
		w.t.Other++
	}
}

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
		Message: fmt.Sprintf("there is no %s %d: the tables are not whole", what, numbers)}
}
