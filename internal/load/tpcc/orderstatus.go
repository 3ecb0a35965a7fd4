package tpcc

// orderStatus is TPC-C 2.6.2: a customer's last order.
func (w *work) orderStatus() {
	p := &w.p
	customer := p.customer
	if p.byName() {
		customer = w.byName(statusByName, p.warehouse, p.district)
	} else {
		w.one("customer", statusByNumber, p.warehouse, p.district, customer)
	}
	w.run(lastOrder, p.warehouse, p.district, customer)
	if w.Next() {
		w.run(readLines, p.warehouse, p.district, w.Int(0))
	}
}
