package tpcc

import "plumb/internal/load"

// delivery is TPC-C 2.7.4: the oldest new order of each of the ten districts,
// in one transaction.
func (w *work) delivery() (ending, error) {
	for district := int64(1); district <= districts; district++ {
		found, err := w.deliver(district)
		if err != nil {
			return wrote, err
		}
		if found {
			w.delivered++
		}
	}
	if w.delivered == 0 {
		return onlyRead, nil
	}
	return wrote, nil
}

// deliver delivers in one district, if there is something.
func (w *work) deliver(district int64) (found bool, err error) {
	home := w.p.warehouse
	if err := w.run(oldestNewOrder, home, district); err != nil || !w.s.Next() {
		return false, err
	}
	order := w.s.Int(0)
	if err := w.run(deleteNewOrder, home, district, order); err != nil {
		return false, err
	}
	if err := w.run(carryOrder, w.p.carrier, home, district, order); err != nil {
		return false, err
	}
	if err := w.run(dateLines, home, district, order); err != nil {
		return false, err
	}
	if err := w.run(sumLines, home, district, order); err != nil {
		return false, err
	}
	if !w.s.Next() {
		return false, w.missing("order with lines", home, district, order)
	}
	customer, sum := w.s.Int(0), load.Str(w.keep(w.s.Bytes(1)))
	w.args = append(w.args[:0], sum)
	w.add(home, district, customer)
	return true, w.execute(w.ready.fixed[creditCustomer])
}
