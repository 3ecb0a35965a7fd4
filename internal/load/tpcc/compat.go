package tpcc

import (
	"strconv"

	"plumb/internal/load"
)

// compatBody does the transaction of sysbench-tpcc: the same statements in the
// same order, each a text with the values written into it.
func (w *work) compatBody() ending {
	switch w.p.kind {
	case opNewOrder:
		return w.compatOrder()
	case opPayment:
		w.compatPayment()
		return wrote
	case opOrderStatus:
		w.compatStatus()
		return onlyRead
	case opDelivery:
		return w.deliveries(w.compatDeliver)
	case opStockLevel:
		w.compatStock()
		return onlyRead
	}
	w.purge()
	return wrote
}

// say sends a text in which # stands for the number of the set of tables, ?
// for the next of the values, and $ for the next as money, of cents.
func (w *work) say(text string, values ...load.Arg) {
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
	w.Text(w.query)
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

// ask is say for what must give a row, on which it stands then.
func (w *work) ask(what, text string, values ...load.Arg) {
	w.say(text, values...)
	w.must(what, w.p.warehouse, w.p.district, w.p.customer)
}

// compatMiddle gives the customer of a name: two statements, the number of
// them and their list.
func (w *work) compatMiddle(warehouse, district load.Arg) (customer int64) {
	w.ask("customer of a name", "SELECT count(c_id) FROM customer# WHERE c_w_id = ? AND c_d_id = ? AND c_last = ?", warehouse, district, w.name())
	row := w.Int(0)/2 + 1 // quirkMiddleRow
	w.say("SELECT c_id FROM customer# WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first", warehouse, district, w.name())
	for ; row > 0 && w.Next(); row-- {
		customer = w.Int(0)
	}
	if customer == 0 {
		w.Fail(w.missing("customer of a last name", w.p.warehouse, w.p.district, w.p.lastName))
	}
	return customer
}
