package tpcc

// orderStatus is TPC-C 2.6.2: a customer's last order.
func (w *work) orderStatus() error {
	p := &w.p
	customer := p.customer
	if p.byName() {
		var err error
		if customer, err = w.byName(statusByName, p.warehouse, p.district); err != nil {
			return err
		}
	} else if err := w.run(statusByNumber, p.warehouse, p.district, customer); err != nil {
		return err
	} else if !w.s.Next() {
		return w.missing("customer", p.warehouse, p.district, customer)
	}
	if err := w.run(lastOrder, p.warehouse, p.district, customer); err != nil || !w.s.Next() {
		return err
	}
	return w.run(readLines, p.warehouse, p.district, w.s.Int(0))
}
