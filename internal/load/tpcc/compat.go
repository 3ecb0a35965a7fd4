package tpcc

import (
	"strconv"

	"plumb/internal/load"
)

// compatBody does the transaction of sysbench-tpcc: the same statements in the
// same order, each a text with the values written into it.
func (w *work) compatBody() (ending, error) {
	switch w.p.kind {
	case opNewOrder:
		return w.compatOrder()
	case opPayment:
		return wrote, w.compatPayment()
	case opOrderStatus:
		return onlyRead, w.compatStatus()
	case opDelivery:
		return w.compatDelivery()
	case opStockLevel:
		return onlyRead, w.compatStock()
	}
	return w.purge()
}

// say sends a text in which # stands for the number of the set of tables, ?
// for the next of the values, and $ for the next as money, of cents.
func (w *work) say(text string, values ...load.Arg) error {
	w.query = w.query[:0]
	for i := range len(text) {
		switch text[i] {
		case '#':
			w.query = strconv.AppendInt(w.query, int64(w.p.set), 10)
		case '?':
			w.query = appendValue(w.query, values[0])
			values = values[1:]
		case '$':
			w.query = cents(w.query, values[0].Num)
			w.query = w.query[:len(w.query)-1] // without the tab
			values = values[1:]
		default:
			w.query = append(w.query, text[i])
		}
	}
	return w.send(w.query)
}

// appendValue appends a value as a literal. Quotes and backslashes are in
// nothing that the tables hold; they become blanks, not statements.
func appendValue(dst []byte, v load.Arg) []byte {
	switch v.Kind {
	case load.Number:
		return strconv.AppendInt(dst, v.Num, 10)
	case load.String:
		dst = append(dst, '\'')
		for _, c := range v.Str {
			if c == '\'' || c == '\\' {
				c = ' '
			}
			dst = append(dst, c)
		}
		return append(dst, '\'')
	}
	return append(dst, "NULL"...)
}

// row is say for what must give a row, on which it stands then.
func (w *work) row(what, text string, values ...load.Arg) error {
	if err := w.say(text, values...); err != nil {
		return err
	}
	if !w.s.Next() {
		return w.missing(what, w.p.warehouse, w.p.district, w.p.customer)
	}
	return nil
}

// compatMiddle gives the customer of a name: two statements, the number of
// them and their list.
func (w *work) compatMiddle(warehouse, district load.Arg) (int64, error) {
	if err := w.row("customer of a name", "SELECT count(c_id) FROM customer# WHERE c_w_id = ? AND c_d_id = ? AND c_last = ?", warehouse, district, w.name()); err != nil {
		return 0, err
	}
	row := w.s.Int(0)/2 + 1 // quirkMiddleRow
	if err := w.say("SELECT c_id FROM customer# WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first", warehouse, district, w.name()); err != nil {
		return 0, err
	}
	customer := int64(0)
	for ; row > 0 && w.s.Next(); row-- {
		customer = w.s.Int(0)
	}
	if customer == 0 {
		return 0, w.missing("customer of a last name", w.p.warehouse, w.p.district, w.p.lastName)
	}
	return customer, nil
}
