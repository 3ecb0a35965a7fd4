package tpcc

import "plumb/internal/load"

// delivery is TPC-C 2.7.4: the oldest new order of each of the ten districts,
// in one transaction.
func (w *work) delivery() ending { return w.deliveries(w.deliver) }

// deliveries delivers in all districts, each of which tells whether there was
// something.
func (w *work) deliveries(in func(district int64) (found bool)) ending {
	for district := int64(1); district <= districts; district++ {
		if in(district) {
			w.delivered++
		}
	}
	if w.delivered == 0 {
		return onlyRead
	}
	return wrote
}

// deliver delivers in one district, if there is something.
func (w *work) deliver(district int64) (found bool) {
	home := w.p.warehouse
	w.run(oldestNewOrder, home, district)
	if !w.Next() {
		return false
	}
	order := w.Int(0)
	w.run(deleteNewOrder, home, district, order)
	w.run(carryOrder, w.p.carrier, home, district, order)
	w.run(dateLines, home, district, order)
	w.run(sumLines, home, district, order)
	w.must("order with lines", home, district, order)
	customer, sum := w.Int(0), load.Str(w.keep(w.Bytes(1)))
	w.runWith(creditCustomer, []load.Arg{sum}, home, district, customer)
	return true
}
